-- The slots of the query by-host: hosts by operation, type and size.

CREATE TEMP TABLE slot AS
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, operation, communicator_type, message_bytes, run, host,
       0::BIGINT AS origin, 1::BIGINT AS width,
       list(series) FILTER (is_regular) AS series,
       list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular
FROM selected_size WHERE rated
GROUP BY operation, communicator_type, message_bytes, run, host;
