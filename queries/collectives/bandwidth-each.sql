-- Question: how fast was each single operation, averaged over its ranks (the stock exporter's tables)?
-- Columns:
--   communicator_type, operation: one table of the stock exporter each (perf_summary_exporter.py; nic-only
--     is its hca-only)
--   run, communicator_id, sequence, message_bytes: the operation; that exporter groups by all but the run, as
--     it reads one
--   busbw_gbs_mean: mean bus bandwidth over the ranks' records as written, GB/s (1e9); also of single ranks
--   log_count: records of ranks
--   n_ranks, nnodes: of the communicator
--   first_dump_us, last_dump_us, dump_spread_us: when the records were written, microseconds
SELECT s.communicator_type, s.operation, s.run, s.communicator_id, r.sequence, r.message_bytes,
       avg(r.busbw_gbs) AS busbw_gbs_mean,
       count(*) AS log_count, any_value(s.n_ranks) AS n_ranks, any_value(s.nnodes) AS nnodes,
       min(r.dump_timestamp_us) AS first_dump_us, max(r.dump_timestamp_us) AS last_dump_us,
       max(r.dump_timestamp_us) - min(r.dump_timestamp_us) AS dump_spread_us
FROM selected_record r JOIN selected_series s USING (series)
WHERE s.kind = 'collective'
GROUP BY s.communicator_type, s.operation, s.run, s.communicator_id, r.sequence, r.message_bytes
ORDER BY s.communicator_type, s.operation, s.run, s.communicator_id, r.sequence, r.message_bytes
