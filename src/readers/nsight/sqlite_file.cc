#include "readers/nsight/sqlite_file.h"

#include <algorithm>

#include <sqlite3.h>

namespace telltale::nsight {
namespace {

std::string Quoted(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string UriOf(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?mode=ro&immutable=1";
}

struct Statement {
  sqlite3_stmt* handle = nullptr;
  ~Statement() { sqlite3_finalize(handle); }
};

}  // namespace

bool SqliteRow::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

bool SqliteRow::IsInteger(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_INTEGER;
}

int64_t SqliteRow::Integer(int column, int64_t if_null) const {
  // SQLite's own answer for NULL is 0.
  if (if_null != 0 && IsNull(column)) return if_null;
  return sqlite3_column_int64(statement_, column);
}

std::string_view SqliteRow::Text(int column) const {
  const unsigned char* const text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<SqliteFile>> SqliteFile::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int opened =
      sqlite3_open_v2(UriOf(path).c_str(), &handle,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  std::unique_ptr<SqliteFile> file(new SqliteFile(handle, path));
  if (opened != SQLITE_OK) {
    return Fail("{}", handle != nullptr ? sqlite3_errmsg(handle) : "SQLite cannot open it");
  }
  // A damaged file must not lead SQLite astray, nor a view of it run code.
  (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  (void)sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  (void)sqlite3_exec(handle, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0", nullptr, nullptr,
                     nullptr);
  std::vector<std::string> tables;
  const Status listed = [&]() -> Status {
    Statement statement;
    if (sqlite3_prepare_v2(handle, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1",
                           -1, &statement.handle, nullptr) != SQLITE_OK) {
      return Fail("{}", sqlite3_errmsg(handle));
    }
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(statement.handle)) == SQLITE_ROW) {
      tables.emplace_back(SqliteRow(statement.handle).Text(0));
    }
    if (step != SQLITE_DONE) return Fail("{}", sqlite3_errmsg(handle));
    return {};
  }();
  TELLTALE_TRY(listed);
  file->tables_ = std::move(tables);
  return file;
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(handle_); }

bool SqliteFile::HasTable(std::string_view table) const {
  return std::find(tables_.begin(), tables_.end(), table) != tables_.end();
}

std::set<std::string> SqliteFile::ColumnsOf(const std::string& table) const {
  std::set<std::string> columns;
  Statement statement;
  const std::string sql = fmt::format("PRAGMA table_info({})", Quoted(table));
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement.handle, nullptr) != SQLITE_OK) {
    return columns;
  }
  while (sqlite3_step(statement.handle) == SQLITE_ROW) {
    columns.emplace(SqliteRow(statement.handle).Text(1));
  }
  return columns;
}

Result<uint64_t> SqliteFile::CountOf(const std::string& table) const {
  Statement statement;
  const std::string sql = fmt::format("SELECT count(*) FROM {}", Quoted(table));
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement.handle, nullptr) != SQLITE_OK ||
      sqlite3_step(statement.handle) != SQLITE_ROW) {
    return Fail("{}: {}", table, sqlite3_errmsg(handle_));
  }
  return static_cast<uint64_t>(SqliteRow(statement.handle).Integer(0));
}

std::optional<RowidRange> SqliteFile::RowidsOf(const std::string& table) const {
  if (!HasTable(table)) return {};
  for (const std::string& column : ColumnsOf(table)) {
    if (sqlite3_stricmp(column.c_str(), "rowid") == 0) return {};
  }
  Statement statement;
  const std::string sql = fmt::format(
      "SELECT (SELECT min(rowid) FROM {0}), (SELECT max(rowid) FROM {0})", Quoted(table));
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement.handle, nullptr) != SQLITE_OK ||
      sqlite3_step(statement.handle) != SQLITE_ROW) {
    return {};
  }
  const SqliteRow row(statement.handle);
  if (!row.IsInteger(0) || !row.IsInteger(1)) return {};
  return RowidRange{row.Integer(0), row.Integer(1)};
}

Status SqliteFile::Scan(const std::string& table, const std::vector<std::string>& columns,
                        const std::function<void(const SqliteRow&)>& on_row, uint64_t* rows_read,
                        std::optional<RowidRange> piece) {
  if (rows_read != nullptr) *rows_read = 0;
  if (!HasTable(table)) return {};
  const std::set<std::string> present = ColumnsOf(table);
  std::string sql = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += present.contains(columns[i]) ? Quoted(columns[i]) : "NULL";
  }
  sql += " FROM " + Quoted(table);
  if (piece) sql += fmt::format(" WHERE rowid BETWEEN {} AND {}", piece->first, piece->last);
  Statement statement;
  if (sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement.handle, nullptr) != SQLITE_OK) {
    return Fail("{}: {}", table, sqlite3_errmsg(handle_));
  }
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement.handle)) == SQLITE_ROW) {
    on_row(SqliteRow(statement.handle));
    if (rows_read != nullptr) ++*rows_read;
  }
  if (step != SQLITE_DONE) return Fail("{}: {}", table, sqlite3_errmsg(handle_));
  return {};
}

}  // namespace telltale::nsight
