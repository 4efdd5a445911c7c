-- Question: when did bandwidth change?
-- Parameters:
--   $1 seconds: length of a bin; a fiftieth of the time if not given
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, start_s: the bin, seconds since the first dump of the run that the filters leave, or since the time from
--     which on they leave any; by the time of the dump that wrote a record, as the host's clock had it (there
--     is no other time in these records)
--   start: the same as a time, UTC
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
SELECT operation, communicator_type, message_bytes, run, bin * width / 1e6::DOUBLE AS start_s,
       make_timestamp(origin + bin * width) AS start,
       n AS operations, busbw_gbs_min, busbw_gbs_p25, busbw_gbs_p50, busbw_gbs_p75, busbw_gbs_max, variation,
       100 * busbw_gbs_p50 / max(busbw_gbs_p50) OVER (PARTITION BY operation, communicator_type, message_bytes)
         AS p50_percent
FROM rated JOIN slot USING (slot)
ORDER BY operation, communicator_type, message_bytes, run, bin
