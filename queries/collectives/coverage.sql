-- Question: how much of what happened do the records of a run cover, and what took the rest?
-- Parameters:
--   $1 run: name of a run, or NULL for all
-- Columns:
--   run: the job or recording
--   records: operation records in the store
--   ring_overwrite, sampled, gaps_lost, last_interval: operations known to be missing, by cause
--   filtered: operations below the producer's minimum size (not counted as missing)
--   missing_ranks, missing_rank_records: ranks without a file, and how many records those would have if
--     they were like the ranks that are there
--   lines_lost: lines that could not be read
--   *_ranks: on how many communicator ranks
--   coverage: records / (records + everything known to be missing)
WITH counted AS (
  SELECT f.run, sum(s.operations) + coalesce(any_value(i.n), 0) AS records
  FROM operation_series s JOIN source f ON f.source = s.source
  LEFT JOIN (SELECT f.run, count(*) AS n FROM operation_record_irregular r
             JOIN operation_series s USING (series) JOIN source f ON f.source = s.source
             GROUP BY f.run) i ON i.run = f.run
  GROUP BY f.run),
per_communicator AS (
  SELECT c.communicator, sum(s.operations) / any_value(k.ranks_seen) AS per_rank
  FROM operation_series s
  JOIN communicator_rank c ON c.communicator_rank = s.communicator_rank
  JOIN communicator k ON k.communicator = c.communicator
  GROUP BY c.communicator),
by_kind AS (
  SELECT l.run, l.kind, l.class, sum(l.count) AS count, count(DISTINCT l.communicator_rank) AS ranks,
         sum(l.count * p.per_rank) AS records
  FROM ingest_loss l
  LEFT JOIN per_communicator p ON p.communicator = CASE WHEN l.kind = 'missing_rank' THEN l.communicator END
  GROUP BY l.run, l.kind, l.class),
lost AS (
  SELECT run,
         sum(count) FILTER (kind = 'ring_overwrite') AS ring_overwrite,
         sum(ranks) FILTER (kind = 'ring_overwrite') AS ring_overwrite_ranks,
         sum(count) FILTER (kind = 'sampled_producer') AS sampled,
         sum(ranks) FILTER (kind = 'sampled_producer') AS sampled_ranks,
         sum(count) FILTER (kind = 'sequence_gap_lost') AS gaps_lost,
         sum(ranks) FILTER (kind = 'sequence_gap_lost') AS gaps_lost_ranks,
         sum(count) FILTER (kind = 'last_interval') AS last_interval,
         sum(ranks) FILTER (kind = 'last_interval') AS last_interval_ranks,
         sum(count) FILTER (kind = 'sequence_gap_filtered') AS filtered,
         sum(count) FILTER (kind = 'missing_rank') AS missing_ranks,
         sum(records) FILTER (kind = 'missing_rank') AS missing_rank_records,
         sum(count) FILTER (kind = 'empty_file') AS empty_files,
         sum(count) FILTER (class = 'line' AND kind <> 'blank_line') AS lines_lost
  FROM by_kind GROUP BY run)
SELECT u.name AS run, coalesce(counted.records, 0)::BIGINT AS records,
       least(coalesce(ring_overwrite, 0)::HUGEINT, 9223372036854775807)::BIGINT AS ring_overwrite, coalesce(ring_overwrite_ranks, 0)::BIGINT AS ring_overwrite_ranks,
       least(coalesce(sampled, 0)::HUGEINT, 9223372036854775807)::BIGINT AS sampled, coalesce(sampled_ranks, 0)::BIGINT AS sampled_ranks,
       least(coalesce(gaps_lost, 0)::HUGEINT, 9223372036854775807)::BIGINT AS gaps_lost, coalesce(gaps_lost_ranks, 0)::BIGINT AS gaps_lost_ranks,
       least(coalesce(last_interval, 0)::HUGEINT, 9223372036854775807)::BIGINT AS last_interval, coalesce(last_interval_ranks, 0)::BIGINT AS last_interval_ranks,
       least(coalesce(filtered, 0)::HUGEINT, 9223372036854775807)::BIGINT AS filtered,
       coalesce(missing_ranks, 0)::BIGINT AS missing_ranks,
       round(coalesce(missing_rank_records, 0))::BIGINT AS missing_rank_records,
       coalesce(empty_files, 0)::BIGINT AS empty_files,
       coalesce(lines_lost, 0)::BIGINT AS lines_lost,
       coalesce(counted.records, 0) / nullif(
         (coalesce(counted.records, 0) + coalesce(ring_overwrite, 0) + coalesce(sampled, 0)
          + coalesce(gaps_lost, 0) + coalesce(last_interval, 0) + coalesce(missing_rank_records, 0)
          + coalesce(lines_lost, 0))::DOUBLE, 0) AS coverage
FROM run u
LEFT JOIN counted ON counted.run = u.run
LEFT JOIN lost ON lost.run = u.run
WHERE ($1::VARCHAR IS NULL OR u.name = $1)
  AND EXISTS (SELECT 1 FROM source f WHERE f.run = u.run)
ORDER BY u.name, u.run
