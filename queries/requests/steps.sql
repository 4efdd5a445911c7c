-- Question: which steps did the engine or the training make, and for which requests?
-- Parameters:
--   $1 run: name of a run, or NULL for all
--   $2 request: id of a request: only steps that worked, or may have worked, for it; NULL for all
--   $3 rank: global rank, or NULL for all
-- Columns:
--   run, step: its number in the store
--   rank, host, number: place in the order of its process, or the number that the step names
--   engine, phase: prefill, decode, mixed or train
--   start_ns, duration_ns: by the clock of its host
--   context_requests, context_tokens, generation_requests, generation_tokens: its batch, as the engine says it
--   requests, candidates: how many requests are known to be in it, and how many may be
--   basis, share: of the request asked for: id, exact or window; its part of the step's tokens
--   event: the range of the profile (telltale chain takes it as its event); NULL where only a log tells of the step
WITH wanted AS (
  SELECT r.request FROM request r JOIN run u ON u.run = r.run
  WHERE $2::VARCHAR IS NOT NULL AND r.name = $2 AND ($1::VARCHAR IS NULL OR u.name = $1)),
related AS (
  SELECT q.step, count(*) FILTER (q.basis <> 'window') AS requests, count(*) FILTER (q.basis = 'window') AS candidates,
         min(q.basis) FILTER (q.request IN (SELECT request FROM wanted)) AS basis,
         sum(q.share) FILTER (q.request IN (SELECT request FROM wanted)) AS share,
         bool_or(q.request IN (SELECT request FROM wanted)) AS is_wanted
  FROM step_request q GROUP BY q.step)
SELECT u.name AS run, s.step, s.rank, s.host, s.number, s.engine, s.phase, s.start_ns, s.duration_ns,
       s.context_requests, s.context_tokens, s.generation_requests, s.generation_tokens,
       coalesce(r.requests, 0) AS requests, coalesce(r.candidates, 0) AS candidates, r.basis, r.share, s.event
FROM step s
JOIN run u ON u.run = s.run
LEFT JOIN related r ON r.step = s.step
WHERE ($1::VARCHAR IS NULL OR u.name = $1) AND ($2::VARCHAR IS NULL OR r.is_wanted)
  AND ($3::BIGINT IS NULL OR s.rank = $3)
ORDER BY u.name, s.start_ns, s.rank, s.step
