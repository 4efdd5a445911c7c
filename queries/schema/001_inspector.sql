-- Schema 1: sources, NCCL Inspector operation records, and the accounting of what is missing.
-- Statements end with a semicolon at the end of a line. docs/schema.md describes every table for people.

-- Texts of which there are few are stored in a dictionary, without a look at what else DuckDB could do with
-- them: that look was a fifth of an ingest's last checkpoint.

CREATE TABLE run (
  run INTEGER,
  name VARCHAR,
  folder VARCHAR);
COMMENT ON TABLE run IS 'One job or recording to which sources belong';

CREATE TABLE source (
  source INTEGER,
  run INTEGER,
  path VARCHAR,
  format VARCHAR USING COMPRESSION dictionary,
  format_version VARCHAR USING COMPRESSION dictionary,
  compression VARCHAR USING COMPRESSION dictionary,
  size_bytes UBIGINT,
  expanded_bytes UBIGINT,
  fingerprint VARCHAR,
  lines UBIGINT,
  rows UBIGINT,
  first_dump_timestamp_us BIGINT,
  last_dump_timestamp_us BIGINT,
  damage VARCHAR,
  ingested_at TIMESTAMP);
COMMENT ON TABLE source IS 'One input file or stream: what it is and what was read of it';
COMMENT ON COLUMN source.rows IS 'lines of the file that are rows of the store; lines = rows + losses of class line';
COMMENT ON COLUMN source.damage IS 'why the file ended before its time (cut or damaged compression); NULL when it did not';

CREATE TABLE process (
  process INTEGER,
  source INTEGER,
  host VARCHAR USING COMPRESSION dictionary,
  pid UBIGINT,
  git_rev VARCHAR USING COMPRESSION dictionary,
  rec_mechanism VARCHAR USING COMPRESSION dictionary,
  format_version VARCHAR USING COMPRESSION dictionary);
COMMENT ON TABLE process IS 'A process as its records describe it (NCCL Inspector metadata)';

CREATE TABLE communicator (
  communicator INTEGER,
  run INTEGER,
  id VARCHAR USING COMPRESSION dictionary,
  name VARCHAR USING COMPRESSION dictionary,
  n_ranks BIGINT,
  nnodes UBIGINT,
  instance INTEGER,
  ambiguous BOOLEAN,
  ranks_seen BIGINT,
  type VARCHAR USING COMPRESSION dictionary);
COMMENT ON TABLE communicator IS 'A communicator over all its ranks in one run, made from communicator_rank after each ingest';
COMMENT ON COLUMN communicator.id IS 'header.id as written: the hash of the communicator cut to 14 hexadecimal digits, so not unique by itself';
COMMENT ON COLUMN communicator.instance IS 'tells communicators apart that share id, name and size; 0 for the first';
COMMENT ON COLUMN communicator.ambiguous IS 'true when the files do not say which ranks belong together';
COMMENT ON COLUMN communicator.type IS 'single-rank, nvlink-only, nic-only or mixed, from n_ranks and nnodes';

CREATE TABLE communicator_rank (
  communicator_rank INTEGER,
  source INTEGER,
  process INTEGER,
  communicator INTEGER,
  id VARCHAR USING COMPRESSION dictionary,
  name VARCHAR USING COMPRESSION dictionary,
  rank BIGINT,
  n_ranks BIGINT,
  nnodes UBIGINT);
COMMENT ON TABLE communicator_rank IS 'One rank of a communicator as one source describes it';
COMMENT ON COLUMN communicator_rank.name IS 'comm_name; NULL where the format has none (NCCL before 2.30)';

CREATE TABLE operation_series (
  series INTEGER,
  source INTEGER,
  communicator_rank INTEGER,
  kind VARCHAR USING COMPRESSION dictionary,
  operation VARCHAR USING COMPRESSION dictionary,
  peer BIGINT,
  message_bytes UBIGINT,
  algorithm VARCHAR USING COMPRESSION dictionary,
  protocol VARCHAR USING COMPRESSION dictionary,
  timing_source VARCHAR USING COMPRESSION dictionary,
  traffic_bytes DOUBLE,
  bus_factor DOUBLE,
  operations UBIGINT,
  exec_time_us_sum UBIGINT,
  exec_time_us_min UBIGINT,
  exec_time_us_max UBIGINT,
  first_sequence UBIGINT,
  last_sequence UBIGINT,
  first_dump_timestamp_us BIGINT,
  last_dump_timestamp_us BIGINT);
COMMENT ON TABLE operation_series IS 'Operation records of one rank that share everything but sequence number and time, with their exact sums';
COMMENT ON COLUMN operation_series.kind IS 'collective or p2p';
COMMENT ON COLUMN operation_series.message_bytes IS 'as written; 2^64 - n where the producer did not know the data type; NULL in the series of operations with too many different sizes';
COMMENT ON COLUMN operation_series.traffic_bytes IS 'bytes that count for algobw: algobw = traffic_bytes / 1e9 / seconds, busbw = algobw * bus_factor';
COMMENT ON COLUMN operation_series.operations IS 'rows in operation_record; this and the sums leave out operation_record_irregular';

CREATE TABLE operation_block (
  block BIGINT,
  series UINTEGER,
  sequence_offset BIGINT,
  timestamp_offset_us BIGINT,
  line_offset BIGINT);
COMMENT ON TABLE operation_block IS 'Consecutive records of a series (mostly those of one dump), and what turns their keys into values';
COMMENT ON COLUMN operation_block.block IS 'series * 65536 + number of the block in the series';

-- In a STRUCT, because DuckDB keeps a sketch of the distinct values of every plain column: a third of what an
-- insert cost. Queries read single fields of it as fast as columns.
CREATE TABLE operation_record (
  block BIGINT USING COMPRESSION rle,
  record STRUCT(exec_time_us UINTEGER, sequence_key UINTEGER, timestamp_key UINTEGER, line_key UINTEGER));
COMMENT ON TABLE operation_record IS 'One operation as one rank recorded it; read it through the views operations, collectives and p2p';
COMMENT ON COLUMN operation_record.block IS 'its operation_block; block >> 16 is its series';
COMMENT ON COLUMN operation_record.record IS 'sequence number = sequence_key + operation_block.sequence_offset; dump_timestamp_us = timestamp_key + timestamp_offset_us; line of the source, counted from 1 = line_key + line_offset. Keys rise evenly through a source, so that they cost next to no space';

CREATE TABLE operation_histogram (
  series UINTEGER USING COMPRESSION rle,
  exec_time_us UINTEGER USING COMPRESSION bitpacking,
  operations UINTEGER USING COMPRESSION bitpacking);
COMMENT ON TABLE operation_histogram IS 'How many rows of operation_record a series has with each execution time: an exact rollup, from which quantiles and bandwidths follow without reading the records';
COMMENT ON COLUMN operation_histogram.operations IS 'sum them: large files are written in parts, and a time may come once for each part';

-- What follows from all sources of a run, made anew for a run after each ingest (rollups/places.sql, rollups/cells.sql).
CREATE TABLE place (
  run INTEGER,
  host VARCHAR USING COMPRESSION dictionary,
  pid UBIGINT,
  global_rank BIGINT,
  local_rank BIGINT,
  communicators BIGINT,
  basis VARCHAR);
COMMENT ON TABLE place IS 'A process of a run, over all its communicators; read it through the view places';

CREATE TABLE operation_cell (
  cell UINTEGER,
  run INTEGER,
  communicator_type VARCHAR USING COMPRESSION dictionary,
  n_ranks BIGINT,
  nnodes UBIGINT,
  kind VARCHAR USING COMPRESSION dictionary,
  operation VARCHAR USING COMPRESSION dictionary,
  message_bytes UBIGINT,
  algorithm VARCHAR USING COMPRESSION dictionary,
  protocol VARCHAR USING COMPRESSION dictionary,
  traffic_bytes DOUBLE,
  bus_factor DOUBLE,
  operations UBIGINT,
  exec_time_us_sum UBIGINT,
  exec_time_us_min UBIGINT,
  exec_time_us_max UBIGINT);
COMMENT ON TABLE operation_cell IS 'Rows of operation_record of a run that share all but communicator, rank, peer, timing source, sequence number and time: exact sums over operation_series';

CREATE TABLE operation_cell_histogram (
  cell UINTEGER,
  exec_time_us UINTEGER,
  operations UBIGINT);
COMMENT ON TABLE operation_cell_histogram IS 'How many rows of operation_record a cell has with each execution time';

CREATE TABLE operation_cell_basis (
  run INTEGER,
  sources BIGINT,
  last_source INTEGER);
COMMENT ON TABLE operation_cell_basis IS 'From which sources of a run its cells were made: they are out of date where these are not its sources';

CREATE TABLE operation_record_irregular (
  series UINTEGER,
  sequence UBIGINT,
  message_bytes UBIGINT,
  exec_time_us UBIGINT,
  dump_timestamp_us UBIGINT,
  line UBIGINT,
  algobw_gbs DOUBLE,
  busbw_gbs DOUBLE);
COMMENT ON TABLE operation_record_irregular IS 'Operation records whose bandwidths do not follow from size and time, with missing fields, or with numbers too large for operation_record';

CREATE TABLE operation_counter (
  counter UINTEGER,
  source INTEGER,
  communicator_rank INTEGER,
  kind VARCHAR USING COMPRESSION dictionary,
  operation VARCHAR USING COMPRESSION dictionary,
  records UBIGINT,
  last_sequence UBIGINT,
  runs_known BOOLEAN);
COMMENT ON TABLE operation_counter IS 'One of the producer''s sequence counters: of an operation of a communicator rank, or of its sends and receives together (operation NULL)';
COMMENT ON COLUMN operation_counter.runs_known IS 'false where sequence_run does not list this counter: the producer only sampled';

CREATE TABLE sequence_run (
  counter UINTEGER,
  first_sequence UBIGINT,
  last_sequence UBIGINT,
  after_full_ring UINTEGER);
COMMENT ON TABLE sequence_run IS 'Sequence numbers that a counter recorded without a gap, in the order of the file';
COMMENT ON COLUMN sequence_run.after_full_ring IS '1 when a dump as large as the producer''s ring starts here: what is missing in front was overwritten';

CREATE TABLE operation_event (
  series UINTEGER,
  sequence UBIGINT,
  line UBIGINT,
  start_sn UBIGINT,
  stop_sn UBIGINT,
  start_us UBIGINT,
  stop_us UBIGINT);
COMMENT ON TABLE operation_event IS 'Verbose mode: when the host enqueued an operation (order within the operation, and host time)';

CREATE TABLE kernel_event (
  series UINTEGER,
  sequence UBIGINT,
  line UBIGINT,
  position UINTEGER,
  channel UBIGINT,
  start_sn UBIGINT,
  stop_sn UBIGINT,
  record_sn UBIGINT,
  start_us UBIGINT,
  stop_us UBIGINT,
  record_us UBIGINT);
COMMENT ON TABLE kernel_event IS 'Verbose mode: callbacks of one channel of an operation; times are the host''s, not the GPU''s';

CREATE TABLE dump_stats (
  source INTEGER,
  communicator_rank INTEGER,
  line UBIGINT,
  dump_timestamp_us UBIGINT,
  coll_records UBIGINT,
  coll_dropped_total UBIGINT,
  coll_dropped_since_last_dump UBIGINT,
  p2p_records UBIGINT,
  p2p_dropped_total UBIGINT,
  p2p_dropped_since_last_dump UBIGINT,
  proxy_records UBIGINT,
  proxy_dropped_total UBIGINT,
  proxy_dropped_since_last_dump UBIGINT,
  proxy_ops_dropped_total UBIGINT,
  proxy_ops_dropped_since_last_dump UBIGINT,
  proxy_steps_overwritten_total UBIGINT,
  proxy_steps_overwritten_since_last_dump UBIGINT,
  proxy_segment_step_capacity UBIGINT,
  proxy_pxn_skipped_process_total UBIGINT,
  proxy_steps_enabled UBIGINT,
  proxy_output_mode VARCHAR);
COMMENT ON TABLE dump_stats IS 'The producer''s own counters at each dump of a communicator (format v4.1 and newer)';
COMMENT ON COLUMN dump_stats.proxy_pxn_skipped_process_total IS 'of the whole process, repeated by each communicator: take the maximum, never the sum';

CREATE TABLE proxy_op (
  source INTEGER,
  communicator_rank INTEGER,
  line UBIGINT,
  dump_timestamp_us UBIGINT,
  record_type VARCHAR,
  parent_type VARCHAR,
  direction VARCHAR,
  timing_source VARCHAR,
  is_final BOOLEAN,
  op_bw_gbs DOUBLE,
  record_sn UBIGINT,
  proxy_records_dropped UBIGINT,
  parent_sn UBIGINT,
  proxy_op_sn UBIGINT,
  origin_pid BIGINT,
  rank BIGINT,
  channel BIGINT,
  peer BIGINT,
  n_steps UBIGINT,
  chunk_size_bytes UBIGINT,
  n_steps_started UBIGINT,
  n_steps_completed UBIGINT,
  n_steps_dropped UBIGINT,
  trans_size_bytes UBIGINT,
  total_us UBIGINT,
  start_sn UBIGINT,
  in_progress_sn UBIGINT,
  stop_sn UBIGINT,
  start_us UBIGINT,
  in_progress_us UBIGINT,
  stop_us UBIGINT);
COMMENT ON TABLE proxy_op IS 'Network proxy operations (format v4.3 and newer): start, segment and final records';
COMMENT ON COLUMN proxy_op.op_bw_gbs IS 'as written; rates of overlapping operations do not add up';

CREATE TABLE proxy_step (
  source INTEGER,
  communicator_rank INTEGER,
  line UBIGINT,
  position UINTEGER,
  proxy_op_sn UBIGINT,
  direction VARCHAR,
  peer BIGINT,
  channel BIGINT,
  proxy_step_sn UBIGINT,
  step UBIGINT,
  trans_size_bytes UBIGINT,
  total_us UBIGINT,
  gpu_produce_us UBIGINT,
  peer_credit_us UBIGINT,
  wire_us UBIGINT,
  flush_us UBIGINT,
  gpu_consume_us UBIGINT,
  start_sn UBIGINT,
  send_gpu_wait_sn UBIGINT,
  send_peer_wait_sn UBIGINT,
  send_wait_sn UBIGINT,
  recv_wait_sn UBIGINT,
  recv_flush_wait_sn UBIGINT,
  recv_gpu_wait_sn UBIGINT,
  stop_sn UBIGINT,
  start_us UBIGINT,
  send_gpu_wait_us UBIGINT,
  send_peer_wait_us UBIGINT,
  send_wait_us UBIGINT,
  recv_wait_us UBIGINT,
  recv_flush_wait_us UBIGINT,
  recv_gpu_wait_us UBIGINT,
  stop_us UBIGINT);
COMMENT ON TABLE proxy_step IS 'Steps of network proxy operations, of flat lines and of the steps of nested lines';

CREATE TABLE ingest_loss (
  run INTEGER,
  source INTEGER,
  communicator_rank INTEGER,
  communicator INTEGER,
  operation VARCHAR USING COMPRESSION dictionary,
  class VARCHAR USING COMPRESSION dictionary,
  kind VARCHAR USING COMPRESSION dictionary,
  count UBIGINT,
  first_position UBIGINT,
  detail VARCHAR,
  derived BOOLEAN);
COMMENT ON TABLE ingest_loss IS 'What is missing or odd, by kind and place';
COMMENT ON COLUMN ingest_loss.class IS 'line: lines of the file that are not rows; operation: operations that the producer did not write; note: nothing is lost, but it should be known';
COMMENT ON COLUMN ingest_loss.first_position IS 'line of the source (class line and note) or sequence number (class operation) of the first';
COMMENT ON COLUMN ingest_loss.derived IS 'true for what follows from looking over all sources of a run; made anew at each ingest';

-- The views give every value of the file back as it was written.
CREATE VIEW operations AS
WITH record AS (
  SELECT b.series, (r.record.sequence_key + b.sequence_offset)::UBIGINT AS sequence, s.message_bytes,
         r.record.exec_time_us::UBIGINT AS exec_time_us,
         (r.record.timestamp_key + b.timestamp_offset_us)::UBIGINT AS dump_timestamp_us,
         (r.record.line_key + b.line_offset)::UBIGINT AS line,
         CASE WHEN r.record.exec_time_us = 0 THEN 0
              ELSE round(s.traffic_bytes / 1e9::DOUBLE / (r.record.exec_time_us / 1e6::DOUBLE), 6) END AS algobw_gbs,
         CASE WHEN r.record.exec_time_us = 0 THEN 0
              ELSE round(s.traffic_bytes / 1e9::DOUBLE / (r.record.exec_time_us / 1e6::DOUBLE) * s.bus_factor, 6) END AS busbw_gbs
  FROM operation_record r
  JOIN operation_block b ON b.block = r.block
  JOIN operation_series s ON s.series = b.series
  UNION ALL
  SELECT r.series, r.sequence, r.message_bytes, r.exec_time_us, r.dump_timestamp_us, r.line,
         r.algobw_gbs, r.busbw_gbs
  FROM operation_record_irregular r)
SELECT s.kind, s.operation, record.sequence, record.message_bytes, record.exec_time_us,
       record.algobw_gbs, record.busbw_gbs, s.algorithm, s.protocol, s.timing_source, s.peer,
       record.dump_timestamp_us,
       CASE WHEN record.dump_timestamp_us <= 9223372036854775
            THEN (record.dump_timestamp_us * 1000)::BIGINT END AS dump_time_ns,
       c.id AS communicator_id, c.name AS communicator_name, c.rank, c.n_ranks, c.nnodes,
       k.type AS communicator_type, c.communicator, p.host, p.pid, p.git_rev, p.rec_mechanism,
       p.format_version, u.name AS run, c.source, record.line, record.series
FROM record
JOIN operation_series s ON s.series = record.series
JOIN communicator_rank c ON c.communicator_rank = s.communicator_rank
JOIN process p ON p.process = c.process
JOIN source f ON f.source = c.source
JOIN run u ON u.run = f.run
LEFT JOIN communicator k ON k.communicator = c.communicator;
COMMENT ON VIEW operations IS 'Every operation record, collective and p2p, with all values of its line';

CREATE VIEW collectives AS SELECT * EXCLUDE (kind, peer) FROM operations WHERE kind = 'collective';
COMMENT ON VIEW collectives IS 'Operation records of collectives';

CREATE VIEW p2p AS SELECT * EXCLUDE (kind, algorithm, protocol) FROM operations WHERE kind = 'p2p';
COMMENT ON VIEW p2p IS 'Operation records of sends and receives';

-- What no record says by itself, from looking over all communicators of a run.
CREATE VIEW place_by_communicators AS
WITH member AS MATERIALIZED (
  SELECT f.run, p.host, p.pid, c.communicator, c.rank, k.n_ranks, nullif(k.name, 'unknown') AS name, k.id
  FROM communicator_rank c
  JOIN process p ON p.process = c.process
  JOIN source f ON f.source = c.source
  JOIN communicator k ON k.communicator = c.communicator),
place AS MATERIALIZED (
  SELECT run, host, pid, count(DISTINCT communicator) AS communicators FROM member GROUP BY ALL),
counted AS (SELECT run, count(*) AS places FROM place GROUP BY run),
covering AS (
  SELECT m.run, m.communicator, any_value(m.n_ranks) AS n_ranks,
         coalesce(any_value(m.name), any_value(m.id)) AS label,
         coalesce(any_value(m.name) SIMILAR TO '(?i).*(world|default_pg|global).*', false) AS is_named_world
  FROM (SELECT DISTINCT run, communicator, host, pid, n_ranks, name, id FROM member) m
  GROUP BY m.run, m.communicator
  HAVING count(*) = (SELECT any_value(places) FROM counted WHERE counted.run = m.run)),
world AS (
  SELECT run, communicator, label, n_ranks FROM covering
  QUALIFY row_number() OVER (PARTITION BY run
                             ORDER BY n_ranks DESC, is_named_world DESC, communicator) = 1),
ranked AS (
  SELECT m.run, m.host, m.pid,
         CASE WHEN min(m.rank) = max(m.rank) THEN min(m.rank) END AS global_rank,
         any_value(w.label) AS label, any_value(w.n_ranks) AS n_ranks
  FROM member m JOIN world w ON w.run = m.run AND w.communicator = m.communicator
  GROUP BY m.run, m.host, m.pid)
SELECT place.run AS run_number, u.name AS run, place.host, place.pid, ranked.global_rank,
       row_number() OVER (PARTITION BY place.run, place.host
                          ORDER BY ranked.global_rank, place.pid) - 1 AS local_rank,
       place.communicators,
       CASE WHEN ranked.label IS NULL
              THEN 'no communicator has a rank of each of the ' || counted.places || ' processes'
            WHEN ranked.global_rank IS NULL
              THEN 'the process has several ranks in ' || ranked.label
            ELSE 'rank in ' || ranked.label || ' (' || ranked.n_ranks || ' ranks), the largest communicator with all '
                 || counted.places || ' processes' END AS basis
FROM place
JOIN counted ON counted.run = place.run
JOIN run u ON u.run = place.run
LEFT JOIN ranked ON ranked.run = place.run AND ranked.host IS NOT DISTINCT FROM place.host
                AND ranked.pid IS NOT DISTINCT FROM place.pid;
COMMENT ON VIEW place_by_communicators IS 'What the table place is made from: processes joined over all communicators of a run';

CREATE VIEW places AS
SELECT p.run AS run_number, u.name AS run, p.host, p.pid, p.global_rank, p.local_rank, p.communicators, p.basis
FROM place p JOIN run u ON u.run = p.run;
COMMENT ON VIEW places IS 'Processes with their global rank, joined over all communicators of a run';
COMMENT ON COLUMN places.global_rank IS 'rank in the largest communicator that has all processes of the run; NULL where there is none';
COMMENT ON COLUMN places.local_rank IS 'number of the process on its host by global rank: the GPU, where processes take GPUs in that order';
