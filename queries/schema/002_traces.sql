-- Schema 2: traces. Events on tracks, with the call chain; what profilers say of kernels, copies and
-- collectives. docs/schema.md describes every table for people.

CREATE TABLE trace_process (
  trace_process INTEGER,
  source INTEGER,
  host VARCHAR,
  pid BIGINT,
  name VARCHAR,
  labels VARCHAR,
  rank BIGINT,
  world_size BIGINT);
COMMENT ON TABLE trace_process IS 'A process in a profile';
COMMENT ON COLUMN trace_process.rank IS 'global rank, where the profile says it';

CREATE TABLE track (
  track INTEGER,
  source INTEGER,
  trace_process INTEGER,
  kind VARCHAR,
  device BIGINT,
  context BIGINT,
  id BIGINT,
  name VARCHAR);
COMMENT ON TABLE track IS 'Where events lie: a thread of a process, or a stream of a GPU';
COMMENT ON COLUMN track.kind IS 'thread, stream or other';
COMMENT ON COLUMN track.id IS 'thread id, or stream id';

CREATE TABLE event_name (
  name UINTEGER,
  source INTEGER,
  text VARCHAR);
COMMENT ON TABLE event_name IS 'Names of events, flows and counters; the same text may come once for each source';

CREATE TABLE event_kind (
  kind UINTEGER,
  name VARCHAR);
COMMENT ON TABLE event_kind IS 'Kinds of events by their number';
INSERT INTO event_kind VALUES (0, 'range'), (1, 'operator'), (2, 'runtime'), (3, 'driver'), (4, 'kernel'),
  (5, 'memcpy'), (6, 'memset'), (7, 'sync'), (8, 'graph'), (9, 'communication'), (10, 'python'), (11, 'marker'),
  (12, 'other');

CREATE TABLE event (
  event BIGINT USING COMPRESSION bitpacking,
  track UINTEGER USING COMPRESSION rle,
  kind UINTEGER USING COMPRESSION bitpacking,
  name UINTEGER USING COMPRESSION bitpacking,
  start_ns BIGINT USING COMPRESSION bitpacking,
  duration_ns BIGINT USING COMPRESSION bitpacking,
  parent BIGINT USING COMPRESSION bitpacking,
  parent_basis UINTEGER USING COMPRESSION bitpacking,
  correlation BIGINT USING COMPRESSION bitpacking,
  external_id BIGINT USING COMPRESSION bitpacking,
  position UINTEGER USING COMPRESSION bitpacking);
COMMENT ON TABLE event IS 'An interval or instant on a track; read it through the view events';
COMMENT ON COLUMN event.event IS 'source * 2^32 + number by track and start';
COMMENT ON COLUMN event.duration_ns IS '-1 where the end was not recorded';
COMMENT ON COLUMN event.parent IS 'event above it in the call chain; -1 for none';
COMMENT ON COLUMN event.parent_basis IS '0 no parent, 1 nesting on its track, 2 correlation id, 3 external id';
COMMENT ON COLUMN event.correlation IS 'correlation id, unique within a process; -1 for none';
COMMENT ON COLUMN event.external_id IS 'PyTorch''s number of the operator: External id (Kineto) or op_id (its NVTX ranges); -1 for none';
COMMENT ON COLUMN event.position IS 'number of the record in the source, from 0';

CREATE TABLE memory_operation (
  event BIGINT,
  bytes UBIGINT);
COMMENT ON TABLE memory_operation IS 'Bytes of a copy or memset on the GPU';

CREATE TABLE stream_wait (
  event BIGINT,
  recorded BIGINT);
COMMENT ON TABLE stream_wait IS 'A stream waits for what another has recorded: an edge between GPU work that no call chain has';
COMMENT ON COLUMN stream_wait.recorded IS 'the event that was recorded, or the call that recorded it';

CREATE TABLE communication_event (
  event BIGINT,
  collective VARCHAR,
  data_type VARCHAR,
  in_elements BIGINT,
  out_elements BIGINT,
  group_name VARCHAR,
  group_description VARCHAR,
  group_ranks VARCHAR,
  group_size BIGINT,
  rank BIGINT,
  sequence BIGINT,
  communicator_id VARCHAR);
COMMENT ON TABLE communication_event IS 'Arguments of a collective, of the operator that called it and of its kernel, as the framework wrote them';

CREATE TABLE flow_point (
  time_ns BIGINT,
  id UBIGINT,
  category UINTEGER,
  track UINTEGER,
  phase UINTEGER);
COMMENT ON TABLE flow_point IS 'A point of an arrow between events; phase 0 start, 1 step, 2 end; category is an event_name';

CREATE TABLE counter_value (
  time_ns BIGINT,
  track UINTEGER,
  name UINTEGER,
  value DOUBLE);
COMMENT ON TABLE counter_value IS 'A counter of the profile over time; name is an event_name';

CREATE VIEW events AS
SELECT e.event, k.name AS kind, n.text AS name, e.start_ns, nullif(e.duration_ns, -1) AS duration_ns,
       coalesce(p.name, '') || coalesce(' ' || p.pid, '') AS process,
       CASE t.kind WHEN 'stream' THEN 'GPU ' || coalesce(t.device::VARCHAR, '?') || ' stream ' || t.id
                   ELSE coalesce(nullif(t.name, ''), t.kind || ' ' || t.id) END AS track,
       nullif(e.parent, -1) AS parent,
       CASE e.parent_basis WHEN 1 THEN 'nesting' WHEN 2 THEN 'correlation' WHEN 3 THEN 'external_id' END
         AS parent_basis,
       nullif(e.correlation, -1) AS correlation, nullif(e.external_id, -1) AS external_id, p.host, p.pid, p.rank, t.device,
       CASE t.kind WHEN 'stream' THEN t.id END AS stream, CASE t.kind WHEN 'thread' THEN t.id END AS thread,
       u.name AS run, t.source, e.position, e.track AS track_number, e.name AS name_number
FROM event e
JOIN event_kind k ON k.kind = e.kind
JOIN event_name n ON n.name = e.name
JOIN track t ON t.track = e.track
JOIN trace_process p ON p.trace_process = t.trace_process
JOIN source f ON f.source = t.source
JOIN run u ON u.run = f.run;
COMMENT ON VIEW events IS 'Every event of a profile with its name, process, track and place in the call chain';

-- The same operation on several ranks has the same run, group, collective and number.
CREATE VIEW communications AS
WITH described AS (
  SELECT e.event, e.kind, e.name, e.start_ns, e.duration_ns, e.process, e.rank, e.run, e.source, e.parent,
         c.collective, c.data_type, c.in_elements, c.out_elements, c.group_size, c.sequence, c.communicator_id,
         coalesce(nullif(c.group_description, ''), c.group_name) AS group_name, c.group_ranks,
         coalesce(c.communicator_id, c.group_ranks, c.group_name, '') AS group_key, t.trace_process
  FROM communication_event c
  JOIN events e ON e.event = c.event
  JOIN track t ON t.track = e.track_number)
SELECT event, kind, name, collective, data_type, in_elements, out_elements, group_name, group_ranks, group_size,
       coalesce(sequence, row_number() OVER (PARTITION BY source, trace_process, kind, group_key, collective
                                             ORDER BY start_ns, event) - 1) AS number,
       sequence IS NOT NULL AS is_number_written, start_ns, duration_ns, process, rank, run, source, parent,
       communicator_id
FROM described;
COMMENT ON VIEW communications IS 'Collectives as the framework described them, at the operator and at the kernel';
COMMENT ON COLUMN communications.number IS 'the process group''s sequence number, or else the place in the order of the profile: equal on all ranks only if all profiles begin with the same operation';
