-- Question: how long do small messages take?
-- Parameters:
--   $1 bytes: largest message that counts as small, 65536 or 64K; 65536 if not given
-- Columns:
--   operation, communicator_type: what is compared
--   exec_time_us: an execution time, microseconds; the smallest times at which another percent is reached
--   operations, operations_percent: records (of all small sizes) that took at most as long; left out are
--     single ranks, "Invalid" operations, unknown data types and times of 0
WITH counted AS (
  SELECT s.operation, s.communicator_type, t.exec_time_us, sum(t.operations)::BIGINT AS n
  FROM cell_time t JOIN selected_cell s USING (cell)
  WHERE s.rated AND (s.message_bytes IS NULL OR s.message_bytes <= coalesce($1::UBIGINT, 65536))
    AND t.message_bytes <= coalesce($1::UBIGINT, 65536) AND t.exec_time_us > 0
  GROUP BY ALL),
risen AS (
  SELECT operation, communicator_type, exec_time_us,
         sum(n) OVER (PARTITION BY operation, communicator_type ORDER BY exec_time_us)::BIGINT AS operations,
         sum(n) OVER (PARTITION BY operation, communicator_type)::BIGINT AS total
  FROM counted)
SELECT operation, communicator_type, exec_time_us, operations, 100 * operations / total::DOUBLE AS operations_percent
FROM risen
QUALIFY row_number() OVER (PARTITION BY operation, communicator_type, (100 * operations) // total
                           ORDER BY exec_time_us) = 1
ORDER BY operation, communicator_type, exec_time_us
