-- Question: which communicators are there, what are they for, and what makes that likely?
-- Columns:
--   run, communicator, communicator_id, type, n_ranks, nnodes: the communicator as it describes itself
--   ranks_seen, hosts: ranks and hosts whose files are there
--   role: world, tensor, pipeline, data, expert, context, self; several joined by + where the name says so;
--     unknown where nothing tells
--   reason: name, or size, traffic and overlap with other communicators
--   operations, message_bytes: records and the sum of their message sizes (unknown data types left out)
WITH spread AS (
  SELECT communicator, any_value(run) AS run, any_value(communicator_id) AS communicator_id,
         any_value(communicator_name) AS name, any_value(communicator_label) AS label,
         any_value(communicator_type) AS type, any_value(n_ranks) AS n_ranks, any_value(nnodes) AS nnodes,
         count(DISTINCT rank) AS ranks_seen, count(DISTINCT host) AS hosts,
         count(DISTINCT (host, pid)) AS processes
  FROM selected_rank WHERE communicator IS NOT NULL GROUP BY communicator),
processes AS (
  SELECT run, count(*) AS processes FROM places GROUP BY run),
kind_of AS (
  SELECT s.communicator, sum(c.operations) AS operations,
         sum(c.operations) FILTER (s.kind = 'p2p') AS p2p,
         sum(c.operations) FILTER (s.operation IN ('AllGather', 'ReduceScatter', 'AllReduce')) AS reducing,
         count(DISTINCT s.peer) FILTER (s.kind = 'p2p') AS peers,
         sum(CASE WHEN c.message_bytes < 9223372036854775808
                  THEN c.message_bytes::HUGEINT * c.operations END) AS message_bytes
  FROM selected_count c JOIN selected_series s USING (series) GROUP BY s.communicator),
-- How many processes two communicators of a run share at most: tensor and data groups meet in one.
member AS (SELECT DISTINCT communicator, run, host, pid FROM selected_rank WHERE communicator IS NOT NULL),
within_host AS (
  SELECT m.run, m.host, m.pid, max(s.n_ranks) AS group_ranks
  FROM member m JOIN spread s USING (communicator)
  WHERE s.nnodes = 1 AND s.n_ranks > 1 AND s.processes < (SELECT any_value(processes) FROM processes p WHERE p.run = m.run)
  GROUP BY m.run, m.host, m.pid),
across AS (
  SELECT m.communicator, count(*) FILTER (w.group_ranks IS NOT NULL) AS members_in_host_groups
  FROM member m LEFT JOIN within_host w USING (run, host, pid) GROUP BY m.communicator),
told AS (
  SELECT spread.*, kind_of.operations, kind_of.message_bytes, coalesce(p2p, 0) AS p2p,
         coalesce(reducing, 0) AS reducing, coalesce(peers, 0) AS peers,
         coalesce(members_in_host_groups, 0) AS members_in_host_groups, processes.processes AS all_processes,
         count(*) FILTER (spread.processes = processes.processes) OVER (PARTITION BY spread.run) AS covering,
         list_filter([CASE WHEN regexp_matches(name, '(?i)world|default_pg|global') THEN 'world' END,
                      CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])tp([^a-z]|$)|tensor|model_parallel') THEN 'tensor' END,
                      CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])pp([^a-z]|$)|pipeline') THEN 'pipeline' END,
                      CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])(dp|fsdp|hsdp)([^a-z]|$)|data_parallel|data parallel')
                             THEN 'data' END,
                      CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])(ep|moe)([^a-z]|$)|expert') THEN 'expert' END,
                      CASE WHEN regexp_matches(name, '(?i)(^|[^a-z])cp([^a-z]|$)|context') THEN 'context' END],
                     lambda x: x IS NOT NULL) AS by_name
  FROM spread LEFT JOIN kind_of USING (communicator) LEFT JOIN across USING (communicator)
  LEFT JOIN processes USING (run)),
judged AS (
  SELECT *,
         CASE WHEN n_ranks = 1 THEN ['self', 'one rank']
              WHEN len(by_name) > 0 THEN [array_to_string(by_name, '+'), 'its name says so']
              WHEN processes = all_processes AND all_processes > 1 AND n_ranks >= all_processes
                THEN ['world', 'it has all ' || all_processes || ' processes of the run'
                      || CASE WHEN covering > 1 THEN ' (one of ' || covering || ' that do)' ELSE '' END]
              WHEN p2p > 0 AND p2p = operations AND peers >= n_ranks - 1 AND n_ranks > 2
                THEN ['expert', 'sends and receives only, each rank with every other (all-to-all)']
              WHEN p2p > 0 AND p2p = operations THEN ['pipeline', 'sends and receives only, with neighbours']
              WHEN nnodes = 1 AND reducing > 0
                THEN ['tensor', 'within one host; AllGather, ReduceScatter or AllReduce']
              WHEN nnodes > 1 AND reducing > 0 AND p2p > 0
                THEN ['pipeline+data', 'across hosts; sends and receives beside AllGather, ReduceScatter or AllReduce'
                      || CASE WHEN members_in_host_groups > 0 THEN '; its ranks are in different groups within hosts' ELSE '' END]
              WHEN nnodes > 1 AND reducing > 0
                THEN ['data', 'across hosts; AllGather, ReduceScatter or AllReduce only'
                      || CASE WHEN members_in_host_groups > 0 THEN '; its ranks are in different groups within hosts' ELSE '' END]
              ELSE ['unknown', 'neither name nor traffic tells'] END AS verdict
  FROM told)
SELECT run, label AS communicator, communicator_id, type, n_ranks, nnodes, ranks_seen, hosts,
       verdict[1] AS role, verdict[2] AS reason, operations::BIGINT AS operations,
       message_bytes::HUGEINT AS message_bytes
FROM judged
ORDER BY run, n_ranks DESC, label, communicator_id
