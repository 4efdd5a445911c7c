-- Question: where does the time of network transfers go?
-- Columns:
--   run, communicator, host, direction: whose proxy steps (format v4.3 and newer with
--     NCCL_INSPECTOR_ENABLE_PROXY=1); direction is send or recv
--   steps, trans_bytes: proxy steps and what they moved
--   total_us: sum over the steps; steps overlap, so it is not time that passed
--   gpu_produce, peer_credit, wire, flush, gpu_consume: waiting for the GPU to give data, for credit of the
--     peer, on the wire, flushing, for the GPU to take data; each as _us and as _percent of all five. From
--     the producer's intervals, or from the times of its events where it writes only those (flat mode)
WITH timed AS (
  SELECT communicator_rank, source, line, direction, trans_size_bytes,
         coalesce(total_us::BIGINT, stop_us::BIGINT - start_us::BIGINT) AS total_us,
         coalesce(gpu_produce_us::BIGINT, send_peer_wait_us::BIGINT - send_gpu_wait_us::BIGINT) AS gpu_produce_us,
         coalesce(peer_credit_us::BIGINT, send_wait_us::BIGINT - send_peer_wait_us::BIGINT) AS peer_credit_us,
         coalesce(wire_us::BIGINT, stop_us::BIGINT - send_wait_us::BIGINT,
                  coalesce(recv_flush_wait_us, recv_gpu_wait_us)::BIGINT - recv_wait_us::BIGINT) AS wire_us,
         coalesce(flush_us::BIGINT, recv_gpu_wait_us::BIGINT - recv_flush_wait_us::BIGINT) AS flush_us,
         coalesce(gpu_consume_us::BIGINT, stop_us::BIGINT - recv_gpu_wait_us::BIGINT) AS gpu_consume_us
  FROM proxy_step),
step AS (
  SELECT r.run, r.communicator_label AS communicator, r.host, p.direction, count(*) AS steps,
         sum(p.trans_size_bytes)::HUGEINT AS trans_bytes, sum(p.total_us)::HUGEINT AS total_us,
         coalesce(sum(greatest(p.gpu_produce_us, 0)), 0)::HUGEINT AS gpu_produce_us,
         coalesce(sum(greatest(p.peer_credit_us, 0)), 0)::HUGEINT AS peer_credit_us,
         coalesce(sum(greatest(p.wire_us, 0)), 0)::HUGEINT AS wire_us,
         coalesce(sum(greatest(p.flush_us, 0)), 0)::HUGEINT AS flush_us,
         coalesce(sum(greatest(p.gpu_consume_us, 0)), 0)::HUGEINT AS gpu_consume_us
  FROM timed p JOIN selected_rank r ON r.communicator_rank = p.communicator_rank
  WHERE getvariable('since_us') IS NULL AND getvariable('until_us') IS NULL
     OR EXISTS (SELECT 1 FROM proxy_op o WHERE o.source = p.source AND o.line = p.line
                AND is_selected_time(o.dump_timestamp_us))
  GROUP BY ALL),
summed AS (
  SELECT *, nullif(gpu_produce_us + peer_credit_us + wire_us + flush_us + gpu_consume_us, 0)::DOUBLE AS phases
  FROM step)
SELECT run, communicator, host, direction, steps, trans_bytes, total_us,
       gpu_produce_us, 100 * gpu_produce_us / phases AS gpu_produce_percent,
       peer_credit_us, 100 * peer_credit_us / phases AS peer_credit_percent,
       wire_us, 100 * wire_us / phases AS wire_percent,
       flush_us, 100 * flush_us / phases AS flush_percent,
       gpu_consume_us, 100 * gpu_consume_us / phases AS gpu_consume_percent
FROM summed
ORDER BY total_us DESC, run, communicator, host, direction
