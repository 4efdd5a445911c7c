-- Counts of the selected series where records are left out by their time (see whole.sql): CountBetween()
-- fills the tables by a pass over the records.

CREATE TEMP TABLE between_count (
  series UINTEGER, operations UBIGINT, exec_time_us_sum UBIGINT, exec_time_us_min UBIGINT,
  exec_time_us_max UBIGINT, first_dump_timestamp_us BIGINT, last_dump_timestamp_us BIGINT);

CREATE TEMP VIEW selected_count AS
SELECT s.series, s.message_bytes, b.operations, b.exec_time_us_sum, b.exec_time_us_min, b.exec_time_us_max,
       b.first_dump_timestamp_us, b.last_dump_timestamp_us, s.operation, s.communicator_type, s.communicator,
       s.communicator_rank
FROM between_count b JOIN selected_series s ON s.series = b.series
UNION ALL
SELECT series, message_bytes, count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us),
       min(dump_timestamp_us), max(dump_timestamp_us), any_value(operation), any_value(communicator_type),
       any_value(communicator), any_value(communicator_rank)
FROM selected_irregular GROUP BY series, message_bytes;
