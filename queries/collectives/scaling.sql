-- Question: how do bytes and bandwidth change from run to run, as the number of processes grows?
-- Columns:
--   operation, communicator_type: what is compared
--   run, processes, hosts: the run and its size, as its files show
--   operations: operation records
--   message_bytes, bytes_per_process: sum of message sizes over the records, and its share of a process
--   busbw_gbs_p50: median bus bandwidth of the records, GB/s (1e9)
--   bytes_percent, p50_percent: of the smallest run that has the operation on that type
WITH size AS (
  SELECT run, count(DISTINCT (host, pid)) AS processes, count(DISTINCT host) AS hosts
  FROM selected_rank GROUP BY run),
part AS (
  SELECT row_number() OVER () AS part, run, operation, communicator_type, list(cell) AS members
  FROM selected_cell GROUP BY run, operation, communicator_type),
member AS (SELECT part, unnest(members) AS cell FROM part),
counted AS (
  SELECT part, sum(operations)::BIGINT AS operations,
         coalesce(sum(CASE WHEN message_bytes < 9223372036854775808
                           THEN message_bytes::HUGEINT * operations END), 0)::HUGEINT AS message_bytes
  FROM cell_count JOIN member USING (cell) GROUP BY part),
rated AS (
  SELECT part, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM cell_time JOIN member USING (cell) GROUP BY part)
SELECT operation, communicator_type, run, processes, hosts, operations, message_bytes,
       message_bytes / processes::DOUBLE AS bytes_per_process, b.p50 AS busbw_gbs_p50,
       100 * message_bytes / nullif(first_value(message_bytes) OVER smallest_first, 0)::DOUBLE AS bytes_percent,
       100 * b.p50 / first_value(b.p50) OVER smallest_first AS p50_percent
FROM part JOIN counted USING (part) JOIN size USING (run) LEFT JOIN rated USING (part)
WINDOW smallest_first AS (PARTITION BY operation, communicator_type ORDER BY processes, run
                          ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
ORDER BY operation, communicator_type, processes, run
