-- The slots of the query over-time: operations by type, size and run, in bins of time from the run's first
-- dump on.
-- Variable: bin, seconds of a bin; a fiftieth of the run's time if it is not set.

CREATE TEMP TABLE slot AS
WITH span AS (
  SELECT run, min(try_cast(first_dump_timestamp_us AS BIGINT)) AS first_us,
         max(try_cast(last_dump_timestamp_us AS BIGINT)) AS last_us
  FROM selected_count GROUP BY run)
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, operation, communicator_type, message_bytes, run,
       any_value(first_us) AS origin,
       any_value(greatest(coalesce((getvariable('bin')::DOUBLE * 1e6)::BIGINT,
                                   (last_us - first_us) // 50 + 1), 1)) AS width,
       list(series) FILTER (is_regular) AS series,
       list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular
FROM selected_size JOIN span USING (run) WHERE rated
GROUP BY operation, communicator_type, message_bytes, run;
