-- Question: which operations ran on which kind of communicator, how much did they move, how fast?
-- Columns:
--   operation: AllReduce, AllGather … and Send, Recv (p2p)
--   communicator_type: single-rank, nvlink-only, nic-only or mixed
--   communicators, ranks: how many took part (ranks: communicator ranks)
--   operations: operation records; one operation of n ranks is n records
--   message_bytes: sum of message sizes over the records (sizes of unknown data types left out)
--   exec_time_us_mean, exec_time_us_max: execution time of a record, microseconds
--   busbw_gbs_mean, busbw_gbs_max: bus bandwidth of a record, GB/s (1e9); only records with a time,
--     a known operation and a known data type, of more than one rank
WITH part AS (
  SELECT row_number() OVER () AS part, operation, communicator_type, list(cell) AS members
  FROM selected_cell GROUP BY operation, communicator_type),
taking_part AS (
  SELECT operation, communicator_type, count(DISTINCT communicator) AS communicators, count(*) AS ranks
  FROM (SELECT DISTINCT operation, communicator_type, communicator, communicator_rank FROM selected_count)
  GROUP BY operation, communicator_type),
member AS (SELECT part, unnest(members) AS cell FROM part),
counted AS (
  SELECT part, sum(operations) AS operations,
         sum(CASE WHEN message_bytes < 9223372036854775808
                  THEN message_bytes::HUGEINT * operations END) AS message_bytes,
         sum(exec_time_us_sum) AS exec_time_us_sum, max(exec_time_us_max) AS exec_time_us_max
  FROM cell_count JOIN member USING (cell) GROUP BY part),
rated AS (
  SELECT part, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM cell_time JOIN member USING (cell) GROUP BY part)
SELECT operation, communicator_type, communicators, ranks, counted.operations::BIGINT AS operations,
       message_bytes::HUGEINT AS message_bytes,
       exec_time_us_sum::DOUBLE / counted.operations AS exec_time_us_mean, exec_time_us_max,
       b.mean AS busbw_gbs_mean, b.max AS busbw_gbs_max
FROM part JOIN counted USING (part) JOIN taking_part USING (operation, communicator_type)
LEFT JOIN rated USING (part)
ORDER BY message_bytes DESC NULLS LAST, operation, communicator_type
