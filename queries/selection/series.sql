-- What a question is about: the operation series that its filters leave, with all that describes them.
-- Every query of queries/collectives starts from the temporary table selected_series. Filters are
-- session variables (SET VARIABLE); one that is not set leaves everything in.
--   only_run, only_operation, only_communicator, only_type, only_host: lists of names
--   only_rank: list of ranks in a communicator
--   least_bytes, most_bytes: message size

CREATE TEMP TABLE selected_rank AS
WITH described AS (
  SELECT c.communicator_rank, c.source, f.run AS run_number, u.name AS run, c.process, p.host, p.pid,
         c.communicator, c.id AS communicator_id, nullif(c.name, 'unknown') AS communicator_name,
         coalesce(nullif(c.name, 'unknown'), c.id) AS communicator_label,
         c.rank, c.n_ranks, c.nnodes,
         coalesce(k.type, 'unknown') AS communicator_type
  FROM communicator_rank c
  JOIN process p ON p.process = c.process
  JOIN source f ON f.source = c.source
  JOIN run u ON u.run = f.run
  LEFT JOIN selected_type k ON k.communicator = c.communicator)
SELECT * FROM described
WHERE (getvariable('only_run') IS NULL OR list_contains(getvariable('only_run'), run))
  AND (getvariable('only_communicator') IS NULL
       OR list_contains(getvariable('only_communicator'), communicator_name)
       OR list_contains(getvariable('only_communicator'), communicator_id))
  AND (getvariable('only_type') IS NULL OR list_contains(getvariable('only_type'), communicator_type))
  AND (getvariable('only_host') IS NULL OR list_contains(getvariable('only_host'), host)
       OR list_contains(getvariable('only_host'), split_part(host, '.', 1)))
  AND (getvariable('only_rank') IS NULL OR list_contains(getvariable('only_rank'), rank));

-- `rated`: its records count in bandwidth statistics, for which there must be more than one rank, a known
-- operation and a known data type (NCCL writes 2^64 - n for unknown ones).
CREATE TEMP TABLE selected_series AS
SELECT s.series, s.kind, s.operation, s.peer, s.message_bytes, s.algorithm, s.protocol, s.timing_source,
       s.operations AS regular_operations, s.exec_time_us_sum, s.exec_time_us_min, s.exec_time_us_max,
       s.first_dump_timestamp_us, s.last_dump_timestamp_us,
       r.* EXCLUDE (source),
       r.n_ranks > 1 AND s.operation <> 'Invalid'
         AND coalesce(s.message_bytes < 9223372036854775808, true) AS rated,
       s.traffic_bytes AS written_traffic_bytes,
       CASE WHEN rated THEN s.traffic_bytes ELSE 0 END AS traffic_bytes, s.bus_factor
FROM operation_series s JOIN selected_rank r ON r.communicator_rank = s.communicator_rank
WHERE (getvariable('only_operation') IS NULL
       OR list_contains(getvariable('only_operation'), lower(s.operation)))
  AND (s.message_bytes IS NULL
       OR (coalesce(s.message_bytes >= getvariable('least_bytes')::UBIGINT, true)
           AND coalesce(s.message_bytes <= getvariable('most_bytes')::UBIGINT, true)));
