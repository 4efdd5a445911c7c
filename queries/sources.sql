-- Question: what was read, and how much of each source became rows?
-- Columns:
--   run: the job or recording
--   path: the file as it was found
--   format, format_version, compression: what the file is
--   size_bytes: of the file as it lies (compressed)
--   records: lines of the file
--   rows: lines that are rows of the store
--   lost_records: lines that are not, counted by kind in `telltale losses`
--   first_dump, last_dump: when the producer wrote its first and last record (UTC, its host's clock)
SELECT u.name AS run, s.path, s.format, s.format_version, s.compression, s.size_bytes,
       s.lines AS records, s.rows, s.lines - s.rows AS lost_records,
       make_timestamp(s.first_dump_timestamp_us) AS first_dump,
       make_timestamp(s.last_dump_timestamp_us) AS last_dump, s.damage
FROM source s JOIN run u ON u.run = s.run
ORDER BY u.name, s.path, s.source
