-- The same as cells.sql where the rollup operation_cell does not tell: each series is a cell.

CREATE TEMP VIEW selected_cell AS
SELECT series AS cell, run, communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm,
       protocol, rated, traffic_bytes, bus_factor
FROM selected_series;

CREATE TEMP VIEW cell_count AS
SELECT series AS cell, message_bytes, operations, exec_time_us_sum, exec_time_us_min, exec_time_us_max
FROM selected_count;

CREATE TEMP VIEW cell_time AS
SELECT series AS cell, message_bytes, exec_time_us, operations, traffic_bytes, bus_factor, rate_time_us
FROM selected_time;
