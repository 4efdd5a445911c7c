#pragma once

// An SQLite file, opened so that nothing is written beside it and no lock is asked for: exports lie
// on read-only and network file systems. Tables and columns that are not there are normal.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace telltale::nsight {

// The row that a scan is at. Columns are those asked for, by their place; one that the table lacks
// reads as NULL.
class SqliteRow {
 public:
  explicit SqliteRow(sqlite3_stmt* statement) : statement_(statement) {}
  bool IsNull(int column) const;
  bool IsInteger(int column) const;
  int64_t Integer(int column, int64_t if_null = 0) const;
  std::string_view Text(int column) const;  // until the next row

 private:
  sqlite3_stmt* statement_;
};

struct RowidRange {
  int64_t first = 0;
  int64_t last = 0;
};

class SqliteFile {
 public:
  static Result<std::unique_ptr<SqliteFile>> Open(const std::string& path);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  const std::string& path() const { return path_; }
  const std::vector<std::string>& tables() const { return tables_; }
  bool HasTable(std::string_view table) const;
  std::set<std::string> ColumnsOf(const std::string& table) const;
  Result<uint64_t> CountOf(const std::string& table) const;

  // By which a table can be read in pieces; none if it is empty, or has no row ids.
  std::optional<RowidRange> RowidsOf(const std::string& table) const;
  // Every row of a table, or of a piece of it, in its order; nothing if there is no such table.
  // `rows_read` tells how many came before an error.
  Status Scan(const std::string& table, const std::vector<std::string>& columns,
              const std::function<void(const SqliteRow&)>& on_row, uint64_t* rows_read = nullptr,
              std::optional<RowidRange> piece = {});

 private:
  SqliteFile(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  sqlite3* handle_;
  std::string path_;
  std::vector<std::string> tables_;
};

}  // namespace telltale::nsight
