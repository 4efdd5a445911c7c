-- Question: how many bytes did each operation move on each type of communicator?
-- Columns:
--   operation, communicator_type: what and where
--   operations, operations_percent: operation records (one operation of n ranks is n records)
--   message_bytes, message_bytes_percent: sum of message sizes over the records (sizes of unknown data
--     types left out)
--   exec_time_s, exec_time_percent: sum of execution times over the records, seconds
WITH counted AS (
  SELECT s.operation, s.communicator_type, sum(c.operations) AS operations,
         coalesce(sum(CASE WHEN c.message_bytes < 9223372036854775808
                           THEN c.message_bytes::HUGEINT * c.operations END), 0) AS message_bytes,
         sum(c.exec_time_us_sum) AS exec_time_us
  FROM cell_count c JOIN selected_cell s USING (cell)
  GROUP BY s.operation, s.communicator_type)
SELECT operation, communicator_type, operations::BIGINT AS operations,
       100 * operations / sum(operations) OVER ()::DOUBLE AS operations_percent,
       message_bytes::HUGEINT AS message_bytes,
       100 * message_bytes / nullif(sum(message_bytes) OVER (), 0)::DOUBLE AS message_bytes_percent,
       exec_time_us / 1e6::DOUBLE AS exec_time_s,
       100 * exec_time_us / nullif(sum(exec_time_us) OVER (), 0)::DOUBLE AS exec_time_percent
FROM counted
ORDER BY message_bytes DESC, operation, communicator_type
