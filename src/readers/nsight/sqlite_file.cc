#include "readers/nsight/sqlite_file.h"

#include <algorithm>
#include <limits>

#include <sqlite3.h>

namespace telltale::nsight {
namespace {

// Names have double quotation marks, texts single ones.
std::string Quoted(std::string_view text, char mark = '"') {
  std::string quoted(1, mark);
  for (const char c : text) {
    if (c == mark) quoted += mark;
    quoted += c;
  }
  return quoted + mark;
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

class Statement {
 public:
  // One that cannot be prepared has no rows.
  Statement(sqlite3* database, const std::string& sql) {
    prepared_ = sqlite3_prepare_v2(database, sql.c_str(), -1, &handle_, nullptr) == SQLITE_OK;
    if (prepared_) values_.resize(static_cast<size_t>(sqlite3_column_count(handle_)));
  }
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Goes to the next row, if there is one.
  bool Step() {
    if (!prepared_) return false;
    const int step = sqlite3_step(handle_);
    at_end_ = step == SQLITE_DONE;
    if (step != SQLITE_ROW) return false;
    for (size_t i = 0; i < values_.size(); ++i) Set(static_cast<int>(i), values_[i]);
    return true;
  }
  bool at_end() const { return at_end_; }  // rather than at an error
  SqliteRow row() const { return SqliteRow(values_); }

 private:
  void Set(int column, SqliteValue& value) {
    using Kind = SqliteValue::Kind;
    switch (sqlite3_column_type(handle_, column)) {
      case SQLITE_INTEGER:
        value.kind = Kind::kInteger;
        value.integer = sqlite3_column_int64(handle_, column);
        return;
      case SQLITE_FLOAT:
        value.kind = Kind::kReal;
        value.integer = sqlite3_column_int64(handle_, column);
        return;
      case SQLITE_NULL:
        value.kind = Kind::kNull;
        return;
      default: {
        value.kind = Kind::kText;
        const void* const bytes = sqlite3_column_type(handle_, column) == SQLITE_BLOB
                                      ? sqlite3_column_blob(handle_, column)
                                      : sqlite3_column_text(handle_, column);
        const auto count = static_cast<size_t>(sqlite3_column_bytes(handle_, column));
        value.text = bytes == nullptr ? std::string_view()
                                      : std::string_view(static_cast<const char*>(bytes), count);
      }
    }
  }

  sqlite3_stmt* handle_ = nullptr;
  std::vector<SqliteValue> values_;
  bool prepared_ = false;
  bool at_end_ = false;
};

bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         sqlite3_strnicmp(a.data(), b.data(), static_cast<int>(a.size())) == 0;
}

// Columns of these types hold whole numbers as integers, and give them as real ones.
bool IsRealType(std::string type) {
  for (char& c : type) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  return !has("INT") && (has("REAL") || has("FLOA") || has("DOUB"));
}

}  // namespace

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
  Statement tables(handle, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1");
  while (tables.Step()) file->tables_.emplace_back(tables.row().Text(0));
  if (!tables.at_end()) return Fail("{}", sqlite3_errmsg(handle));
  file->pages_ = SqlitePages::Open(path);
  return file;
}

SqliteFile::~SqliteFile() { sqlite3_close_v2(handle_); }

bool SqliteFile::HasTable(std::string_view table) const {
  return std::find(tables_.begin(), tables_.end(), table) != tables_.end();
}

std::set<std::string> SqliteFile::ColumnsOf(const std::string& table) const {
  std::set<std::string> columns;
  Statement info(handle_, fmt::format("PRAGMA table_info({})", Quoted(table)));
  while (info.Step()) columns.emplace(info.row().Text(1));
  return columns;
}

Result<uint64_t> SqliteFile::CountOf(const std::string& table) const {
  Statement count(handle_, fmt::format("SELECT count(*) FROM {}", Quoted(table)));
  if (!count.Step()) return Fail("{}: {}", table, sqlite3_errmsg(handle_));
  return static_cast<uint64_t>(count.row().Integer(0));
}

std::optional<RowidRange> SqliteFile::RowidsOf(const std::string& table) const {
  if (!HasTable(table)) return {};
  for (const std::string& column : ColumnsOf(table)) {
    if (EqualsIgnoringCase(column, "rowid")) return {};
  }
  Statement range(handle_,
                  fmt::format("SELECT (SELECT min(rowid) FROM {0}), (SELECT max(rowid) FROM {0})",
                              Quoted(table)));
  if (!range.Step() || !range.row().IsInteger(0) || !range.row().IsInteger(1)) return {};
  return RowidRange{range.row().Integer(0), range.row().Integer(1)};
}

// Nothing where a table must be left to SQLite.
std::optional<TableLayout> SqliteFile::LayoutOf(const std::string& table,
                                                const std::vector<std::string>& columns) const {
  if (pages_ == nullptr) return {};
  TableLayout layout;
  Statement list(handle_, fmt::format("PRAGMA table_list({})", Quoted(table)));
  if (!list.Step()) return {};
  // Without row ids it is laid out as an index.
  if (list.row().Text(2) != "table" || list.row().Integer(4) != 0) return {};
  Statement master(handle_,
                   "SELECT rootpage, sql FROM sqlite_master WHERE type = 'table' AND "
                   "name = " +
                       Quoted(table, '\''));
  if (!master.Step() || master.row().Integer(0) <= 0 ||
      master.row().Integer(0) > std::numeric_limits<uint32_t>::max()) {
    return {};
  }
  layout.root_page = static_cast<uint32_t>(master.row().Integer(0));
  layout.columns.assign(columns.size(), -1);
  // A key that falls is no row id, for reasons of SQLite's history.
  const bool may_alias = master.row().Text(1).find("DESC") == std::string_view::npos &&
                         master.row().Text(1).find("desc") == std::string_view::npos;
  int keys = 0;
  Statement info(handle_, fmt::format("PRAGMA table_xinfo({})", Quoted(table)));
  for (int place = 0; info.Step(); ++place) {
    const SqliteRow row = info.row();
    if (row.Integer(6) != 0) return {};  // computed
    const std::string type(row.Text(2));
    const bool is_key = row.Integer(5) != 0;
    keys += is_key ? 1 : 0;
    if (is_key && EqualsIgnoringCase(type, "INTEGER")) {
      if (!may_alias) return {};
      layout.rowid_column = place;
    }
    const std::string name(row.Text(1));
    for (size_t i = 0; i < columns.size(); ++i) {
      if (columns[i] != name) continue;
      // A column that was added later has its default in older rows.
      if (!row.IsNull(4) || IsRealType(type)) return {};
      layout.columns[i] = place;
    }
  }
  if (!info.at_end()) return {};
  if (keys != 1) layout.rowid_column = -1;
  return layout;
}

Status SqliteFile::ScanBySql(const std::string& table, const std::vector<std::string>& columns,
                             const std::function<void(const SqliteRow&)>& on_row,
                             std::optional<RowidRange> piece) const {
  const std::set<std::string> present = ColumnsOf(table);
  std::string sql = "SELECT ";
  for (size_t i = 0; i < columns.size(); ++i) {
    if (i > 0) sql += ", ";
    sql += present.contains(columns[i]) ? Quoted(columns[i]) : "NULL";
  }
  sql += " FROM " + Quoted(table);
  if (piece) sql += fmt::format(" WHERE rowid BETWEEN {} AND {}", piece->first, piece->last);
  Statement statement(handle_, sql);
  while (statement.Step()) on_row(statement.row());
  if (!statement.at_end()) return Fail("{}: {}", table, sqlite3_errmsg(handle_));
  return {};
}

Status SqliteFile::Scan(const std::string& table, const std::vector<std::string>& columns,
                        const std::function<void(const SqliteRow&)>& on_row, uint64_t* rows_read,
                        std::optional<RowidRange> piece) {
  if (rows_read != nullptr) *rows_read = 0;
  if (!HasTable(table)) return {};
  const auto on_each = [&](const SqliteRow& row) {
    on_row(row);
    if (rows_read != nullptr) ++*rows_read;
  };
  const std::optional<TableLayout> layout = LayoutOf(table, columns);
  if (!layout) return ScanBySql(table, columns, on_each, piece);
  const Status status = pages_->Scan(*layout, piece.value_or(RowidRange()), on_each);
  if (!status) return Fail("{}: {}", table, status.error().message);
  return {};
}

}  // namespace telltale::nsight
