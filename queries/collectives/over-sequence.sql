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
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, run, list(series) AS members
  FROM selected_series WHERE rated GROUP BY operation, communicator_type, run),
member AS (SELECT part, unnest(members) AS series FROM part),
-- A record joins once, and is grouped by two numbers: what its series adds is put to its block first.
slot AS (
  SELECT row_number() OVER ()::UINTEGER AS slot, part, message_bytes
  FROM (SELECT part, message_bytes FROM selected_series JOIN member USING (series)
        UNION
        SELECT part, message_bytes FROM selected_irregular JOIN member USING (series))),
block AS MATERIALIZED (
  SELECT b.block, slot.slot, s.traffic_bytes, s.bus_factor, b.sequence_offset, b.timestamp_offset_us
  FROM operation_block b
  JOIN selected_series s ON s.series = b.series
  JOIN member m ON m.series = b.series
  JOIN slot ON slot.part = m.part AND slot.message_bytes IS NOT DISTINCT FROM s.message_bytes),
record AS (
  SELECT b.slot, floor((r.sequence_key + b.sequence_offset) / coalesce($1::BIGINT, 50))::BIGINT AS bin,
         b.traffic_bytes, b.bus_factor, r.exec_time_us AS rate_time_us
  FROM operation_record r JOIN block b ON b.block = r.block
  WHERE is_selected_time(r.timestamp_key + b.timestamp_offset_us)
  UNION ALL
  SELECT slot.slot, try_cast(r.sequence // coalesce($1::UBIGINT, 50) AS BIGINT), r.traffic_bytes,
         r.bus_factor, r.rate_time_us
  FROM selected_irregular r
  JOIN member m USING (series)
  JOIN slot ON slot.part = m.part AND slot.message_bytes IS NOT DISTINCT FROM r.message_bytes),
rated AS (
  SELECT slot, bin, busbw_summary(traffic_bytes, bus_factor, rate_time_us, 1::UINTEGER) AS b
  FROM record GROUP BY slot, bin)
SELECT operation, communicator_type, message_bytes, run, bin * coalesce($1::BIGINT, 50) AS first_sequence,
       (bin + 1) * coalesce($1::BIGINT, 50) - 1 AS last_sequence,
       b.n AS operations, b.min AS busbw_gbs_min, b.p25 AS busbw_gbs_p25, b.p50 AS busbw_gbs_p50,
       b.p75 AS busbw_gbs_p75, b.max AS busbw_gbs_max, b.stddev / b.mean AS variation,
       100 * b.p50 / max(b.p50) OVER (PARTITION BY operation, communicator_type, message_bytes) AS p50_percent
FROM rated JOIN slot USING (slot) JOIN part USING (part)
WHERE b IS NOT NULL
ORDER BY operation, communicator_type, message_bytes, run, bin
