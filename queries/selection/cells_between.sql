-- The same as cells.sql where records are left out by their time: selected series that differ in rank and
-- place only are put together, and CountBetween() fills the tables by a pass over the records.
-- Times of 0 have a count, but no row of cell_time.

CREATE TEMP VIEW between_cell_of_series AS
SELECT (row_number() OVER () - 1)::UINTEGER AS cell, list(series::UINTEGER) AS members, run,
       communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm, protocol, rated,
       traffic_bytes, bus_factor
FROM selected_series WHERE regular_operations > 0
GROUP BY run, communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm, protocol, rated,
         traffic_bytes, bus_factor;

CREATE TEMP TABLE between_cell AS FROM between_cell_of_series LIMIT 0;

CREATE TEMP TABLE between_cell_count (
  cell UINTEGER, operations UBIGINT, exec_time_us_sum UBIGINT, exec_time_us_min UBIGINT,
  exec_time_us_max UBIGINT, first_dump_timestamp_us BIGINT, last_dump_timestamp_us BIGINT);

CREATE TEMP TABLE between_cell_time (cell UINTEGER, exec_time_us UINTEGER, operations UBIGINT);

CREATE TEMP VIEW selected_cell AS
SELECT cell::BIGINT AS cell, run, communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm,
       protocol, rated, traffic_bytes, bus_factor
FROM between_cell
UNION ALL
SELECT DISTINCT -1 - series, run, communicator_type, n_ranks, nnodes, kind, operation, series_bytes,
       algorithm, protocol, rated, series_traffic_bytes, series_bus_factor
FROM selected_irregular;

CREATE TEMP VIEW cell_count AS
SELECT c.cell::BIGINT AS cell, c.message_bytes, b.operations, b.exec_time_us_sum, b.exec_time_us_min,
       b.exec_time_us_max
FROM between_cell_count b JOIN between_cell c USING (cell)
UNION ALL
SELECT -1 - series, message_bytes, count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us)
FROM selected_irregular GROUP BY series, message_bytes;

CREATE TEMP VIEW cell_time AS
SELECT c.cell::BIGINT AS cell, c.message_bytes, b.exec_time_us::UBIGINT AS exec_time_us, b.operations,
       c.traffic_bytes, c.bus_factor, b.exec_time_us AS rate_time_us
FROM between_cell_time b JOIN between_cell c USING (cell)
UNION ALL
SELECT -1 - series, message_bytes, exec_time_us, 1::UBIGINT, traffic_bytes, bus_factor, rate_time_us
FROM selected_irregular;
