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

make_profiles() { # BYTES RANGES : Kineto traces and an Nsight Systems export, kept for the next run
  for bytes in $1 300M; do
    [ -e $work/trace-$bytes.json.complete ] || {
      echo "simulating a trace of $bytes bytes" >&2
      $telltale --quiet simulate profile --out $work/trace-$bytes.json --target-bytes $bytes > /dev/null
      touch $work/trace-$bytes.json.complete
    }
  done
  [ -e $work/report-$2.sqlite.complete ] || {
    echo "simulating an export of $2 ranges" >&2
    $telltale --quiet simulate profile --kind nsight --out $work/report-$2.sqlite --ranges $2 > /dev/null
    touch $work/report-$2.sqlite.complete
  }
  build/release/trace_bench --telltale $telltale --work $work --kineto $work/trace-$1.json \
    --small-kineto $work/trace-300M.json \
    --nsight $work/report-$2.sqlite >> $rows
}

measure_queries() { # DIR NAME : every question over the store of these logs
  store=$work/queries.duckdb
  rm -f "$store" "$store.wal"
  $telltale --quiet --store "$store" ingest "$1" > /dev/null
  build/release/query_bench --telltale $telltale --store "$store" --name "$2" >> $rows
  rm -f "$store" "$store.wal"
}

if [ $full = yes ]; then
  make_logs $work/logs-full --ranks 2048 --pp 8 --layers 96 --hidden 18432 --micro-batches 16 --records 37500000
  build/release/ingest_bench --telltale $telltale --work $work --data $work/logs-full \
    --name inspector_ingest_full --runs 3 --reference-runs 1 >> $rows
  measure_queries $work/logs-full query_full
  make_profiles 2G 15900000
else
  make_logs $work/logs-2g --ranks 256 --pp 4 --target-bytes 2G
  build/release/ingest_bench --telltale $telltale --work $work --data $work/logs-2g \
    --name inspector_ingest --runs 7 --reference-runs 3 >> $rows
  measure_queries $work/logs-2g query
  make_profiles 2G 2000000
fi

echo "templates and ingest of logs" >&2
build/release/template_bench --telltale $telltale --work $work >> $rows
echo "structural tokens" >&2
build/release/tokens_bench --telltale $telltale --work $work >> $rows
echo "findings over 300 simulated jobs with known faults" >&2
build/release/findings_eval --rows $rows
echo

{ echo '['; sed '$!s/$/,/' $rows; echo ']'; } > build/bench.json
sed 's/.*"name":"\([^"]*\)","ours":\([^,]*\),"reference":\([^,]*\),"ratio":\([^,]*\),"unit":"\([^"]*\)","target":"\([^"]*\)".*/\1|\2|\3|\4|\5|\6/' $rows |
  awk -F'|' 'BEGIN { printf "%-34s %10s %10s %8s  %-20s %s\n", "name", "ours", "reference", "ratio", "unit", "target" }
             { printf "%-34s %10s %10s %8s  %-20s %s\n", $1, $2, $3, $4, $5, $6 }'
