-- The same as whole.sql for a store without irregular records.

CREATE TEMP VIEW selected_count AS
SELECT series, message_bytes, regular_operations AS operations, exec_time_us_sum, exec_time_us_min,
       exec_time_us_max, first_dump_timestamp_us, last_dump_timestamp_us, operation, communicator_type,
       communicator, communicator_rank
FROM selected_series WHERE regular_operations > 0;

CREATE TEMP VIEW selected_time AS
SELECT s.series, s.message_bytes, h.exec_time_us::UBIGINT AS exec_time_us, h.operations, s.traffic_bytes,
       s.bus_factor, h.exec_time_us AS rate_time_us
FROM operation_histogram h JOIN selected_series s ON s.series = h.series;
