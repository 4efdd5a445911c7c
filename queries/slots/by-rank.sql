-- The slots of the query by-rank: ranks of communicators by operation and size.

CREATE TEMP TABLE slot AS
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, operation, communicator_type, message_bytes, run, communicator, rank,
       any_value(communicator_label) AS communicator_label, any_value(host) AS host, any_value(pid) AS pid,
       0::BIGINT AS origin, 1::BIGINT AS width,
       list(series) FILTER (is_regular) AS series,
       list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular
FROM selected_size WHERE rated
GROUP BY operation, communicator_type, message_bytes, run, communicator, rank;
