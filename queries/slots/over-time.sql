-- The slots of the query over-time: operations by type, size and run, in bins of time from the run's first
-- dump on.
-- Variable: bin, seconds of a bin; a fiftieth of the run's time if it is not set.

CREATE TEMP TABLE slot AS
WITH by_size AS (
  SELECT operation, communicator_type, message_bytes, run, rated,
         list(series) FILTER (is_regular) AS series,
         list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular,
         min(greatest(first_dump_timestamp_us, getvariable('since_us')::BIGINT)) AS least_us,
         max(least(last_dump_timestamp_us, getvariable('until_us')::BIGINT - 1)) AS most_us
  FROM selected_size GROUP BY operation, communicator_type, message_bytes, run, rated),
spanned AS (
  SELECT *, min(least_us) OVER (PARTITION BY run) AS first_us, max(most_us) OVER (PARTITION BY run) AS last_us
  FROM by_size)
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, operation, communicator_type, message_bytes, run,
       first_us AS origin,
       greatest(coalesce((getvariable('bin')::DOUBLE * 1e6)::BIGINT, (last_us - first_us) // 50 + 1), 1) AS width,
       series, irregular
FROM spanned WHERE rated;
