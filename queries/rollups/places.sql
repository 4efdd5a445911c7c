-- Makes the places of a run anew from its communicators.
-- Variable: rollup_run.

DELETE FROM place WHERE run = getvariable('rollup_run');
INSERT INTO place
SELECT run_number, host, pid, global_rank, local_rank, communicators, basis
FROM place_by_communicators WHERE run_number = getvariable('rollup_run')
ORDER BY global_rank, host, pid;
