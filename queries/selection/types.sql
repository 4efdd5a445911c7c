-- Types of communicators as their ranks and nodes say (one rank: single-rank; one node: nvlink-only; a rank
-- a node: nic-only; else mixed). Hosts without NVLink, and NVLink over several hosts, do not show there.

CREATE TEMP VIEW selected_type AS SELECT communicator, type FROM communicator;
