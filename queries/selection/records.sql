-- The records of the selected series, each of them.
--   busbw_gbs: as written
--   traffic_bytes, bus_factor, rate_time_us: what busbw_summary() takes; a traffic of 0 is left out by it

CREATE TEMP VIEW selected_irregular AS
SELECT s.series, r.sequence, r.dump_timestamp_us, r.line,
       coalesce(r.message_bytes, s.message_bytes) AS message_bytes, r.exec_time_us,
       -- As a record of 1 us with the bandwidth that was written.
       CASE WHEN s.rated AND r.exec_time_us > 0 AND r.busbw_gbs > 0 AND isfinite(r.busbw_gbs)
                 AND coalesce(r.message_bytes, 0) < 9223372036854775808
            THEN r.busbw_gbs * 1000 ELSE 0 END AS traffic_bytes,
       1::DOUBLE AS bus_factor, 1::UINTEGER AS rate_time_us, r.busbw_gbs,
       s.run, s.communicator_type, s.n_ranks, s.nnodes, s.kind, s.operation, s.algorithm, s.protocol, s.rated,
       s.message_bytes AS series_bytes, s.traffic_bytes AS series_traffic_bytes,
       s.bus_factor AS series_bus_factor, s.communicator, s.communicator_rank
FROM operation_record_irregular r JOIN selected_series s ON s.series = r.series
WHERE is_selected_size(coalesce(r.message_bytes, s.message_bytes))
  AND is_selected_time(r.dump_timestamp_us);

-- Series by message size: those of irregular records once more, for each size of theirs, with the times of
-- these.
CREATE TEMP VIEW selected_size AS
SELECT *, true AS is_regular FROM selected_series WHERE regular_operations > 0
UNION ALL
SELECT s.* REPLACE (r.message_bytes AS message_bytes, r.first_us AS first_dump_timestamp_us,
                    r.last_us AS last_dump_timestamp_us), false
FROM (SELECT series, message_bytes, try_cast(min(dump_timestamp_us) AS BIGINT) AS first_us,
             try_cast(max(dump_timestamp_us) AS BIGINT) AS last_us
      FROM selected_irregular GROUP BY series, message_bytes) r
JOIN selected_series s ON s.series = r.series;

CREATE TEMP VIEW selected_record AS
SELECT s.series, (r.record.sequence_key + b.sequence_offset)::UBIGINT AS sequence,
       (r.record.timestamp_key + b.timestamp_offset_us)::UBIGINT AS dump_timestamp_us,
       (r.record.line_key + b.line_offset)::UBIGINT AS line, s.message_bytes,
       r.record.exec_time_us::UBIGINT AS exec_time_us, s.traffic_bytes, s.bus_factor,
       r.record.exec_time_us AS rate_time_us,
       CASE WHEN r.record.exec_time_us = 0 THEN 0
            ELSE round(s.written_traffic_bytes / 1e9::DOUBLE / (r.record.exec_time_us / 1e6::DOUBLE) * s.bus_factor, 6)
            END AS busbw_gbs
FROM operation_record r
JOIN operation_block b ON b.block = r.block
JOIN selected_series s ON s.series = b.series
WHERE is_selected_time(r.record.timestamp_key + b.timestamp_offset_us)
UNION ALL
SELECT series, sequence, dump_timestamp_us, line, message_bytes, exec_time_us, traffic_bytes, bus_factor,
       rate_time_us, busbw_gbs
FROM selected_irregular;
