#!/bin/sh
# Simulates a training job with three faults, ingests its NCCL Inspector logs, and shows what Telltale
# finds; then a profile of training steps. All that it writes is under build/demo.
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
show --store $store collectives findings

# A profile as PyTorch's profiler writes it, for the other question: what happened in a step, and why.
show --quiet simulate profile --out $demo/trace.json --layers 4 --steps 3
show --store $store ingest --run profile $demo/trace.json
show --store $store chain --run profile --step 1 --kinds range,operator,communication,kernel --min-us 10
show --store $store overlap --run profile
echo
echo "The store is $store: open it with telltale, or with any DuckDB client."
