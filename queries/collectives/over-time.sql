-- Question: when did bandwidth change?
-- Parameters:
--   $1 seconds: length of a bin; a fiftieth of the time if not given
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   run, start_s: the bin, seconds since the first dump of the run; by the time of the dump that wrote a
--     record, as the host's clock had it (there is no other time in these records)
--   start: the same as a time, UTC
--   operations: operation records with a bandwidth (one operation of n ranks is n records); left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
--   busbw_gbs_min, _p25, _p50, _p75, _max: bus bandwidth of a record, GB/s (1e9)
--   variation: coefficient of variation of the bandwidth (standard deviation / mean)
--   p50_percent: median as a percentage of the best median of the same operation, type and size
WITH span AS (
  SELECT run, min(try_cast(first_dump_timestamp_us AS BIGINT)) AS first_us,
         greatest(coalesce(($1::DOUBLE * 1e6)::BIGINT,
                           (max(try_cast(last_dump_timestamp_us AS BIGINT))
                            - min(try_cast(first_dump_timestamp_us AS BIGINT))) // 50 + 1), 1)
           AS bin_us
  FROM selected_count JOIN (SELECT series, run FROM selected_series) USING (series) GROUP BY run),
part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, s.run, list(series) AS members,
         any_value(first_us) AS first_us, any_value(bin_us) AS bin_us
  FROM selected_series s JOIN span ON span.run = s.run WHERE rated
  GROUP BY operation, communicator_type, s.run),
member AS (SELECT part, first_us, bin_us, unnest(members) AS series FROM part),
-- A record joins once, and is grouped by two numbers: what its series adds is put to its block first.
slot AS (
  SELECT row_number() OVER ()::UINTEGER AS slot, part, message_bytes
  FROM (SELECT part, message_bytes FROM selected_series JOIN member USING (series)
        UNION
        SELECT part, message_bytes FROM selected_irregular JOIN member USING (series))),
block AS MATERIALIZED (
  SELECT b.block, slot.slot, s.traffic_bytes, s.bus_factor, b.timestamp_offset_us - m.first_us AS offset_us,
         m.first_us, m.bin_us
  FROM operation_block b
  JOIN selected_series s ON s.series = b.series
  JOIN member m ON m.series = b.series
  JOIN slot ON slot.part = m.part AND slot.message_bytes IS NOT DISTINCT FROM s.message_bytes),
record AS (
  SELECT b.slot, floor((r.timestamp_key + b.offset_us) / b.bin_us)::BIGINT AS bin, b.traffic_bytes,
         b.bus_factor, r.exec_time_us AS rate_time_us
  FROM operation_record r JOIN block b ON b.block = r.block
  WHERE is_selected_time(r.timestamp_key + (b.offset_us + b.first_us))
  UNION ALL
  SELECT slot.slot, floor((try_cast(r.dump_timestamp_us AS BIGINT) - m.first_us) / m.bin_us)::BIGINT,
         r.traffic_bytes, r.bus_factor, r.rate_time_us
  FROM selected_irregular r
  JOIN member m USING (series)
  JOIN slot ON slot.part = m.part AND slot.message_bytes IS NOT DISTINCT FROM r.message_bytes),
rated AS (
  SELECT slot, bin, busbw_summary(traffic_bytes, bus_factor, rate_time_us, 1::UINTEGER) AS b
  FROM record GROUP BY slot, bin)
SELECT operation, communicator_type, message_bytes, run, bin * bin_us / 1e6::DOUBLE AS start_s,
       make_timestamp(first_us + bin * bin_us) AS start,
       b.n AS operations, b.min AS busbw_gbs_min, b.p25 AS busbw_gbs_p25, b.p50 AS busbw_gbs_p50,
       b.p75 AS busbw_gbs_p75, b.max AS busbw_gbs_max, b.stddev / b.mean AS variation,
       100 * b.p50 / max(b.p50) OVER (PARTITION BY operation, communicator_type, message_bytes) AS p50_percent
FROM rated JOIN slot USING (slot) JOIN part USING (part)
WHERE b IS NOT NULL
ORDER BY operation, communicator_type, message_bytes, run, bin
