#!/bin/sh
# Simulates a training job with three faults, ingests its NCCL Inspector logs, and shows what Telltale
# finds. All that it writes is under build/demo.
set -eu
cd "$(dirname "$0")/.."

demo=build/demo
rm -rf $demo
mkdir -p $demo

show() {
  echo
  echo "\$ telltale $*"
  build/release/telltale "$@"
}

# Rank 11 comes late for a while; a data-parallel group loses three quarters of its bandwidth; the Inspector's rings
# are too small, so that records are missing.
show simulate training --out $demo/job --ranks 16 --tp 4 --steps 40 \
  --fault late-rank:rank=11,ms=3,from=0.3,to=0.5 \
  --fault "slow-link:comm=DP Group 3,factor=4,from=0.6" \
  --fault ring-loss:ring=128

store=$demo/telltale.duckdb
show --store $store ingest $demo/job
sample=../shared/samples/inspector/json-2.30.7-train-2x8
[ ! -d $sample ] || show --store $store ingest $sample

show --store $store sources
show --store $store losses
show --store $store collectives summary
echo
echo "The store is $store: open it with telltale, or with any DuckDB client."
