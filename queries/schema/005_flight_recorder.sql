-- Schema 5: dumps of PyTorch's NCCL flight recorder, one of each rank.

CREATE TABLE flight_dump (
  source INTEGER,
  rank BIGINT,
  version VARCHAR,
  nccl_version VARCHAR,
  entries UBIGINT);
COMMENT ON TABLE flight_dump IS 'A dump of the NCCL flight recorder: what one rank had under way';
COMMENT ON COLUMN flight_dump.rank IS 'global rank, as the name of the file says; NULL where it does not';
COMMENT ON COLUMN flight_dump.entries IS 'entries of the dump; 0 also for an empty file';

CREATE TABLE flight_group (
  source INTEGER,
  name VARCHAR,
  description VARCHAR,
  ranks VARCHAR,
  local_id BIGINT,
  last_enqueued BIGINT,
  last_started BIGINT,
  last_completed BIGINT);
COMMENT ON TABLE flight_group IS 'A process group of a rank, and how far the rank got in it';
COMMENT ON COLUMN flight_group.ranks IS 'global ranks, as a list';
COMMENT ON COLUMN flight_group.local_id IS 'the number by which entries of this rank name the group; other ranks have others';
COMMENT ON COLUMN flight_group.last_started IS '-1 throughout where starts are not timed';

CREATE TABLE flight_entry (
  source INTEGER,
  record_id BIGINT,
  local_group_id BIGINT,
  group_name VARCHAR,
  group_description VARCHAR,
  operation VARCHAR,
  is_p2p BOOLEAN,
  collective_sequence BIGINT,
  p2p_sequence BIGINT,
  operation_id BIGINT,
  state VARCHAR,
  retired BOOLEAN,
  created_ns BIGINT,
  started_ns BIGINT,
  completed_ns BIGINT,
  duration_ms DOUBLE,
  timeout_ms BIGINT,
  input_sizes VARCHAR,
  input_types VARCHAR,
  output_sizes VARCHAR,
  output_types VARCHAR,
  thread_name VARCHAR,
  thread_id VARCHAR);
COMMENT ON TABLE flight_entry IS 'A collective or transfer in the ring buffer of the NCCL flight recorder; the oldest are gone';
COMMENT ON COLUMN flight_entry.created_ns IS 'when it was enqueued, nanoseconds since 1970 by the clock of the host';
COMMENT ON COLUMN flight_entry.state IS 'scheduled, started or completed';
COMMENT ON COLUMN flight_entry.input_sizes IS 'shapes of the tensors, as JSON';

CREATE VIEW flight_entries AS
SELECT u.name AS run, d.rank, e.* EXCLUDE (source)
FROM flight_entry e JOIN flight_dump d ON d.source = e.source JOIN source f ON f.source = e.source
JOIN run u ON u.run = f.run;
COMMENT ON VIEW flight_entries IS 'Entries of the flight recorder with run and rank';
