#!/bin/sh
# Pins another version of DuckDB:
#
#   third_party/duckdb/update.sh VERSION BINDINGS_VERSION      such as 1.4.4 1.4.4-r.3
#
# VERSION is that of the npm package "duckdb", a source package of which only duckdb.h is taken;
# BINDINGS_VERSION that of "@duckdb/node-bindings-linux-*", which hold libduckdb.so. Both must be of the
# same DuckDB. What "duckdb" needs to run under Node.js is struck from the lockfile: nothing of it is
# used, and so scripts/setup_duckdb.sh installs two packages instead of a hundred and twenty.
set -eu
cd "$(dirname "$0")"
[ $# -eq 2 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }

rm -f package-lock.json
sed -i -e "s|\"duckdb\": \".*\"|\"duckdb\": \"$1\"|" \
  -e "s|\(\"@duckdb/node-bindings-linux-[a-z0-9]*\": \)\".*\"|\1\"$2\"|" package.json
npm install --package-lock-only --ignore-scripts
node -e '
  const fs = require("fs");
  const lock = JSON.parse(fs.readFileSync("package-lock.json"));
  const kept = /^$|^node_modules\/(duckdb|@duckdb\/[^/]*)$/;
  for (const path of Object.keys(lock.packages)) {
    if (!kept.test(path)) delete lock.packages[path];
    else if (path) delete lock.packages[path].dependencies;
  }
  fs.writeFileSync("package-lock.json", JSON.stringify(lock, null, 2) + "\n");
'
