#include "store/database.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include <duckdb.h>
#include <simdjson.h>

#include "store/file_format.h"

namespace telltale {
namespace {

std::string Take(char* text) {
  if (text == nullptr) return {};
  std::string copy = text;
  duckdb_free(text);
  return copy;
}

// Fatal errors (such as a full disk at a checkpoint) come with DuckDB's stack.
std::string Readable(const char* message) {
  std::string text = message != nullptr ? message : "unknown error";
  text.resize(std::min(text.find("\n\nStack Trace:"), text.size()));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Result<duckdb_value> BoundValue(const Cell& cell) {
  struct Visitor {
    duckdb_value operator()(std::monostate) const { return duckdb_create_null_value(); }
    duckdb_value operator()(bool value) const { return duckdb_create_bool(value); }
    duckdb_value operator()(int64_t value) const { return duckdb_create_int64(value); }
    duckdb_value operator()(uint64_t value) const { return duckdb_create_uint64(value); }
    duckdb_value operator()(double value) const { return duckdb_create_double(value); }
    duckdb_value operator()(const BigInteger& value) const {
      return duckdb_create_varchar_length(value.digits.data(), value.digits.size());
    }
    duckdb_value operator()(const std::string& value) const {
      const std::string text = StoredText(value);
      return duckdb_create_varchar_length(text.data(), text.size());
    }
  };
  duckdb_value value = std::visit(Visitor{}, cell);
  if (value == nullptr) return Fail("a parameter cannot be given to DuckDB");
  return value;
}

struct TypeHolder {
  duckdb_logical_type type;
  explicit TypeHolder(duckdb_logical_type held) : type(held) {}
  ~TypeHolder() { duckdb_destroy_logical_type(&type); }
  TypeHolder(const TypeHolder&) = delete;
  TypeHolder& operator=(const TypeHolder&) = delete;
};

bool HasOwnCell(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
    case DUCKDB_TYPE_TINYINT:
    case DUCKDB_TYPE_SMALLINT:
    case DUCKDB_TYPE_INTEGER:
    case DUCKDB_TYPE_BIGINT:
    case DUCKDB_TYPE_UTINYINT:
    case DUCKDB_TYPE_USMALLINT:
    case DUCKDB_TYPE_UINTEGER:
    case DUCKDB_TYPE_UBIGINT:
    case DUCKDB_TYPE_FLOAT:
    case DUCKDB_TYPE_DOUBLE:
    case DUCKDB_TYPE_HUGEINT:
    case DUCKDB_TYPE_UHUGEINT:
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_SQLNULL:
      return true;
    default:
      return false;
  }
}

std::string StringAt(duckdb_vector vector, idx_t row) {
  auto* strings = static_cast<duckdb_string_t*>(duckdb_vector_get_data(vector));
  return std::string(duckdb_string_t_data(&strings[row]), duckdb_string_t_length(strings[row]));
}

template <typename T>
T At(duckdb_vector vector, idx_t row) {
  return static_cast<T*>(duckdb_vector_get_data(vector))[row];
}

__extension__ using UInt128 = unsigned __int128;

std::string Digits(UInt128 value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

BigInteger BigIntegerOf(duckdb_hugeint value) {
  const auto bits = UInt128{static_cast<uint64_t>(value.upper)} << 64 | value.lower;
  return {value.upper < 0 ? "-" + Digits(-bits) : Digits(bits)};
}

BigInteger BigIntegerOf(duckdb_uhugeint value) {
  return {Digits(UInt128{value.upper} << 64 | value.lower)};
}

Cell CellAt(duckdb_vector vector, duckdb_type type, idx_t row) {
  uint64_t* validity = duckdb_vector_get_validity(vector);
  if (validity != nullptr && !duckdb_validity_row_is_valid(validity, row)) return {};
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return At<bool>(vector, row);
    case DUCKDB_TYPE_TINYINT:
      return static_cast<int64_t>(At<int8_t>(vector, row));
    case DUCKDB_TYPE_SMALLINT:
      return static_cast<int64_t>(At<int16_t>(vector, row));
    case DUCKDB_TYPE_INTEGER:
      return static_cast<int64_t>(At<int32_t>(vector, row));
    case DUCKDB_TYPE_BIGINT:
      return At<int64_t>(vector, row);
    case DUCKDB_TYPE_UTINYINT:
      return static_cast<uint64_t>(At<uint8_t>(vector, row));
    case DUCKDB_TYPE_USMALLINT:
      return static_cast<uint64_t>(At<uint16_t>(vector, row));
    case DUCKDB_TYPE_UINTEGER:
      return static_cast<uint64_t>(At<uint32_t>(vector, row));
    case DUCKDB_TYPE_UBIGINT:
      return At<uint64_t>(vector, row);
    case DUCKDB_TYPE_FLOAT:
      return static_cast<double>(At<float>(vector, row));
    case DUCKDB_TYPE_DOUBLE:
      return At<double>(vector, row);
    case DUCKDB_TYPE_HUGEINT:
      return BigIntegerOf(At<duckdb_hugeint>(vector, row));
    case DUCKDB_TYPE_UHUGEINT:
      return BigIntegerOf(At<duckdb_uhugeint>(vector, row));
    default:
      return StringAt(vector, row);
  }
}

// A prepared statement with its parameters bound.
class Statement {
 public:
  static Result<std::unique_ptr<Statement>> Prepare(duckdb_connection connection,
                                                    const std::string& sql,
                                                    std::span<const Cell> parameters) {
    auto statement = std::make_unique<Statement>();
    if (duckdb_prepare(connection, sql.c_str(), &statement->handle) == DuckDBError) {
      return Fail("{}", Readable(duckdb_prepare_error(statement->handle)));
    }
    for (size_t i = 0; i < parameters.size(); ++i) {
      TELLTALE_ASSIGN(duckdb_value value, BoundValue(parameters[i]));
      const duckdb_state state = duckdb_bind_value(statement->handle, i + 1, value);
      duckdb_destroy_value(&value);
      if (state == DuckDBError) return Fail("parameter ${} does not fit the query", i + 1);
    }
    return statement;
  }
  Statement() = default;
  ~Statement() { duckdb_destroy_prepare(&handle); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  duckdb_prepared_statement handle = nullptr;
};

// DuckDB writes types that have no cell of their own (decimals, times, lists …) as text best
// itself: the statement is run again inside a cast of just those columns.
std::string WithTextColumns(duckdb_prepared_statement statement, std::string_view sql,
                            idx_t columns) {
  std::string list;
  bool any = false;
  for (idx_t i = 0; i < columns; ++i) {
    const duckdb_type type = duckdb_prepared_statement_column_type(statement, i);
    if (i > 0) list += ", ";
    const bool own = HasOwnCell(type);
    any = any || !own;
    list += own ? fmt::format("c{}", i) : fmt::format("CAST(c{} AS VARCHAR)", i);
  }
  if (!any) return {};
  std::string names;
  for (idx_t i = 0; i < columns; ++i) names += fmt::format("{}c{}", i > 0 ? ", " : "", i);
  while (!sql.empty() &&
         (sql.back() == ';' || std::isspace(static_cast<unsigned char>(sql.back())))) {
    sql.remove_suffix(1);
  }
  return fmt::format("SELECT {} FROM ({}\n) AS telltale_rows({})", list, sql, names);
}

// Puts the statement with such columns cast in the place of `statement`, if it has any.
Status CastToText(duckdb_connection connection, std::string_view sql,
                  std::span<const Cell> parameters, idx_t columns,
                  std::unique_ptr<Statement>& statement) {
  const std::string with_text = WithTextColumns(statement->handle, sql, columns);
  if (with_text.empty()) return {};
  auto cast = Statement::Prepare(connection, with_text, parameters);
  // What does not fit into a subquery may be a comment behind the last semicolon.
  constexpr int kMostComments = 8;
  for (int i = 0; !cast && i < kMostComments; ++i) {
    const size_t line_comment = sql.rfind("--");
    const size_t block_comment = sql.rfind("/*");
    if (line_comment == std::string_view::npos && block_comment == std::string_view::npos) break;
    // npos + 1 is 0.
    sql = sql.substr(0, std::max(line_comment + 1, block_comment + 1) - 1);
    auto shorter = Statement::Prepare(connection, WithTextColumns(statement->handle, sql, columns),
                                      parameters);
    if (shorter) cast = std::move(shorter);
  }
  TELLTALE_ASSIGN(statement, std::move(cast));
  return {};
}

std::string TypeName(duckdb_logical_type logical, duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return "BOOLEAN";
    case DUCKDB_TYPE_TINYINT:
      return "TINYINT";
    case DUCKDB_TYPE_SMALLINT:
      return "SMALLINT";
    case DUCKDB_TYPE_INTEGER:
      return "INTEGER";
    case DUCKDB_TYPE_BIGINT:
      return "BIGINT";
    case DUCKDB_TYPE_UTINYINT:
      return "UTINYINT";
    case DUCKDB_TYPE_USMALLINT:
      return "USMALLINT";
    case DUCKDB_TYPE_UINTEGER:
      return "UINTEGER";
    case DUCKDB_TYPE_UBIGINT:
      return "UBIGINT";
    case DUCKDB_TYPE_HUGEINT:
      return "HUGEINT";
    case DUCKDB_TYPE_UHUGEINT:
      return "UHUGEINT";
    case DUCKDB_TYPE_FLOAT:
      return "FLOAT";
    case DUCKDB_TYPE_DOUBLE:
      return "DOUBLE";
    case DUCKDB_TYPE_VARCHAR:
      return "VARCHAR";
    case DUCKDB_TYPE_BLOB:
      return "BLOB";
    case DUCKDB_TYPE_DATE:
      return "DATE";
    case DUCKDB_TYPE_TIME:
      return "TIME";
    case DUCKDB_TYPE_TIMESTAMP:
      return "TIMESTAMP";
    case DUCKDB_TYPE_TIMESTAMP_S:
      return "TIMESTAMP_S";
    case DUCKDB_TYPE_TIMESTAMP_MS:
      return "TIMESTAMP_MS";
    case DUCKDB_TYPE_TIMESTAMP_NS:
      return "TIMESTAMP_NS";
    case DUCKDB_TYPE_TIMESTAMP_TZ:
      return "TIMESTAMP WITH TIME ZONE";
    case DUCKDB_TYPE_INTERVAL:
      return "INTERVAL";
    case DUCKDB_TYPE_UUID:
      return "UUID";
    case DUCKDB_TYPE_ENUM:
      return "ENUM";
    case DUCKDB_TYPE_LIST:
      return "LIST";
    case DUCKDB_TYPE_STRUCT:
      return "STRUCT";
    case DUCKDB_TYPE_MAP:
      return "MAP";
    case DUCKDB_TYPE_ARRAY:
      return "ARRAY";
    case DUCKDB_TYPE_DECIMAL:
      return fmt::format("DECIMAL({},{})", duckdb_decimal_width(logical),
                         duckdb_decimal_scale(logical));
    default:
      return "OTHER";
  }
}

}  // namespace

std::string StoredText(std::string_view text) {
  if (simdjson::validate_utf8(text)) return std::string(text);
  std::string stored;
  while (!text.empty()) {
    size_t length = std::min<size_t>(4, text.size());
    while (length > 0 && !simdjson::validate_utf8(text.substr(0, length))) --length;
    if (length == 0) {
      stored += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      length = 1;
    } else {
      stored += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return stored;
}

std::string CellText(const Cell& cell) {
  struct Visitor {
    std::string operator()(std::monostate) const { return {}; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return std::to_string(value); }
    std::string operator()(uint64_t value) const { return std::to_string(value); }
    std::string operator()(double value) const {
      std::array<char, 64> text{};
      const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
      return std::string(text.data(), end.ptr);
    }
    std::string operator()(const BigInteger& value) const { return value.digits; }
    std::string operator()(const std::string& value) const { return value; }
  };
  return std::visit(Visitor{}, cell);
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path,
                                                 const DatabaseOptions& options) {
  duckdb_config config = nullptr;
  if (duckdb_create_config(&config) == DuckDBError) return Fail("DuckDB cannot be configured");
  const auto set = [&](const char* name, const std::string& value) {
    return duckdb_set_config(config, name, value.c_str()) != DuckDBError;
  };
  bool configured =
      set("access_mode", options.access == Access::kReadOnly ? "READ_ONLY" : "READ_WRITE") &&
      set("enable_external_access", options.external_access ? "true" : "false") &&
      set("autoinstall_known_extensions", "false") && set("autoload_known_extensions", "false") &&
      set("custom_user_agent", "telltale") && set("default_block_size", kBlockBytes);
  if (options.threads > 0)
    configured = configured && set("threads", std::to_string(options.threads));
  if (!options.memory_limit.empty()) {
    configured = configured && set("memory_limit", options.memory_limit);
  }
  duckdb_database handle = nullptr;
  char* message = nullptr;
  const bool opened =
      configured && duckdb_open_ext(path.c_str(), &handle, config, &message) != DuckDBError;
  duckdb_destroy_config(&config);
  const std::string error = Take(message);
  if (!configured) return Fail("DuckDB does not take the settings (is its version 1.4 or newer?)");
  if (!opened) return Fail("{}", Readable(error.c_str()));
  return std::unique_ptr<Database>(new Database(handle));
}

Database::~Database() { duckdb_close(&handle_); }

Result<std::unique_ptr<Connection>> Database::Connect() {
  duckdb_connection handle = nullptr;
  if (duckdb_connect(handle_, &handle) == DuckDBError) return Fail("DuckDB gives no connection");
  return std::unique_ptr<Connection>(new Connection(handle));
}

Connection::~Connection() { duckdb_disconnect(&handle_); }

Status Connection::Run(const std::string& sql) {
  duckdb_result result;
  const duckdb_state state = duckdb_query(handle_, sql.c_str(), &result);
  std::string error = state == DuckDBError ? Readable(duckdb_result_error(&result)) : std::string();
  duckdb_destroy_result(&result);
  if (state == DuckDBError) return Fail("{}", error);
  return {};
}

Status Connection::Run(const std::string& sql, std::span<const Cell> parameters) {
  return Query(
      sql, parameters, [](const auto&) { return Status(); }, [](auto&) { return Status(); });
}

Result<Table> Connection::Query(const std::string& sql, std::span<const Cell> parameters) {
  Table table;
  TELLTALE_TRY(Query(
      sql, parameters,
      [&](const std::vector<ColumnInfo>& columns) {
        table.columns = columns;
        return Status();
      },
      [&](std::vector<Cell>& row) {
        table.rows.push_back(std::move(row));
        row.resize(table.columns.size());
        return Status();
      }));
  return table;
}

Status Connection::Query(const std::string& sql, std::span<const Cell> parameters,
                         const std::function<Status(const std::vector<ColumnInfo>&)>& on_columns,
                         const RowCallback& on_row) {
  TELLTALE_ASSIGN(std::unique_ptr<Statement> statement,
                  Statement::Prepare(handle_, sql, parameters));
  const idx_t column_count = duckdb_prepared_statement_column_count(statement->handle);
  std::vector<ColumnInfo> columns;
  for (idx_t i = 0; i < column_count; ++i) {
    const char* name = duckdb_prepared_statement_column_name(statement->handle, i);
    const TypeHolder logical(duckdb_prepared_statement_column_logical_type(statement->handle, i));
    const duckdb_type type = duckdb_get_type_id(logical.type);
    columns.push_back({name != nullptr ? name : "", TypeName(logical.type, type)});
    duckdb_free(const_cast<char*>(name));
  }
  const duckdb_statement_type kind = duckdb_prepared_statement_type(statement->handle);
  if (kind == DUCKDB_STATEMENT_TYPE_SELECT) {
    if (duckdb_prepared_statement_column_type(statement->handle, 0) == DUCKDB_TYPE_INVALID) {
      return Fail("the type of a parameter is not known; cast it, as in $1::VARCHAR");
    }
    TELLTALE_TRY(CastToText(handle_, sql, parameters, column_count, statement));
  }

  duckdb_pending_result pending = nullptr;
  duckdb_result result{};
  if (duckdb_pending_prepared_streaming(statement->handle, &pending) == DuckDBError ||
      duckdb_execute_pending(pending, &result) == DuckDBError) {
    std::string error = Readable(duckdb_pending_error(pending));
    if (const char* more = duckdb_result_error(&result); more != nullptr) error = Readable(more);
    duckdb_destroy_result(&result);
    duckdb_destroy_pending(&pending);
    return Fail("{}", error);
  }
  Status status;
  std::vector<duckdb_type> types(column_count);
  for (idx_t i = 0; i < column_count && status; ++i) {
    types[i] = duckdb_column_type(&result, i);
    if (HasOwnCell(types[i])) continue;
    status = Fail("column {} has type {}, which only a SELECT can give", columns[i].name,
                  columns[i].type);
  }
  std::vector<duckdb_vector> vectors(column_count);
  std::vector<Cell> row(column_count);
  bool first = true;
  while (status) {
    duckdb_data_chunk chunk = duckdb_fetch_chunk(result);
    if (chunk == nullptr) {
      if (const char* error = duckdb_result_error(&result); error != nullptr && *error != '\0') {
        status = Fail("{}", Readable(error));
        break;
      }
    }
    // Only now is it sure that there is an answer.
    if (first) status = on_columns(columns);
    first = false;
    if (chunk == nullptr) break;
    const idx_t rows = duckdb_data_chunk_get_size(chunk);
    for (idx_t i = 0; i < column_count; ++i) vectors[i] = duckdb_data_chunk_get_vector(chunk, i);
    for (idx_t r = 0; r < rows && status; ++r) {
      for (idx_t i = 0; i < column_count; ++i) row[i] = CellAt(vectors[i], types[i], r);
      status = on_row(row);
    }
    duckdb_destroy_data_chunk(&chunk);
    if (rows == 0) break;
  }
  duckdb_destroy_result(&result);
  duckdb_destroy_pending(&pending);
  return status;
}

Result<int64_t> Connection::QueryInteger(const std::string& sql, std::span<const Cell> parameters) {
  TELLTALE_ASSIGN(const Table table, Query(sql, parameters));
  if (table.rows.size() != 1 || table.rows[0].size() != 1)
    return Fail("one value expected: {}", sql);
  const Cell& cell = table.rows[0][0];
  if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<bool>(&cell)) return *value ? 1 : 0;
  const std::string text = CellText(cell);
  int64_t integer = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), integer);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  if (whole && !std::holds_alternative<double>(cell)) return integer;
  if (std::holds_alternative<std::monostate>(cell)) return 0;
  return Fail("an integer expected: {}", sql);
}

}  // namespace telltale
