# What Telltale links with: target telltale_dependencies. docs/dependencies.md says why each is here.
# Debian's packages are installed by scripts/setup.sh.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(simdjson REQUIRED)
find_package(tl-expected REQUIRED)
pkg_check_modules(cli11 REQUIRED IMPORTED_TARGET CLI11)
pkg_check_modules(isal REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)

# DuckDB: an installed one (DUCKDB_ROOT, as a variable or in the environment), or the one that
# scripts/setup.sh has put into build/deps.
set(TELLTALE_BUNDLED_DUCKDB ${PROJECT_SOURCE_DIR}/build/deps/duckdb)
if(NOT DEFINED DUCKDB_ROOT AND DEFINED ENV{DUCKDB_ROOT})
  set(DUCKDB_ROOT $ENV{DUCKDB_ROOT})
endif()
if(NOT DUCKDB_ROOT)
  set(DUCKDB_ROOT ${TELLTALE_BUNDLED_DUCKDB})
endif()
find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS ${DUCKDB_ROOT} PATH_SUFFIXES include)
find_library(DUCKDB_LIBRARY duckdb HINTS ${DUCKDB_ROOT} PATH_SUFFIXES lib)
if(NOT DUCKDB_INCLUDE_DIR OR NOT DUCKDB_LIBRARY)
  message(FATAL_ERROR "DuckDB was not found in ${DUCKDB_ROOT}: there must be include/duckdb.h and "
                      "lib/libduckdb.so. Run scripts/setup.sh, or set DUCKDB_ROOT.")
endif()
add_library(DuckDB::DuckDB SHARED IMPORTED)
set_target_properties(DuckDB::DuckDB PROPERTIES
  IMPORTED_LOCATION ${DUCKDB_LIBRARY}
  INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_INCLUDE_DIR})

add_library(telltale_dependencies INTERFACE)
target_link_libraries(telltale_dependencies INTERFACE
  DuckDB::DuckDB
  PkgConfig::cli11
  PkgConfig::isal
  PkgConfig::xxhash
  PkgConfig::zstd
  SQLite::SQLite3
  Threads::Threads
  ZLIB::ZLIB
  fmt::fmt
  simdjson::simdjson
  spdlog::spdlog
  tl::expected)
