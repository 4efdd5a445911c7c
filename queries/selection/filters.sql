-- What the filters of `telltale collectives` leave in. They are session variables (SET VARIABLE); one that
-- is not set leaves everything in.
--   only_run, only_operation, only_communicator, only_type, only_host: lists of names
--   only_rank: list of ranks in a communicator
--   least_bytes, most_bytes: message size
--   since_us, until_us: time of the dump, microseconds

CREATE TEMP MACRO is_selected_run(run) AS
  getvariable('only_run') IS NULL OR list_contains(getvariable('only_run'), run);

CREATE TEMP MACRO is_selected_type(type) AS
  getvariable('only_type') IS NULL OR list_contains(getvariable('only_type'), type);

CREATE TEMP MACRO is_selected_operation(operation) AS
  getvariable('only_operation') IS NULL OR list_contains(getvariable('only_operation'), lower(operation));

CREATE TEMP MACRO is_selected_size(bytes) AS
  coalesce(bytes >= getvariable('least_bytes')::UBIGINT, true)
  AND coalesce(bytes <= getvariable('most_bytes')::UBIGINT, true);

CREATE TEMP MACRO is_selected_time(dump_us) AS
  coalesce(dump_us >= getvariable('since_us')::BIGINT, true)
  AND coalesce(dump_us < getvariable('until_us')::BIGINT, true);

-- Whether records count in bandwidth statistics, for which there must be more than one rank, a known
-- operation and a known data type (NCCL writes 2^64 - n for unknown ones).
CREATE TEMP MACRO is_rated(n_ranks, operation, message_bytes) AS
  n_ranks > 1 AND operation <> 'Invalid' AND coalesce(message_bytes < 9223372036854775808, true);
