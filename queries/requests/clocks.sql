-- Question: how far apart are the clocks of the hosts, and how well is that known?
-- Parameters:
--   $1 run: name of a run, or NULL for all
-- Columns:
--   run, host, reference_host: whose clock is taken as the measure
--   offset_ns: how far the host's clock was ahead at reference_time_ns; negative: behind
--   error_ns: the true offset lies within this of offset + drift, at any time that the run's evidence covers
--   drift_ppb: nanoseconds that the offset grows in each second
--   reference_time_ns: since 1970, by the reference's clock
--   operations: collectives seen on both sides that it rests on
--   contradictions: of them, those that were left out because they cannot be true together with the others
--   basis: collectives; anchor (only the reports' own times in UTC: a second is allowed for, not measured); contradictory
--     (without a bound); none for a host alone
SELECT u.name AS run, c.host, c.reference_host, c.offset_ns, c.error_ns, c.drift_ppb, c.reference_time_ns, c.operations,
       c.contradictions, c.basis
FROM host_clock c JOIN run u ON u.run = c.run
WHERE $1::VARCHAR IS NULL OR u.name = $1
ORDER BY u.name, c.host, c.reference_time_ns
