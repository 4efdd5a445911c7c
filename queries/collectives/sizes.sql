-- Question: which message sizes carry the bytes?
-- Parameters:
--   $1 rows: how many sizes, those with the most bytes first; 20 if not given
-- Columns:
--   operation, communicator_type, message_bytes: the operation and its message size
--   operations, operations_percent: operation records, of all that the filters leave
--   total_bytes, total_bytes_percent: message size times records
--   cumulative_percent: bytes of this row and those above
WITH counted AS (
  SELECT s.operation, s.communicator_type, c.message_bytes, sum(c.operations) AS operations,
         CASE WHEN c.message_bytes < 9223372036854775808
              THEN c.message_bytes::HUGEINT * sum(c.operations) ELSE 0 END AS total_bytes
  FROM cell_count c JOIN selected_cell s USING (cell)
  GROUP BY s.operation, s.communicator_type, c.message_bytes),
shared AS (
  SELECT *, 100 * operations / sum(operations) OVER ()::DOUBLE AS operations_percent,
         100 * total_bytes / nullif(sum(total_bytes) OVER (), 0)::DOUBLE AS total_bytes_percent,
         row_number() OVER (ORDER BY total_bytes DESC, operation, communicator_type, message_bytes) AS place
  FROM counted)
SELECT operation, communicator_type, message_bytes, operations::BIGINT AS operations, operations_percent,
       total_bytes::HUGEINT AS total_bytes, total_bytes_percent,
       sum(total_bytes_percent) OVER (ORDER BY place) AS cumulative_percent
FROM shared
QUALIFY place <= coalesce($1::BIGINT, 20)
ORDER BY place
