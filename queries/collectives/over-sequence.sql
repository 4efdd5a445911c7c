-- Question: from which operation on did bandwidth change?
-- Parameters:
--   $1 operations: sequence numbers in a bin; 50 if not given
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, first_sequence, last_sequence: the bin. Sequence numbers count each operation of a communicator by
--     itself, so equal numbers of different communicators need not be at the same time
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
SELECT operation, communicator_type, message_bytes, run, bin::HUGEINT * width AS first_sequence,
       (bin::HUGEINT + 1) * width - 1 AS last_sequence,
       n AS operations, busbw_gbs_min, busbw_gbs_p25, busbw_gbs_p50, busbw_gbs_p75, busbw_gbs_max, variation,
       100 * busbw_gbs_p50 / max(busbw_gbs_p50) OVER (PARTITION BY operation, communicator_type, message_bytes)
         AS p50_percent
FROM rated JOIN slot USING (slot)
ORDER BY operation, communicator_type, message_bytes, run, bin
