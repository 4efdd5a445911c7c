-- Question: what is missing or odd, where, and what does it do to answers?
-- Parameters:
--   $1 run: name of a run, or NULL for all
--   $2 class: line, operation or note, or NULL for all
-- Columns:
--   run: the job or recording
--   class: line (lines of a file that are not rows), operation (operations without a record), note
--   kind: what it is
--   source: the file, where the loss has one
--   communicator: its name, or its id where it has no name
--   rank: rank in the communicator
--   operation: the collective, where it is of one
--   count: lines, operations or ranks
--   first_position: first line (class line, note) or first sequence number (class operation)
--   detail: more about it
SELECT u.name AS run, l.class, l.kind, s.path AS source,
       coalesce(nullif(k.name, 'unknown'), k.id, nullif(c.name, 'unknown'), c.id) AS communicator,
       c.rank, l.operation, l.count, l.first_position, l.detail
FROM ingest_loss l
JOIN run u ON u.run = l.run
LEFT JOIN source s ON s.source = l.source
LEFT JOIN communicator_rank c ON c.communicator_rank = l.communicator_rank
LEFT JOIN communicator k ON k.communicator = coalesce(l.communicator, c.communicator)
WHERE ($1::VARCHAR IS NULL OR u.name = $1) AND ($2::VARCHAR IS NULL OR l.class = $2)
ORDER BY CASE l.class WHEN 'line' THEN 0 WHEN 'operation' THEN 1 ELSE 2 END, u.name, l.kind,
         s.path NULLS FIRST, communicator, c.rank, l.operation, l.first_position, l.detail
