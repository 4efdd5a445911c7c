-- Types of communicators where several hosts share an NVLink domain (--nvlink-domain): hosts in the order of
-- their names, numbers by value, each so many of them one domain. nvlink-only: all ranks in one domain;
-- nic-only: no two ranks in the same; mixed: both.
-- Filters: nvlink_domain (hosts in a domain).

CREATE TEMP TABLE selected_type AS
WITH host_name AS (
  SELECT DISTINCT f.run, p.host FROM process p JOIN source f ON f.source = p.source),
domain AS (
  SELECT run, host,
         (row_number() OVER (PARTITION BY run ORDER BY
            regexp_replace(host, '[0-9]+', '', 'g'),
            list_transform(regexp_extract_all(host, '[0-9]+'), lambda x: try_cast(x AS HUGEINT)),
            host) - 1) // getvariable('nvlink_domain') AS domain
  FROM host_name),
spread AS (
  SELECT c.communicator, count(DISTINCT d.domain) AS domains, count(DISTINCT c.rank) AS ranks
  FROM communicator_rank c
  JOIN process p ON p.process = c.process
  JOIN source f ON f.source = c.source
  JOIN domain d ON d.run = f.run AND d.host = p.host
  GROUP BY c.communicator)
SELECT k.communicator,
       CASE WHEN s.domains IS NULL OR k.n_ranks = 1 THEN k.type
            -- More nodes than a domain has hosts: the other ranks' files are missing.
            WHEN s.domains = 1 AND k.nnodes <= getvariable('nvlink_domain') THEN 'nvlink-only'
            WHEN s.domains = s.ranks AND (s.domains > 1 OR k.n_ranks = k.nnodes) THEN 'nic-only'
            ELSE 'mixed' END AS type
FROM communicator k LEFT JOIN spread s ON s.communicator = k.communicator;
