#pragma once

// Reads the answer of a query a chunk of columns at a time: for the large tables, where cells would
// cost ten times as much as the data.

#include <functional>
#include <span>
#include <string>

#include "store/database.h"

namespace telltale {

// Columns of a chunk: column i starts at columns[i] and holds values of the type that the query
// gives it (UINTEGER: uint32_t, BIGINT: int64_t, UBIGINT: uint64_t, DOUBLE: double). The query must
// not give NULL.
using ColumnChunk = std::function<void(std::span<const void* const> columns, size_t rows)>;

Status ScanColumns(Connection& connection, const std::string& sql, const ColumnChunk& on_chunk);

}  // namespace telltale
