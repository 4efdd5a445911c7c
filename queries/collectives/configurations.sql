-- Question: which communicator shapes run which operations at which sizes, and how often?
-- Columns:
--   n_ranks, nnodes, operation: the configuration
--   message_bytes: message size
--   operations, operations_percent: operation records
--   log10_operations: their decimal logarithm, for a heat map (drawn as one on a terminal)
SELECT s.n_ranks, s.nnodes, s.operation, c.message_bytes, sum(c.operations)::BIGINT AS operations,
       100 * sum(c.operations) / sum(sum(c.operations)) OVER ()::DOUBLE AS operations_percent,
       log10(sum(c.operations)) AS log10_operations
FROM cell_count c JOIN selected_cell s USING (cell)
GROUP BY s.n_ranks, s.nnodes, s.operation, c.message_bytes
ORDER BY s.n_ranks DESC, s.nnodes DESC, s.operation, c.message_bytes
