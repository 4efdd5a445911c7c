#pragma once

// For the sources of this folder, which know DuckDB's C API.

#include <duckdb.h>

#include "store/bulk_insert.h"

namespace telltale {

inline duckdb_type DuckDbType(ColumnType type) {
  switch (type) {
    case ColumnType::kUInt32:
      return DUCKDB_TYPE_UINTEGER;
    case ColumnType::kInt64:
      return DUCKDB_TYPE_BIGINT;
    case ColumnType::kDouble:
      return DUCKDB_TYPE_DOUBLE;
    case ColumnType::kText:
      return DUCKDB_TYPE_VARCHAR;
    case ColumnType::kUInt64:
      break;
  }
  return DUCKDB_TYPE_UBIGINT;
}

}  // namespace telltale
