-- Lateness of ranks from the records as they are: the reference for MakeRankSkew(), and its way where
-- sequence numbers are too far apart for arrays.

CREATE OR REPLACE TEMP TABLE skew_by_records AS
WITH record AS (
  SELECT s.communicator, s.operation, r.sequence, s.rank, max(r.exec_time_us) AS exec_time_us
  FROM selected_record r
  JOIN (SELECT series, communicator, operation, rank FROM selected_series
        WHERE kind = 'collective' AND n_ranks > 1 AND communicator IS NOT NULL) s USING (series)
  WHERE r.exec_time_us > 0
  GROUP BY s.communicator, s.operation, r.sequence, s.rank),
matched AS (
  SELECT communicator, operation, sequence, max(exec_time_us) AS longest, min(exec_time_us) AS shortest
  FROM record GROUP BY communicator, operation, sequence HAVING count(*) > 1)
SELECT r.communicator::BIGINT AS communicator, r.operation, r.rank, count(*)::UBIGINT AS operations,
       sum(m.longest - r.exec_time_us)::HUGEINT AS lateness_us_sum,
       max(m.longest - r.exec_time_us)::UBIGINT AS lateness_us_max, sum(m.longest)::HUGEINT AS longest_us_sum,
       count(*) FILTER (r.exec_time_us = m.shortest AND m.longest > m.shortest)::UBIGINT AS latest
FROM record r JOIN matched m USING (communicator, operation, sequence)
GROUP BY r.communicator, r.operation, r.rank;

CREATE OR REPLACE TEMP VIEW rank_skew AS FROM skew_by_records;
