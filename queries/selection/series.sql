-- What a question is about: the operation series that its filters leave, with all that describes them.
-- Every query of queries/collectives starts from selected_series, or from the cells of cells.sql.

CREATE TEMP VIEW selected_rank AS
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
WHERE is_selected_run(run)
  AND (getvariable('only_communicator') IS NULL
       OR list_contains(getvariable('only_communicator'), communicator_name)
       OR list_contains(getvariable('only_communicator'), communicator_id))
  AND is_selected_type(communicator_type)
  AND (getvariable('only_host') IS NULL OR list_contains(getvariable('only_host'), host)
       OR list_contains(getvariable('only_host'), split_part(host, '.', 1)))
  AND (getvariable('only_rank') IS NULL OR list_contains(getvariable('only_rank'), rank));

CREATE TEMP VIEW selected_series AS
SELECT s.series, s.kind, s.operation, s.peer, s.message_bytes, s.algorithm, s.protocol, s.timing_source,
       s.operations AS regular_operations, s.exec_time_us_sum, s.exec_time_us_min, s.exec_time_us_max,
       s.first_sequence, s.last_sequence, s.first_dump_timestamp_us, s.last_dump_timestamp_us,
       r.* EXCLUDE (source),
       is_rated(r.n_ranks, s.operation, s.message_bytes) AS rated,
       s.traffic_bytes AS written_traffic_bytes,
       CASE WHEN rated THEN s.traffic_bytes ELSE 0 END AS traffic_bytes, s.bus_factor
FROM operation_series s JOIN selected_rank r ON r.communicator_rank = s.communicator_rank
WHERE is_selected_operation(s.operation) AND (s.message_bytes IS NULL OR is_selected_size(s.message_bytes));
