#!/bin/sh
# Installs what Telltale needs to be built: packages of Debian 12, and DuckDB into build/deps.
#
#   scripts/setup.sh [tidy] [fuzz]
#
# Without a word: what `make demo` and `make test` need. "tidy" and "fuzz" add the tools of these
# targets. What is there already is left alone; then this takes a fraction of a second.
#
#   DUCKDB_ROOT=DIR        use the DuckDB in DIR (include/duckdb.h, lib/libduckdb.so)
#   TELLTALE_NO_PACKAGES=1 install no packages (on systems that have them in another way)
set -eu
cd "$(dirname "$0")/.."

packages="
  build-essential ca-certificates cmake git ninja-build pkg-config
  libbenchmark-dev libcli11-dev libexpected-dev libfmt-dev libgmock-dev libgtest-dev libisal-dev
  libsimdjson-dev libspdlog-dev libsqlite3-dev libxxhash-dev libzstd-dev zlib1g-dev
  clang-format-14"
for group in "$@"; do
  case $group in
    tidy) packages="$packages clang-tidy-16" ;;
    fuzz) packages="$packages clang-16 libclang-rt-16-dev" ;;
    *)
      echo "setup: unknown group \"$group\"; the groups are: tidy fuzz" >&2
      exit 2
      ;;
  esac
done
case ${DUCKDB_ROOT:+installed} in
  installed) ;;
  *) command -v npm >/dev/null || packages="$packages nodejs npm" ;;
esac

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    {
      echo "setup: this is no Debian system, so its packages cannot be installed from here."
      echo "Install what these packages of Debian 12 hold, then set TELLTALE_NO_PACKAGES=1:"
      echo $packages | fold -s -w 78 | sed 's/^/  /'
      echo "DuckDB is installed by npm; or set DUCKDB_ROOT to an installed one."
    } >&2
    exit 1
  fi
  missing=
  installed=$(dpkg-query -W -f '${db:Status-Status}:${Package}\n' $packages 2>/dev/null || true)
  for package in $packages; do
    case "
$installed
" in
      *"
installed:$package
"*) ;;
      *) missing="$missing $package" ;;
    esac
  done
  [ -n "$missing" ] || return 0

  as_root=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      echo "setup: these packages are missing, and there is no sudo to install them with:$missing" >&2
      exit 1
    fi
    as_root="sudo"
  fi
  echo "setup: installing$missing" >&2
  $as_root apt-get update -q >&2 || echo "setup: apt-get update failed; trying all the same" >&2
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends $missing >&2
}

[ -n "${TELLTALE_NO_PACKAGES:-}" ] || install_packages
[ -n "${DUCKDB_ROOT:-}" ] || scripts/setup_duckdb.sh
