-- Question: which host is slow at an operation and size that others run too?
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, host: which one
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
SELECT operation, communicator_type, message_bytes, run, host,
       n AS operations, busbw_gbs_min, busbw_gbs_p25, busbw_gbs_p50, busbw_gbs_p75, busbw_gbs_max, variation,
       100 * busbw_gbs_p50 / max(busbw_gbs_p50) OVER (PARTITION BY operation, communicator_type, message_bytes)
         AS p50_percent
FROM rated JOIN slot USING (slot)
ORDER BY operation, communicator_type, message_bytes, busbw_gbs_p50, run, host
