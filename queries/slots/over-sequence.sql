-- The slots of the query over-sequence: operations by type, size and run, in bins of sequence numbers.
-- Variable: bin, sequence numbers in a bin.

CREATE TEMP TABLE slot AS
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, operation, communicator_type, message_bytes, run,
       0::BIGINT AS origin, greatest(coalesce(getvariable('bin')::BIGINT, 50), 1) AS width,
       list(series) FILTER (is_regular) AS series,
       list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular
FROM selected_size WHERE rated
GROUP BY operation, communicator_type, message_bytes, run;
