-- The same as whole.sql from the records, where their time matters (--since, --until).

CREATE TEMP VIEW selected_count AS
SELECT series, any_value(run) AS run, message_bytes, count(*) AS operations, sum(exec_time_us) AS exec_time_us_sum,
       min(exec_time_us) AS exec_time_us_min, max(exec_time_us) AS exec_time_us_max,
       min(dump_timestamp_us) AS first_dump_timestamp_us, max(dump_timestamp_us) AS last_dump_timestamp_us
FROM selected_record GROUP BY series, message_bytes;

CREATE TEMP VIEW selected_time AS
SELECT series, message_bytes, exec_time_us, 1::UBIGINT AS operations, traffic_bytes, bus_factor,
       rate_time_us
FROM selected_record;
