#!/bin/sh
# Puts DuckDB's shared library and C header into build/deps/duckdb, as pinned by
# third_party/duckdb/package-lock.json. Does nothing if they are there from the same lockfile.
set -eu
cd "$(dirname "$0")/.."

pinned=third_party/duckdb
target=build/deps/duckdb
stamp="$(sha256sum <"$pinned/package-lock.json")"
if [ -f "$target/stamp" ] && [ "$(cat "$target/stamp")" = "$stamp" ]; then
  exit 0
fi

case $(uname -m) in
  x86_64) machine=x64 ;;
  aarch64 | arm64) machine=arm64 ;;
  *)
    echo "setup: no DuckDB package for $(uname -m); install DuckDB and set DUCKDB_ROOT" >&2
    exit 1
    ;;
esac

echo "setup: installing DuckDB into $target" >&2
work=build/deps/duckdb.npm
rm -rf "$work" "$target"
mkdir -p "$work" "$target/include" "$target/lib"
cp "$pinned/package.json" "$pinned/package-lock.json" "$pinned/.npmrc" "$work"
(cd "$work" && npm ci --ignore-scripts --no-audit --no-fund >&2)

bindings="$work/node_modules/@duckdb/node-bindings-linux-$machine"
cp "$bindings/libduckdb.so" "$target/lib/"
cp "$work/node_modules/duckdb/src/duckdb/src/include/duckdb.h" "$target/include/"
cp "$bindings/LICENSE" "$target/"
echo "$stamp" >"$target/stamp"
rm -rf "$work"
