-- Cells: what records share but for their rank and place, from the rollup operation_cell. Questions that
-- name neither host, rank, communicator nor time need no more. Irregular records, which rollups leave out,
-- make a cell for each of their series.
--   selected_cell: the cells that the filters leave
--   cell_count: operations and execution times of a cell by message size
--   cell_time: how often each execution time came

CREATE TEMP VIEW selected_cell AS
SELECT c.cell::BIGINT AS cell, u.name AS run, c.communicator_type, c.n_ranks, c.nnodes, c.kind, c.operation,
       c.message_bytes, c.algorithm, c.protocol,
       is_rated(c.n_ranks, c.operation, c.message_bytes) AS rated,
       CASE WHEN rated THEN c.traffic_bytes ELSE 0 END AS traffic_bytes, c.bus_factor
FROM operation_cell c JOIN run u ON u.run = c.run
WHERE is_selected_run(u.name) AND is_selected_type(c.communicator_type)
  AND is_selected_operation(c.operation) AND is_selected_size(c.message_bytes)
UNION ALL
SELECT DISTINCT -1 - series, run, communicator_type, n_ranks, nnodes, kind, operation, series_bytes,
       algorithm, protocol, rated, series_traffic_bytes, series_bus_factor
FROM selected_irregular;

CREATE TEMP VIEW cell_count AS
SELECT cell::BIGINT AS cell, message_bytes, operations, exec_time_us_sum, exec_time_us_min, exec_time_us_max
FROM operation_cell
UNION ALL
SELECT -1 - series, message_bytes, count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us)
FROM selected_irregular GROUP BY series, message_bytes;

CREATE TEMP VIEW cell_time AS
SELECT c.cell, c.message_bytes, h.exec_time_us::UBIGINT AS exec_time_us, h.operations, c.traffic_bytes,
       c.bus_factor, h.exec_time_us AS rate_time_us
FROM operation_cell_histogram h JOIN selected_cell c ON c.cell = h.cell
UNION ALL
SELECT -1 - series, message_bytes, exec_time_us, 1::UBIGINT, traffic_bytes, bus_factor, rate_time_us
FROM selected_irregular;
