-- Question: where did each process run, and which rank of the whole job is it?
-- Columns:
--   run, host, pid: the process
--   global_rank: rank in the largest communicator that has all processes of the run; NULL where there is none
--   local_rank: number of the process on its host by global rank: the GPU, where processes take them in order
--   communicators: in how many it is
--   basis: what the global rank rests on
SELECT p.run, p.host, p.pid, p.global_rank, p.local_rank, p.communicators, p.basis
FROM places p
WHERE EXISTS (SELECT 1 FROM selected_rank r WHERE r.run = p.run AND r.host IS NOT DISTINCT FROM p.host
              AND r.pid IS NOT DISTINCT FROM p.pid)
ORDER BY p.run, p.global_rank, p.host, p.pid
