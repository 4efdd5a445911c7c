-- Question: what is faster or slower in run B than in run A?
-- Parameters:
--   $1 a: name of run A (required)
--   $2 b: name of run B (required)
-- Columns:
--   operation, communicator_type, message_bytes: what is compared
--   operations_a, operations_b: operation records with a bandwidth
--   busbw_gbs_p50_a, busbw_gbs_p50_b, p50_percent: median bus bandwidth, GB/s (1e9), and B as a percentage of A
--   busbw_gbs_p10_a, busbw_gbs_p10_b, p10_percent: the same for the slowest tenth
--   variation_a, variation_b: coefficient of variation of the bandwidth
WITH part AS (
  SELECT row_number() OVER () AS part, run, operation, communicator_type, list(cell) AS members
  FROM selected_cell WHERE rated AND run IN ($1::VARCHAR, $2::VARCHAR)
  GROUP BY run, operation, communicator_type, message_bytes),
member AS (SELECT part, unnest(members) AS cell FROM part),
rated AS (
  SELECT part, message_bytes, busbw_summary(traffic_bytes, bus_factor, rate_time_us, operations) AS b
  FROM cell_time JOIN member USING (cell) GROUP BY part, message_bytes),
named AS (SELECT run, operation, communicator_type, message_bytes, b FROM rated JOIN part USING (part)
          WHERE b IS NOT NULL)
SELECT operation, communicator_type, message_bytes, x.b.n AS operations_a, y.b.n AS operations_b,
       x.b.p50 AS busbw_gbs_p50_a, y.b.p50 AS busbw_gbs_p50_b, 100 * y.b.p50 / x.b.p50 AS p50_percent,
       x.b.p10 AS busbw_gbs_p10_a, y.b.p10 AS busbw_gbs_p10_b, 100 * y.b.p10 / x.b.p10 AS p10_percent,
       x.b.stddev / x.b.mean AS variation_a, y.b.stddev / y.b.mean AS variation_b
FROM (FROM named WHERE run = $1) x FULL JOIN (FROM named WHERE run = $2) y
  USING (operation, communicator_type, message_bytes)
ORDER BY p50_percent NULLS LAST, operation, communicator_type, message_bytes
