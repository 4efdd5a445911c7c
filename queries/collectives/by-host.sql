-- Question: which host is slow at an operation and size that others run too?
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, host: which one
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, run, host, list(series) AS members
  FROM selected_series WHERE rated GROUP BY operation, communicator_type, message_bytes, run, host),
member AS (SELECT part, unnest(members) AS series FROM part),
rated AS (
  SELECT part, message_bytes, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM selected_time JOIN member USING (series) GROUP BY part, message_bytes)
SELECT operation, communicator_type, message_bytes, run, host,
       b.n AS operations, b.min AS busbw_gbs_min, b.p25 AS busbw_gbs_p25, b.p50 AS busbw_gbs_p50,
       b.p75 AS busbw_gbs_p75, b.max AS busbw_gbs_max, b.stddev / b.mean AS variation,
       100 * b.p50 / max(b.p50) OVER (PARTITION BY operation, communicator_type, message_bytes) AS p50_percent
FROM rated JOIN part USING (part)
WHERE b IS NOT NULL
ORDER BY operation, communicator_type, message_bytes, busbw_gbs_p50, run, host
