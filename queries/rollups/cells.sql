-- Makes the cells of a run anew from the rollups of its series. Leaves the temporary table rollup_cell with the
-- series of each cell, from which RollUpCells() counts operation_cell_histogram.
-- Variable: rollup_run.

DELETE FROM operation_cell_histogram
WHERE cell IN (SELECT cell FROM operation_cell WHERE run = getvariable('rollup_run'));
DELETE FROM operation_cell WHERE run = getvariable('rollup_run');
DELETE FROM operation_cell_basis WHERE run = getvariable('rollup_run');

CREATE OR REPLACE TEMP TABLE rollup_series AS
SELECT s.series,
       -- That of its communicator, which is being found at the same time.
       CASE WHEN c.n_ranks = 1 THEN 'single-rank' WHEN c.nnodes IS NULL THEN 'unknown'
            WHEN c.nnodes = 1 THEN 'nvlink-only' WHEN c.nnodes = c.n_ranks THEN 'nic-only' ELSE 'mixed'
            END AS communicator_type,
       c.n_ranks, c.nnodes, s.kind, s.operation,
       s.message_bytes, s.algorithm, s.protocol, s.traffic_bytes, s.bus_factor, s.operations,
       s.exec_time_us_sum, s.exec_time_us_min, s.exec_time_us_max
FROM operation_series s
JOIN source f ON f.source = s.source
JOIN communicator_rank c ON c.communicator_rank = s.communicator_rank
WHERE f.run = getvariable('rollup_run') AND s.operations > 0;

CREATE OR REPLACE TEMP TABLE rollup_cell AS
SELECT ((SELECT coalesce(max(cell) + 1, 0) FROM operation_cell)
        + row_number() OVER (ORDER BY communicator_type, n_ranks, nnodes, kind, operation, message_bytes,
                                      algorithm, protocol, traffic_bytes, bus_factor) - 1)::UINTEGER AS cell,
       communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm, protocol, traffic_bytes,
       bus_factor, sum(operations)::UBIGINT AS operations, sum(exec_time_us_sum)::UBIGINT AS exec_time_us_sum,
       min(exec_time_us_min) AS exec_time_us_min, max(exec_time_us_max) AS exec_time_us_max,
       list(series) AS members
FROM rollup_series
GROUP BY communicator_type, n_ranks, nnodes, kind, operation, message_bytes, algorithm, protocol,
         traffic_bytes, bus_factor;

INSERT INTO operation_cell
SELECT cell, getvariable('rollup_run')::INTEGER, * EXCLUDE (cell, members) FROM rollup_cell ORDER BY cell;

INSERT INTO operation_cell_basis
SELECT run, count(*), max(source) FROM source WHERE run = getvariable('rollup_run') GROUP BY run;

DROP TABLE rollup_series;
