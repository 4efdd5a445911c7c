-- Schema 6: what programs, engines, the kernel and exporters wrote: lines of logs with templates and typed events,
-- spans and metrics; clocks of hosts; steps and requests.

CREATE TABLE log_process (
  log_process UINTEGER,
  source INTEGER,
  name VARCHAR,
  host VARCHAR,
  pid BIGINT,
  rank BIGINT,
  roles VARCHAR,
  stream VARCHAR,
  trace_process INTEGER);
COMMENT ON TABLE log_process IS 'Who wrote lines of a log, as their prefixes say it';
COMMENT ON COLUMN log_process.name IS 'as the engine calls its process: EngineCore_DP0, APIServer, Worker_TP1';
COMMENT ON COLUMN log_process.rank IS 'global rank, where a launcher wrote it before the line';
COMMENT ON COLUMN log_process.roles IS 'ranks within groups, as the engine writes them: DP6 TP6 EP6';
COMMENT ON COLUMN log_process.stream IS 'stdout or stderr, of output that a profiler captured';
COMMENT ON COLUMN log_process.trace_process IS 'the process of the profile that captured it';

CREATE TABLE log_location (
  location UINTEGER,
  source INTEGER,
  text VARCHAR);
COMMENT ON TABLE log_location IS 'File and line of the code that wrote, as lines name it';

CREATE TABLE log_template (
  template UINTEGER,
  source INTEGER,
  text VARCHAR,
  lines UBIGINT,
  shared VARCHAR);
COMMENT ON TABLE log_template IS 'The constant part of lines that are alike; <*> stands for what differs';
COMMENT ON COLUMN log_template.text IS 'as it was found in the source';
COMMENT ON COLUMN log_template.shared IS 'the template over all sources of the store, which several may share';

CREATE TABLE log_line (
  source UINTEGER USING COMPRESSION rle,
  line UINTEGER USING COMPRESSION bitpacking,
  head UINTEGER USING COMPRESSION bitpacking,
  time_ns BIGINT USING COMPRESSION bitpacking,
  time_basis UINTEGER USING COMPRESSION bitpacking,
  level UINTEGER USING COMPRESSION bitpacking,
  log_process UINTEGER USING COMPRESSION bitpacking,
  location UINTEGER USING COMPRESSION bitpacking,
  template UINTEGER USING COMPRESSION bitpacking,
  text VARCHAR USING COMPRESSION fsst);
COMMENT ON TABLE log_line IS 'A line of a log; read it through the view log_lines';
COMMENT ON COLUMN log_line.line IS 'its number in the source, from 1; of captured output, in its stream';
COMMENT ON COLUMN log_line.head IS 'the first line of the message that it belongs to: itself, or a line before it';
COMMENT ON COLUMN log_line.time_ns IS 'nanoseconds since 1970 by the clock of the host; with basis 3 since the host started';
COMMENT ON COLUMN log_line.time_basis IS '0 no time, 1 written in the line, 2 that of the line before, 3 since the host started';
COMMENT ON COLUMN log_line.level IS '0 none, 1 debug, 2 info, 3 warning, 4 error, 5 critical';
COMMENT ON COLUMN log_line.location IS 'log_location; 4294967295 for none';
COMMENT ON COLUMN log_line.template IS 'log_template; 4294967295 for none: lines that go on with a message are not mined';
COMMENT ON COLUMN log_line.text IS 'the line without prefix and colours';

CREATE VIEW log_lines AS
SELECT u.name AS run, l.source, l.line, l.head, CASE WHEN l.time_basis IN (1, 2) THEN l.time_ns END AS time_ns,
       CASE l.time_basis WHEN 1 THEN 'written' WHEN 2 THEN 'line before' WHEN 3 THEN 'since start' END AS time_basis,
       CASE WHEN l.time_basis = 3 THEN l.time_ns END AS since_start_ns,
       CASE l.level WHEN 1 THEN 'debug' WHEN 2 THEN 'info' WHEN 3 THEN 'warning' WHEN 4 THEN 'error'
                    WHEN 5 THEN 'critical' END AS level,
       p.host, p.name AS process, p.pid, p.rank, p.roles, p.stream, c.text AS location, l.text,
       coalesce(t.shared, t.text) AS template, l.template AS template_number
FROM log_line l
JOIN source f ON f.source = l.source
JOIN run u ON u.run = f.run
LEFT JOIN log_process p ON p.log_process = l.log_process
LEFT JOIN log_location c ON c.location = l.location
LEFT JOIN log_template t ON t.template = l.template;
COMMENT ON VIEW log_lines IS 'Lines of logs with time, level, who wrote them, and their template';

CREATE TABLE log_event (
  log_event BIGINT,
  source INTEGER,
  line UINTEGER,
  kind VARCHAR,
  severity VARCHAR,
  rank BIGINT,
  pid BIGINT,
  gpu VARCHAR,
  fields VARCHAR);
COMMENT ON TABLE log_event IS 'What a line says of a known kind: out of memory, Xid, watchdog, death of an engine …; read it through log_events';
COMMENT ON COLUMN log_event.severity IS 'info, warning, error or fatal';
COMMENT ON COLUMN log_event.rank IS 'global rank that the line is about; -1 for none but that of the process that wrote it';
COMMENT ON COLUMN log_event.pid IS 'process that the line is about; -1 for none but the one that wrote it';
COMMENT ON COLUMN log_event.gpu IS 'PCI bus id, lower case, or the number of the GPU in its process; empty for none';
COMMENT ON COLUMN log_event.fields IS 'its values as JSON; units are in the names';

CREATE VIEW log_events AS
SELECT u.name AS run, e.log_event, CASE WHEN l.time_basis IN (1, 2) THEN l.time_ns END AS time_ns, l.time_basis,
       e.kind, e.severity, p.host, p.name AS process, coalesce(nullif(e.pid, -1), p.pid) AS pid,
       coalesce(nullif(e.rank, -1), p.rank) AS rank, nullif(e.gpu, '') AS gpu, p.roles, e.fields, e.source, e.line, l.text
FROM log_event e
JOIN source f ON f.source = e.source
JOIN run u ON u.run = f.run
LEFT JOIN log_line l ON l.source = e.source AND l.line = e.line
LEFT JOIN log_process p ON p.log_process = l.log_process;
COMMENT ON VIEW log_events IS 'Typed events of logs with their time, place and line';

CREATE TABLE span (
  source INTEGER,
  position UINTEGER,
  trace_id VARCHAR,
  span_id VARCHAR,
  parent_span_id VARCHAR,
  name VARCHAR,
  kind VARCHAR,
  start_ns BIGINT,
  end_ns BIGINT,
  status VARCHAR,
  service VARCHAR,
  host VARCHAR,
  pid BIGINT,
  scope VARCHAR,
  attributes VARCHAR,
  events VARCHAR);
COMMENT ON TABLE span IS 'A span of OpenTelemetry';
COMMENT ON COLUMN span.position IS 'its number in the source, from 0';
COMMENT ON COLUMN span.attributes IS 'as a JSON object of plain values';

CREATE TABLE otlp_log (
  source INTEGER,
  position UINTEGER,
  time_ns BIGINT,
  observed_ns BIGINT,
  severity VARCHAR,
  body VARCHAR,
  trace_id VARCHAR,
  span_id VARCHAR,
  service VARCHAR,
  host VARCHAR,
  pid BIGINT,
  attributes VARCHAR);
COMMENT ON TABLE otlp_log IS 'A log record of OpenTelemetry';

CREATE TABLE metric_series (
  series INTEGER,
  source INTEGER,
  name VARCHAR,
  type VARCHAR,
  help VARCHAR,
  host VARCHAR,
  gpu BIGINT,
  uuid VARCHAR,
  pci_bus_id VARCHAR,
  labels VARCHAR);
COMMENT ON TABLE metric_series IS 'A metric with its labels: from exporters, or from lines in which engines report values';
COMMENT ON COLUMN metric_series.labels IS 'all labels, as JSON';

CREATE TABLE metric_sample (
  series INTEGER,
  time_ns BIGINT,
  value DOUBLE,
  line UINTEGER);
COMMENT ON TABLE metric_sample IS 'A value of a metric; line is where it stands in the source';
COMMENT ON COLUMN metric_sample.time_ns IS 'nanoseconds since 1970; NULL or -1 where it is not known';

CREATE VIEW metrics AS
SELECT u.name AS run, s.name, nullif(m.time_ns, -1) AS time_ns, m.value, s.host, s.gpu, s.labels, s.type, s.help, s.source, m.line
FROM metric_sample m JOIN metric_series s ON s.series = m.series JOIN source f ON f.source = s.source
JOIN run u ON u.run = f.run;
COMMENT ON VIEW metrics IS 'Values of metrics over time';

CREATE TABLE host_clock (
  run INTEGER,
  host VARCHAR,
  reference_host VARCHAR,
  reference_time_ns BIGINT,
  offset_ns BIGINT,
  drift_ppb BIGINT,
  error_ns BIGINT,
  operations UBIGINT,
  contradictions UBIGINT,
  basis VARCHAR);
COMMENT ON TABLE host_clock IS 'How far the clock of a host is ahead of that of the reference host, and how well that is known';
COMMENT ON COLUMN host_clock.error_ns IS 'the true offset lies within this of offset + drift; NULL where what is known excludes itself. With basis anchor it is not measured: what time servers keep hosts within, with much to spare';
COMMENT ON COLUMN host_clock.operations IS 'collectives on both sides that it rests on';

CREATE TABLE step (
  step INTEGER,
  run INTEGER,
  source INTEGER,
  event BIGINT,
  line UINTEGER,
  host VARCHAR,
  trace_process INTEGER,
  rank BIGINT,
  number BIGINT,
  engine VARCHAR,
  phase VARCHAR,
  start_ns BIGINT,
  duration_ns BIGINT,
  context_requests BIGINT,
  context_tokens BIGINT,
  generation_requests BIGINT,
  generation_tokens BIGINT);
COMMENT ON TABLE step IS 'One iteration of an engine or of training on one rank, with its batch';
COMMENT ON COLUMN step.event IS 'the range of the profile that it is; NULL for steps that only a log tells of';
COMMENT ON COLUMN step.number IS 'place in the order of its process, from 0, or the number that the step names';
COMMENT ON COLUMN step.phase IS 'prefill, decode, mixed or train';

CREATE TABLE request (
  request INTEGER,
  run INTEGER,
  name VARCHAR,
  engine VARCHAR,
  host VARCHAR,
  arrival_ns BIGINT,
  first_token_ns BIGINT,
  end_ns BIGINT,
  time_error_ns BIGINT,
  prompt_tokens BIGINT,
  output_tokens BIGINT,
  status VARCHAR,
  sources VARCHAR);
COMMENT ON TABLE request IS 'One request of a user, from spans, lines of logs or ranges that name it';
COMMENT ON COLUMN request.time_error_ns IS 'its times may be later by up to this: logs of whole seconds';
COMMENT ON COLUMN request.sources IS 'what tells of it: span, log, capture';

CREATE TABLE step_request (
  step INTEGER,
  request INTEGER,
  basis VARCHAR,
  share DOUBLE,
  tokens BIGINT);
COMMENT ON TABLE step_request IS 'Which requests a step worked for';
COMMENT ON COLUMN step_request.basis IS 'id: the step names it; exact: nothing else is possible; window: it may have, by time';
COMMENT ON COLUMN step_request.share IS 'its part of the step''s tokens; for window the chance that it took part, if all are alike';

CREATE TABLE request_link (
  run INTEGER,
  sources VARCHAR);
COMMENT ON TABLE request_link IS 'From which sources of a run its steps, requests and clocks were made';
