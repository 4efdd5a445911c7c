-- Question: which lines of logs belong to a request, or to a step?
-- Parameters:
--   $1 run: name of a run, or NULL for all
--   $2 request: id of a request, or NULL
--   $3 step: number of a step in the store (`telltale steps`), or NULL
-- Columns:
--   time_ns: since 1970 by the clock of the line's host; of the line before where it has none
--   level, process, host, rank: as its prefix says
--   basis: id where the line names the request; window where it was written in the same time
--   order: during; or uncertain where seconds are not divided or clocks not known well enough to tell
--   requests: of a window, how many requests were there at that time: the line may be of any of them
--   text: the line without its prefix
--   path, line: where it stands
WITH wanted AS (
  SELECT r.* FROM request r JOIN run u ON u.run = r.run
  WHERE $2::VARCHAR IS NOT NULL AND r.name = $2 AND ($1::VARCHAR IS NULL OR u.name = $1)),
span_of AS (
  SELECT run, host, arrival_ns AS from_ns, coalesce(end_ns, 9223372036854775807) AS to_ns, time_error_ns AS error_ns
  FROM wanted WHERE arrival_ns IS NOT NULL
  UNION ALL
  SELECT run, host, start_ns, start_ns + coalesce(duration_ns, 0), 0 FROM step
  WHERE $3::BIGINT IS NOT NULL AND step = $3 AND start_ns IS NOT NULL),
-- Offsets of hosts against their reference, in the middle of the time that is known.
clock AS (
  SELECT run, host, any_value(offset_ns) AS offset_ns, max(error_ns) AS error_ns FROM host_clock
  WHERE error_ns IS NOT NULL GROUP BY run, host),
lines AS (
  SELECT f.run, f.path, l.line, l.source, l.time_ns, l.level, l.text, p.host, p.name AS process, p.rank,
         -- A line of whole seconds was written in that second.
         CASE WHEN l.time_ns % 1000000000 = 0 THEN 999999999 ELSE 999999 END AS width_ns
  FROM log_line l
  JOIN source f ON f.source = l.source
  LEFT JOIN log_process p ON p.log_process = l.log_process
  WHERE f.run IN (SELECT run FROM wanted UNION SELECT run FROM step WHERE step = $3) AND l.time_basis IN (1, 2)),
-- The id, or what an engine made of it, and not another id that begins with it.
by_id AS (
  SELECT DISTINCT l.source, l.line FROM lines l JOIN wanted w ON w.run = l.run AND contains(l.text, w.name)
  WHERE NOT regexp_matches(substr(l.text, strpos(l.text, w.name) + length(w.name), 1), '[0-9A-Za-z_]')),
in_time AS (
  SELECT l.source, l.line,
         bool_or(l.time_ns - coalesce(c.offset_ns, 0) + coalesce(d.offset_ns, 0)
                   - coalesce(c.error_ns, 0) - coalesce(d.error_ns, 0) >= s.from_ns + s.error_ns
                 AND l.time_ns + l.width_ns - coalesce(c.offset_ns, 0) + coalesce(d.offset_ns, 0)
                   + coalesce(c.error_ns, 0) + coalesce(d.error_ns, 0) <= s.to_ns) AS is_during
  FROM lines l
  JOIN span_of s ON s.run = l.run
  LEFT JOIN clock c ON c.run = l.run AND c.host = l.host AND l.host IS DISTINCT FROM s.host
  LEFT JOIN clock d ON d.run = l.run AND d.host = s.host AND l.host IS NOT NULL AND l.host <> s.host
  WHERE l.time_ns + l.width_ns - coalesce(c.offset_ns, 0) + coalesce(d.offset_ns, 0)
          + coalesce(c.error_ns, 0) + coalesce(d.error_ns, 0) >= s.from_ns
    AND l.time_ns - coalesce(c.offset_ns, 0) + coalesce(d.offset_ns, 0)
          - coalesce(c.error_ns, 0) - coalesce(d.error_ns, 0) <= CASE WHEN s.to_ns > 9223372036854775807 - s.error_ns
                                                                      THEN s.to_ns ELSE s.to_ns + s.error_ns END
  GROUP BY l.source, l.line)
SELECT l.time_ns, CASE l.level WHEN 1 THEN 'debug' WHEN 2 THEN 'info' WHEN 3 THEN 'warning' WHEN 4 THEN 'error'
                               WHEN 5 THEN 'critical' END AS level,
       l.process, l.host, l.rank, CASE WHEN i.line IS NOT NULL THEN 'id' ELSE 'window' END AS basis,
       CASE WHEN t.is_during THEN 'during' ELSE 'uncertain' END AS "order",
       CASE WHEN i.line IS NULL THEN
         (SELECT count(*) FROM request r WHERE r.run = l.run AND r.arrival_ns <= l.time_ns + l.width_ns
            AND (r.end_ns IS NULL OR r.end_ns + r.time_error_ns >= l.time_ns)) END AS requests,
       l.text, l.path, l.line
FROM lines l
LEFT JOIN by_id i ON i.source = l.source AND i.line = l.line
LEFT JOIN in_time t ON t.source = l.source AND t.line = l.line
WHERE i.line IS NOT NULL OR t.line IS NOT NULL
ORDER BY l.time_ns, l.source, l.line
