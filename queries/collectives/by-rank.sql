-- Question: which rank has low bandwidth?
-- A late rank shows the shortest times and so the highest bandwidth, while the others wait for it: see skew.
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, communicator, rank, host: which one; the rank is a rank in the communicator
--   global_rank: rank in the communicator that has all processes, where there is one
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, run, communicator, any_value(communicator_label) AS communicator_label, rank, any_value(host) AS host, any_value(pid) AS pid, list(series) AS members
  FROM selected_series WHERE rated GROUP BY operation, communicator_type, message_bytes, run, communicator, rank),
member AS (SELECT part, unnest(members) AS series FROM part),
rated AS (
  SELECT part, message_bytes, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM selected_time JOIN member USING (series) GROUP BY part, message_bytes)
SELECT operation, communicator_type, message_bytes, run, communicator_label AS communicator, rank, host, global_rank,
       b.n AS operations, b.min AS busbw_gbs_min, b.p25 AS busbw_gbs_p25, b.p50 AS busbw_gbs_p50,
       b.p75 AS busbw_gbs_p75, b.max AS busbw_gbs_max, b.stddev / b.mean AS variation,
       100 * b.p50 / max(b.p50) OVER (PARTITION BY operation, communicator_type, message_bytes) AS p50_percent
FROM rated JOIN part USING (part)
LEFT JOIN places USING (run, host, pid)
WHERE b IS NOT NULL
ORDER BY operation, communicator_type, message_bytes, busbw_gbs_p50, run, communicator_label, rank
