#include "store/column_scan.h"

#include <vector>

#include <duckdb.h>

namespace telltale {
namespace {

struct Scan {
  duckdb_prepared_statement statement = nullptr;
  duckdb_pending_result pending = nullptr;
  duckdb_result result{};
  ~Scan() {
    duckdb_destroy_result(&result);
    duckdb_destroy_pending(&pending);
    duckdb_destroy_prepare(&statement);
  }
};

std::string Text(const char* message) { return message != nullptr ? message : "unknown error"; }

}  // namespace

Status ScanColumns(Connection& connection, const std::string& sql, const ColumnChunk& on_chunk) {
  Scan scan;
  if (duckdb_prepare(connection.handle(), sql.c_str(), &scan.statement) == DuckDBError) {
    return Fail("{}", Text(duckdb_prepare_error(scan.statement)));
  }
  if (duckdb_pending_prepared_streaming(scan.statement, &scan.pending) == DuckDBError ||
      duckdb_execute_pending(scan.pending, &scan.result) == DuckDBError) {
    return Fail("{}", Text(duckdb_pending_error(scan.pending)));
  }
  std::vector<const void*> columns(duckdb_column_count(&scan.result));
  while (duckdb_data_chunk chunk = duckdb_fetch_chunk(scan.result)) {
    const idx_t rows = duckdb_data_chunk_get_size(chunk);
    for (idx_t i = 0; i < columns.size(); ++i) {
      columns[i] = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, i));
    }
    if (rows > 0) on_chunk(columns, rows);
    duckdb_destroy_data_chunk(&chunk);
  }
  if (const char* error = duckdb_result_error(&scan.result); error != nullptr && *error != '\0') {
    return Fail("{}", Text(error));
  }
  return {};
}

}  // namespace telltale
