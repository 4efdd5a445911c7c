-- What records.sql defines, for a store without irregular records: nothing is joined for them, and plans are
-- half as long to make.

CREATE TEMP VIEW selected_irregular AS
SELECT NULL::INTEGER AS series, NULL::UBIGINT AS sequence, NULL::UBIGINT AS dump_timestamp_us,
       NULL::UBIGINT AS line, NULL::UBIGINT AS message_bytes, NULL::UBIGINT AS exec_time_us,
       NULL::DOUBLE AS traffic_bytes, NULL::DOUBLE AS bus_factor, NULL::UINTEGER AS rate_time_us,
       NULL::DOUBLE AS busbw_gbs, NULL::VARCHAR AS run, NULL::VARCHAR AS communicator_type,
       NULL::BIGINT AS n_ranks, NULL::UBIGINT AS nnodes, NULL::VARCHAR AS kind, NULL::VARCHAR AS operation,
       NULL::VARCHAR AS algorithm, NULL::VARCHAR AS protocol, NULL::BOOLEAN AS rated,
       NULL::UBIGINT AS series_bytes, NULL::DOUBLE AS series_traffic_bytes, NULL::DOUBLE AS series_bus_factor,
       NULL::INTEGER AS communicator, NULL::INTEGER AS communicator_rank
WHERE false;

CREATE TEMP VIEW selected_size AS
SELECT *, true AS is_regular FROM selected_series WHERE regular_operations > 0;
