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
#include "readers/nsight/sqlite_pages.h"

struct sqlite3;

namespace telltale::nsight {

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
  // `rows_read` tells how many came before an error. From the pages where that can be done.
  Status Scan(const std::string& table, const std::vector<std::string>& columns,
              const std::function<void(const SqliteRow&)>& on_row, uint64_t* rows_read = nullptr,
              std::optional<RowidRange> piece = {});
  // The same by SQLite alone.
  Status ScanBySql(const std::string& table, const std::vector<std::string>& columns,
                   const std::function<void(const SqliteRow&)>& on_row,
                   std::optional<RowidRange> piece = {}) const;

 private:
  SqliteFile(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  std::optional<TableLayout> LayoutOf(const std::string& table,
                                      const std::vector<std::string>& columns) const;
  sqlite3* handle_;
  std::string path_;
  std::vector<std::string> tables_;
  std::unique_ptr<SqlitePages> pages_;
};

}  // namespace telltale::nsight
