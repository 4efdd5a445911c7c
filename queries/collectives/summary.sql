-- Question: which operations ran on which kind of communicator, how much did they move, how fast?
-- Parameters:
--   $1 run: name of a run, or NULL for all
-- Columns:
--   operation: AllReduce, AllGather … and Send, Recv (p2p)
--   communicator_type: single-rank, nvlink-only, nic-only or mixed
--   communicators, ranks: how many took part (ranks: communicator ranks)
--   operations: operation records; one operation of n ranks is n records
--   message_bytes: sum of message sizes over the records (sizes of unknown data types left out)
--   exec_time_us_mean, exec_time_us_max: execution time of a record, microseconds
--   busbw_gbs_mean, busbw_gbs_max: bus bandwidth of a record, GB/s (1e9); only records with a time,
--     a known operation and a known data type
WITH record AS (
  SELECT series, operations AS n, message_bytes, exec_time_us_sum AS time_sum,
         exec_time_us_max AS time_max
  FROM operation_series WHERE operations > 0
  UNION ALL
  SELECT series, 1, message_bytes, exec_time_us, exec_time_us FROM operation_record_irregular),
counted AS (
  SELECT series, sum(n) AS n,
         sum(CASE WHEN message_bytes < 9223372036854775808 THEN message_bytes::HUGEINT * n END) AS bytes,
         sum(time_sum) AS time_sum, max(time_max) AS time_max
  FROM record GROUP BY series),
rate AS (
  SELECT s.series, count(*) AS n,
         sum(round(s.traffic_bytes / 1e9::DOUBLE / (r.exec_time_us / 1e6::DOUBLE) * s.bus_factor, 6)) AS busbw_sum,
         max(round(s.traffic_bytes / 1e9::DOUBLE / (r.exec_time_us / 1e6::DOUBLE) * s.bus_factor, 6)) AS busbw_max
  FROM operation_record r JOIN operation_series s ON s.series = r.block >> 16
  WHERE r.exec_time_us > 0 AND s.message_bytes < 9223372036854775808 AND s.traffic_bytes > 0
    AND s.bus_factor > 0
  GROUP BY s.series
  UNION ALL
  SELECT i.series, count(*), sum(i.busbw_gbs), max(i.busbw_gbs)
  FROM operation_record_irregular i JOIN operation_series s USING (series)
  WHERE i.exec_time_us > 0 AND i.message_bytes < 9223372036854775808 AND i.busbw_gbs > 0
    AND isfinite(i.busbw_gbs) AND s.operation <> 'Invalid'
  GROUP BY i.series),
rated AS (
  SELECT series, sum(n) AS n, sum(busbw_sum) AS busbw_sum, max(busbw_max) AS busbw_max
  FROM rate GROUP BY series)
SELECT s.operation, coalesce(k.type, 'unknown') AS communicator_type,
       count(DISTINCT c.communicator) AS communicators,
       count(DISTINCT s.communicator_rank) AS ranks,
       sum(counted.n)::BIGINT AS operations,
       sum(counted.bytes)::HUGEINT AS message_bytes,
       sum(counted.time_sum)::DOUBLE / sum(counted.n) AS exec_time_us_mean,
       max(counted.time_max) AS exec_time_us_max,
       sum(rated.busbw_sum) / nullif(sum(rated.n), 0)::DOUBLE AS busbw_gbs_mean,
       max(rated.busbw_max) AS busbw_gbs_max
FROM operation_series s
JOIN counted ON counted.series = s.series
JOIN communicator_rank c ON c.communicator_rank = s.communicator_rank
JOIN source f ON f.source = s.source
JOIN run u ON u.run = f.run
LEFT JOIN communicator k ON k.communicator = c.communicator
LEFT JOIN rated ON rated.series = s.series
WHERE $1::VARCHAR IS NULL OR u.name = $1
GROUP BY s.operation, communicator_type
ORDER BY message_bytes DESC NULLS LAST, s.operation, communicator_type
