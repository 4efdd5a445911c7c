-- The slots of the query p2p: sends and receives by source and destination.

CREATE TEMP TABLE slot AS
SELECT (row_number() OVER () - 1)::UINTEGER AS slot, run, communicator,
       any_value(communicator_label) AS communicator_label, operation,
       CASE WHEN operation = 'Send' THEN rank ELSE peer END AS source,
       CASE WHEN operation = 'Send' THEN peer ELSE rank END AS destination,
       0::BIGINT AS origin, 1::BIGINT AS width,
       list(series) AS members,
       list(series) FILTER (is_regular AND rated) AS series,
       list({'series': series, 'message_bytes': message_bytes}) FILTER (NOT is_regular) AS irregular
FROM selected_size WHERE kind = 'p2p' AND operation IN ('Send', 'Recv')
GROUP BY run, communicator, operation, source, destination;
