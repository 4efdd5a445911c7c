-- Question: which algorithm and protocol did NCCL choose, and how fast were they?
-- Columns:
--   operation, communicator_type, message_bytes: what was run; collectives only, as sends and receives have
--     neither
--   algorithm, protocol: NULL where the format does not say (before v4.2)
--   operations, operations_percent: operation records, of those of the operation, type and size
--   total_bytes, total_bytes_percent: message size times records, of all collectives
--   busbw_gbs_p10, _p50, _p90: bus bandwidth of a record, GB/s (1e9)
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, algorithm, protocol,
         list(cell) AS members
  FROM selected_cell WHERE kind = 'collective'
  GROUP BY operation, communicator_type, message_bytes, algorithm, protocol),
member AS (SELECT part, unnest(members) AS cell FROM part),
counted AS (
  SELECT part, message_bytes, sum(operations)::BIGINT AS operations,
         CASE WHEN message_bytes < 9223372036854775808
              THEN message_bytes::HUGEINT * sum(operations) ELSE 0 END AS total_bytes
  FROM cell_count JOIN member USING (cell) GROUP BY part, message_bytes),
rated AS (
  SELECT part, message_bytes, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM cell_time JOIN member USING (cell) GROUP BY part, message_bytes)
SELECT operation, communicator_type, counted.message_bytes, algorithm, protocol, operations,
       100 * operations / sum(operations) OVER (PARTITION BY operation, communicator_type, counted.message_bytes)::DOUBLE
         AS operations_percent,
       total_bytes::HUGEINT AS total_bytes,
       100 * total_bytes / nullif(sum(total_bytes) OVER (), 0)::DOUBLE AS total_bytes_percent,
       b.p10 AS busbw_gbs_p10, b.p50 AS busbw_gbs_p50, b.p90 AS busbw_gbs_p90
FROM counted JOIN part USING (part)
LEFT JOIN rated ON rated.part = counted.part AND rated.message_bytes IS NOT DISTINCT FROM counted.message_bytes
ORDER BY operation, communicator_type, counted.message_bytes, operations DESC, algorithm, protocol
