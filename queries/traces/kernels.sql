-- Question: which GPU kernels take the time?
-- Parameters:
--   $1 run: name of a run, or NULL for all
--   $2 rank: global rank, or NULL for all
--   $3 memory: true counts copies and memsets too
-- Columns:
--   name, kind: of the kernel, as the profiler writes it
--   calls: how often it ran
--   total_ns: sum of its durations, nanoseconds (kernels that ran at once count each)
--   percent: of the sum over all kernels
--   mean_ns, p50_ns, min_ns, max_ns: of its durations
--   launch_delay_p50_ns: median time from the start of its launch call to its start; NULL where no launch is known
WITH chosen AS (
  SELECT t.track
  FROM track t
  JOIN trace_process p ON p.trace_process = t.trace_process
  JOIN source f ON f.source = t.source
  JOIN run u ON u.run = f.run
  WHERE t.kind = 'stream' AND ($1::VARCHAR IS NULL OR u.name = $1)
    AND ($2::BIGINT IS NULL OR p.rank = $2)),
work AS (
  SELECT n.text AS name, k.name AS kind, e.start_ns, greatest(e.duration_ns, 0) AS duration_ns, e.parent,
         e.parent_basis
  FROM event e
  JOIN chosen ON chosen.track = e.track
  JOIN event_kind k ON k.kind = e.kind
  JOIN event_name n ON n.name = e.name
  WHERE k.name IN ('kernel', 'graph') OR ($3::BOOLEAN AND k.name IN ('memcpy', 'memset')))
SELECT work.name, any_value(work.kind) AS kind, count(*) AS calls, sum(work.duration_ns)::BIGINT AS total_ns,
       100 * sum(work.duration_ns) / sum(sum(work.duration_ns)) OVER () AS percent,
       round(avg(work.duration_ns))::BIGINT AS mean_ns, round(median(work.duration_ns))::BIGINT AS p50_ns,
       min(work.duration_ns) AS min_ns, max(work.duration_ns) AS max_ns,
       round(median(work.start_ns - launch.start_ns))::BIGINT AS launch_delay_p50_ns
-- One equality, or DuckDB may take the cross product of both.
FROM work
LEFT JOIN event launch ON launch.event = CASE WHEN work.parent_basis = 2 AND work.parent >= 0 THEN work.parent END
GROUP BY work.name, work.kind
ORDER BY total_ns DESC, work.name
