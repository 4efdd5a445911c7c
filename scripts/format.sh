#!/bin/sh
# Formats all C++ code, or with --check fails if some is not formatted. The version is pinned:
# another one formats differently.
set -eu
cd "$(dirname "$0")/.."

formatter=clang-format-14
if ! command -v $formatter >/dev/null; then
  echo "format: $formatter is not installed; nothing was formatted or checked" >&2
  exit 0
fi
sources() {
  find src simulate tests bench fuzz capture \( -name '*.cc' -o -name '*.h' \) -print0 2>/dev/null
}
case ${1:-} in
  '') sources | xargs -0 -r -P "$(nproc)" -n 16 $formatter -i ;;
  --check)
    # One line a place in the formatter's own words would be thousands for a file from elsewhere.
    # One process: the lines of several could be mixed.
    misformatted=$(sources | xargs -0 -r $formatter --dry-run 2>&1 |
      sed -n 's/^\([^ :]*\):[0-9]*:[0-9]*: .*\[-Wclang-format-violations\]$/\1/p' | sort | uniq -c)
    if [ -n "$misformatted" ]; then
      echo "format: these files are not formatted (places, file); run \`make format\`" >&2
      echo "$misformatted" >&2
      exit 1
    fi
    ;;
  *)
    echo "usage: scripts/format.sh [--check]" >&2
    exit 2
    ;;
esac
