#pragma once

// DuckDB behind our results and ownership: a database file, connections, queries whose rows come as
// cells, and bulk inserts whose rows come a column at a time. Only this folder knows DuckDB's C
// API.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

struct _duckdb_database;
struct _duckdb_connection;

namespace telltale {

// One value of a row. Types without an own member (decimals, timestamps, lists …) come as text, and
// integers beyond 64 bits as their digits in BigInteger.
struct BigInteger {
  std::string digits;
};
using Cell = std::variant<std::monostate, bool, int64_t, uint64_t, double, BigInteger, std::string>;

// Text as it can be stored: bytes that are not UTF-8 (names of files may hold any) are written as
// \xNN. Parameters and appended rows are always written so.
std::string StoredText(std::string_view text);

// The cell for people and CSV: empty for NULL, shortest exact form for numbers.
std::string CellText(const Cell& cell);

struct ColumnInfo {
  std::string name;
  std::string type;  // as DuckDB writes it, e.g. "BIGINT"
};

struct Table {
  std::vector<ColumnInfo> columns;
  std::vector<std::vector<Cell>> rows;
};

class Connection;

enum class Access { kReadOnly, kReadWrite };

struct DatabaseOptions {
  Access access = Access::kReadOnly;
  unsigned threads = 0;         // 0: as many as there are cores
  std::string memory_limit;     // such as "400MB"; empty: DuckDB's default
  bool external_access = true;  // whether SQL may touch files
};

// A database file. Safe to use from several threads, each with its own connection.
class Database {
 public:
  static Result<std::unique_ptr<Database>> Open(const std::string& path,
                                                const DatabaseOptions& options);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Result<std::unique_ptr<Connection>> Connect();

 private:
  explicit Database(_duckdb_database* handle) : handle_(handle) {}
  _duckdb_database* handle_;
};

using RowCallback = std::function<Status(std::vector<Cell>& row)>;

// One thread at a time. Positional parameters are written $1, $2 …
class Connection {
 public:
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // One statement or several, without rows.
  Status Run(const std::string& sql);
  // One statement with parameters, without rows.
  Status Run(const std::string& sql, std::span<const Cell> parameters);

  Result<Table> Query(const std::string& sql, std::span<const Cell> parameters = {});
  // Streams: `on_columns` once, then `on_row` for each row as it is found. An error of a callback
  // ends the query.
  Status Query(const std::string& sql, std::span<const Cell> parameters,
               const std::function<Status(const std::vector<ColumnInfo>&)>& on_columns,
               const RowCallback& on_row);
  // The only value of the only row as an integer; 0 for NULL.
  Result<int64_t> QueryInteger(const std::string& sql, std::span<const Cell> parameters = {});

  _duckdb_connection* handle() { return handle_; }

 private:
  friend class Database;
  explicit Connection(_duckdb_connection* handle) : handle_(handle) {}
  _duckdb_connection* handle_;
};

}  // namespace telltale
