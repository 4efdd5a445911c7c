-- Question: who sends how much to whom, and how fast?
-- Columns:
--   run, communicator: where; source, destination: ranks in the communicator
--   source_host, destination_host: where those ranks are; NULL where no file of the rank is there
--   sends, receives: records of the source's Send and of the destination's Recv
--   message_bytes, message_bytes_percent: sum over the sends, or over the receives where more of them are there
--   send_busbw_gbs_p50, recv_busbw_gbs_p50: median bandwidth of a record, GB/s (1e9)
--   p50_percent: the lower of both as a percentage of the best of all pairs of the communicator
WITH member AS (
  SELECT DISTINCT slot, unnest(members) AS series FROM slot),
counted AS (
  SELECT slot, sum(operations)::BIGINT AS operations,
         sum(CASE WHEN message_bytes < 9223372036854775808
                  THEN message_bytes::HUGEINT * operations END) AS message_bytes
  FROM selected_count JOIN member USING (series) GROUP BY slot),
both_sides AS (
  SELECT run, communicator, any_value(communicator_label) AS label, source, destination,
         coalesce(any_value(operations) FILTER (operation = 'Send'), 0) AS sends,
         coalesce(any_value(operations) FILTER (operation = 'Recv'), 0) AS receives,
         max(message_bytes) AS message_bytes,
         any_value(busbw_gbs_p50) FILTER (operation = 'Send') AS send_p50,
         any_value(busbw_gbs_p50) FILTER (operation = 'Recv') AS recv_p50
  FROM slot JOIN counted USING (slot) LEFT JOIN rated USING (slot)
  GROUP BY run, communicator, source, destination),
host AS (SELECT communicator, rank, any_value(host) AS host FROM communicator_rank
         JOIN process USING (process) GROUP BY communicator, rank)
SELECT p.run, p.label AS communicator, p.source, p.destination, a.host AS source_host,
       z.host AS destination_host, p.sends, p.receives, p.message_bytes::HUGEINT AS message_bytes,
       100 * p.message_bytes / nullif(sum(p.message_bytes) OVER (), 0)::DOUBLE AS message_bytes_percent,
       p.send_p50 AS send_busbw_gbs_p50, p.recv_p50 AS recv_busbw_gbs_p50,
       100 * least(p.send_p50, p.recv_p50)
         / max(least(p.send_p50, p.recv_p50)) OVER (PARTITION BY p.communicator) AS p50_percent
FROM both_sides p
LEFT JOIN host a ON a.communicator = p.communicator AND a.rank = p.source
LEFT JOIN host z ON z.communicator = p.communicator AND z.rank = p.destination
ORDER BY p.run, p.label, p.communicator, p.source, p.destination
