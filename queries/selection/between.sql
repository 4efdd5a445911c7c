-- The same as whole.sql where records are left out by their time (--since, --until). CountBetween() fills the
-- tables by a pass over the records; times may come several times for a series.

CREATE TEMP TABLE between_count (
  series UINTEGER, operations UBIGINT, exec_time_us_sum UBIGINT, exec_time_us_min UBIGINT,
  exec_time_us_max UBIGINT, first_dump_timestamp_us BIGINT, last_dump_timestamp_us BIGINT);

CREATE TEMP TABLE between_time (series UINTEGER, exec_time_us UINTEGER, operations UINTEGER);

CREATE TEMP VIEW selected_count AS
SELECT s.series, s.message_bytes, b.operations, b.exec_time_us_sum, b.exec_time_us_min, b.exec_time_us_max,
       b.first_dump_timestamp_us, b.last_dump_timestamp_us
FROM between_count b JOIN selected_series s ON s.series = b.series
UNION ALL
SELECT series, message_bytes, count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us),
       min(dump_timestamp_us), max(dump_timestamp_us)
FROM selected_irregular GROUP BY series, message_bytes;

CREATE TEMP VIEW selected_time AS
SELECT s.series, s.message_bytes, b.exec_time_us::UBIGINT AS exec_time_us, b.operations, s.traffic_bytes,
       s.bus_factor, b.exec_time_us AS rate_time_us
FROM between_time b JOIN selected_series s ON s.series = b.series
UNION ALL
SELECT series, message_bytes, exec_time_us, 1::UBIGINT, traffic_bytes, bus_factor, rate_time_us
FROM selected_irregular;
