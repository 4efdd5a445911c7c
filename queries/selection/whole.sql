-- Counts and times of the selected series from the rollups: no record is read.
--   selected_count: operations and execution times of a series by message size
--   selected_time: how often each execution time came

CREATE TEMP VIEW selected_count AS
SELECT series, message_bytes, regular_operations AS operations, exec_time_us_sum, exec_time_us_min,
       exec_time_us_max, first_dump_timestamp_us, last_dump_timestamp_us, operation, communicator_type,
       communicator, communicator_rank
FROM selected_series WHERE regular_operations > 0
UNION ALL
SELECT series, message_bytes, count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us),
       min(dump_timestamp_us), max(dump_timestamp_us), any_value(operation), any_value(communicator_type),
       any_value(communicator), any_value(communicator_rank)
FROM selected_irregular GROUP BY series, message_bytes;

CREATE TEMP VIEW selected_time AS
SELECT s.series, s.message_bytes, h.exec_time_us::UBIGINT AS exec_time_us, h.operations, s.traffic_bytes,
       s.bus_factor, h.exec_time_us AS rate_time_us
FROM operation_histogram h JOIN selected_series s ON s.series = h.series
UNION ALL
SELECT series, message_bytes, exec_time_us, 1::UBIGINT, traffic_bytes, bus_factor, rate_time_us
FROM selected_irregular;
