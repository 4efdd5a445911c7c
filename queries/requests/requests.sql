-- Question: which requests were there, how long did they take, and which steps worked for them?
-- Parameters:
--   $1 run: name of a run, or NULL for all
--   $2 request: id of a request or how it begins, or NULL for all
--   $3 exact: true where $2 is the whole id
-- Columns:
--   run, request: its id, as the client or the server named it
--   engine, status: finished, aborted, failed; NULL where nothing tells of its end
--   arrival_ns, first_token_ns, end_ns: since 1970, by the clock of the host that served it
--   time_error_ns: these may be later by up to this (logs of whole seconds)
--   prompt_tokens, output_tokens: as the engine counted them
--   certain_steps, possible_steps: steps that worked for it (basis id or exact), and that may have (window)
--   basis: of its relation to steps: id, exact, window, or several
--   steps: numbers of the certain steps of the first rank, in the order of time
--   sources: what tells of it: span, log, capture
WITH chosen AS (
  SELECT r.*, u.name AS run_name
  FROM request r JOIN run u ON u.run = r.run
  WHERE ($1::VARCHAR IS NULL OR u.name = $1) AND ($2::VARCHAR IS NULL OR CASE WHEN $3::BOOLEAN THEN r.name = $2 ELSE starts_with(r.name, $2) END)),
first_rank AS (
  SELECT run, trace_process FROM step WHERE trace_process IS NOT NULL
  GROUP BY run, trace_process
  QUALIFY row_number() OVER (PARTITION BY run ORDER BY min(coalesce(rank, 0)), trace_process) = 1),
related AS (
  SELECT q.request, count(*) FILTER (q.basis <> 'window') AS certain_steps,
         count(*) FILTER (q.basis = 'window') AS possible_steps,
         string_agg(DISTINCT q.basis, ', ' ORDER BY q.basis) AS basis,
         '[' || coalesce(string_agg(s.step::VARCHAR, ',' ORDER BY s.start_ns) FILTER (q.basis <> 'window'), '') || ']'
           AS steps
  FROM step_request q
  JOIN chosen c ON c.request = q.request
  JOIN step s ON s.step = q.step
  JOIN first_rank f ON f.run = s.run AND f.trace_process = s.trace_process
  GROUP BY q.request)
SELECT c.run_name AS run, c.name AS request, c.engine, c.status, c.arrival_ns, c.first_token_ns, c.end_ns,
       c.time_error_ns, c.prompt_tokens, c.output_tokens, coalesce(r.certain_steps, 0) AS certain_steps,
       coalesce(r.possible_steps, 0) AS possible_steps, r.basis, coalesce(r.steps, '[]') AS steps, c.sources
FROM chosen c LEFT JOIN related r ON r.request = c.request
ORDER BY c.run_name, c.arrival_ns, c.request
