-- Schema 4, of profiles: how kernels are launched, said once for all launches that are alike; and
-- payloads of ranges.

CREATE TABLE launch_shape (
  shape UINTEGER,
  source INTEGER,
  grid_x UINTEGER,
  grid_y UINTEGER,
  grid_z UINTEGER,
  block_x UINTEGER,
  block_y UINTEGER,
  block_z UINTEGER,
  registers_per_thread UINTEGER,
  shared_memory_bytes UINTEGER);
COMMENT ON TABLE launch_shape IS 'A grid of blocks and what each takes; the same shape may come once for each source';

CREATE TABLE kernel_launch (
  event BIGINT,
  shape UINTEGER,
  graph_node BIGINT);
COMMENT ON TABLE kernel_launch IS 'With what a kernel was launched; graph_node -1 for none';

CREATE VIEW kernel_launches AS
SELECT l.event, s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y, s.block_z, s.registers_per_thread,
       s.shared_memory_bytes, nullif(l.graph_node, -1) AS graph_node
FROM kernel_launch l JOIN launch_shape s ON s.shape = l.shape;
COMMENT ON VIEW kernel_launches IS 'Grid, block, registers and shared memory of each kernel';

CREATE TABLE event_payload (
  event BIGINT,
  json VARCHAR);
COMMENT ON TABLE event_payload IS 'What a range or mark carries beside its name, as JSON (NVTX payloads, where they were exported)';
