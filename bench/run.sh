#!/bin/sh
# Measures against the references, all in one run on this machine, and prints a table; the rows go to
# build/bench.json. All input is simulated, from fixed seeds. Called by `make bench` (2 GB of logs) and
# `make bench-full` (the size of the NIXT paper's trace: 37.5 million records, 17.7 GB).
set -eu
cd "$(dirname "$0")/.."

full=no
[ "${1:-}" != --full ] || full=yes
work=build/bench
telltale=build/release/telltale
mkdir -p $work
rows=$work/rows.jsonl
: > $rows

make_logs() { # DIR OPTION... : simulated logs, kept for the next run
  dir=$1
  shift
  [ -e "$dir.complete" ] && return
  rm -rf "$dir"
  echo "simulating $dir" >&2
  $telltale --quiet simulate training --out "$dir" "$@" > /dev/null
  touch "$dir.complete"
}

if [ $full = yes ]; then
  make_logs $work/logs-full --ranks 2048 --pp 8 --layers 96 --hidden 18432 --micro-batches 16 --records 37500000
  build/release/ingest_bench --telltale $telltale --work $work --data $work/logs-full \
    --name inspector_ingest_full --runs 3 --reference-runs 1 >> $rows
else
  make_logs $work/logs-2g --ranks 256 --pp 4 --target-bytes 2G
  build/release/ingest_bench --telltale $telltale --work $work --data $work/logs-2g \
    --name inspector_ingest --runs 7 --reference-runs 3 >> $rows
fi

echo "findings over 300 simulated jobs with known faults" >&2
build/release/findings_eval --rows $rows
echo

{ echo '['; sed '$!s/$/,/' $rows; echo ']'; } > build/bench.json
sed 's/.*"name":"\([^"]*\)","ours":\([^,]*\),"reference":\([^,]*\),"ratio":\([^,]*\),"unit":"\([^"]*\)","target":"\([^"]*\)".*/\1|\2|\3|\4|\5|\6/' $rows |
  awk -F'|' 'BEGIN { printf "%-34s %10s %10s %8s  %-20s %s\n", "name", "ours", "reference", "ratio", "unit", "target" }
             { printf "%-34s %10s %10s %8s  %-20s %s\n", $1, $2, $3, $4, $5, $6 }'
