-- Question: how fast is each operation at each message size?
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_p10, _p50, _p90, _mean: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   exec_time_us_p50: the execution time that belongs to the median bandwidth where all communicators
--     have as many ranks, microseconds
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, list(cell) AS members,
         CASE WHEN min(n_ranks) = max(n_ranks) AND min(message_bytes) = max(message_bytes)
              THEN min(traffic_bytes * bus_factor) END AS bytes
  FROM selected_cell WHERE rated GROUP BY operation, communicator_type, message_bytes),
member AS (SELECT part, unnest(members) AS cell FROM part),
rated AS (
  SELECT part, message_bytes, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM cell_time JOIN member USING (cell) GROUP BY part, message_bytes)
SELECT operation, communicator_type, message_bytes, b.n AS operations, b.p10 AS busbw_gbs_p10,
       b.p50 AS busbw_gbs_p50, b.p90 AS busbw_gbs_p90, b.mean AS busbw_gbs_mean,
       b.stddev / b.mean AS variation, round(bytes / b.p50 / 1e3) AS exec_time_us_p50
FROM rated JOIN part USING (part)
WHERE b IS NOT NULL
ORDER BY operation, communicator_type, message_bytes
