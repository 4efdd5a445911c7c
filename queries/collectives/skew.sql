-- Question: which rank makes the others wait?
-- Columns:
--   run, communicator, operation: operations are matched over ranks by communicator, operation and sequence
--     number; only those of which at least two ranks have a record
--   rank, host, global_rank: the rank in the communicator, and where it is
--   operations: matched operations with a record of this rank
--   lateness_us_mean, lateness_us_max: longest time of any rank in the operation minus the own time: the late
--     rank has the shortest time, the others wait for it. Intrinsic differences between ranks are in it too
--   lateness_percent: mean lateness as a percentage of the mean longest time
--   latest, latest_percent: operations in which no rank was later and some rank waited (ranks that are all alike
--     are nobody's lateness)
WITH place AS (
  SELECT communicator, rank, any_value(run) AS run, any_value(communicator_label) AS label,
         any_value(host) AS host, any_value(pid) AS pid
  FROM selected_rank GROUP BY communicator, rank)
SELECT place.run, place.label AS communicator, late.operation, late.rank, place.host, places.global_rank,
       late.operations, lateness_us_sum / late.operations::DOUBLE AS lateness_us_mean, lateness_us_max,
       100 * lateness_us_sum / longest_us_sum::DOUBLE AS lateness_percent, latest,
       100 * latest / late.operations::DOUBLE AS latest_percent
FROM rank_skew late JOIN place USING (communicator, rank)
LEFT JOIN places ON places.run = place.run AND places.host = place.host AND places.pid = place.pid
ORDER BY lateness_us_mean DESC, place.run, place.label, late.operation, late.rank
