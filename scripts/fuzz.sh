#!/bin/sh
# Runs each libFuzzer program of build/fuzz for FUZZ_SECONDS (60) with the seeds of fuzz/corpus/<name>.
# New inputs go to build/fuzz/corpus/<name>, crashes to build/fuzz/crashes/<name>; a crash that is
# mended becomes a file in fuzz/corpus/<name> with a name that says what it was.
set -eu
cd "$(dirname "$0")/.."

failed=
for program in build/fuzz/*_fuzz; do
  [ -x "$program" ] || { echo "fuzz: there are no fuzz targets" >&2; exit 1; }
  name=$(basename "$program" _fuzz)
  mkdir -p "build/fuzz/corpus/$name" "build/fuzz/crashes/$name" "fuzz/corpus/$name"
  echo "fuzz: $name" >&2
  "$program" -max_total_time="${FUZZ_SECONDS:-60}" -timeout=10 -rss_limit_mb=4096 \
    -print_final_stats=1 -artifact_prefix="build/fuzz/crashes/$name/" \
    "build/fuzz/corpus/$name" "fuzz/corpus/$name" || failed="$failed $name"
done
[ -z "$failed" ] || { echo "fuzz: failed:$failed" >&2; exit 1; }
