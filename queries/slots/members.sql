-- What RateSlots() reads, from the table slot that the file of the query has made:
--   slot: number, and what it stands for; origin, width: its bins, where it has some
--   series: list of series whose regular records belong to it
--   irregular: list of {series, message_bytes} whose irregular records do

CREATE TEMP VIEW slot_series AS
SELECT m.series::UINTEGER AS series, m.slot, s.traffic_bytes, s.bus_factor, m.origin, m.width
FROM (SELECT slot, origin, width, unnest(series) AS series FROM slot) m
JOIN operation_series s ON s.series = m.series;

CREATE TEMP VIEW slot_irregular AS
SELECT m.slot, m.origin, m.width, try_cast(r.dump_timestamp_us AS BIGINT) AS dump_timestamp_us,
       try_cast(r.sequence AS BIGINT) AS sequence, r.traffic_bytes, r.bus_factor, r.rate_time_us
FROM (SELECT slot, origin, width, unnest(irregular) AS member FROM slot) m
JOIN selected_irregular r
  ON r.series = m.member.series AND r.message_bytes IS NOT DISTINCT FROM m.member.message_bytes;
