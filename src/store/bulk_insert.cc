#include "store/bulk_insert.h"

#include <array>
#include <atomic>
#include <string_view>
#include <vector>

#include "store/duckdb_type.h"

namespace telltale {

struct BulkInsert::State {
  Connection* connection = nullptr;
  std::string table;
  std::string selected;
  std::string function_name;
  std::vector<ColumnType> columns;
  unsigned threads = 1;
  // As Fill; a thread keeps the rows that it is to write in its range.
  std::function<size_t(Range& range, std::span<void* const> columns, size_t capacity)> fill;
};

namespace {

void AssignTexts(duckdb_vector vector, std::span<const std::string_view> texts) {
  for (size_t i = 0; i < texts.size(); ++i) {
    duckdb_vector_assign_string_element_len(vector, i, texts[i].data(), texts[i].size());
  }
}

}  // namespace

BulkInsert::BulkInsert(std::unique_ptr<State> state) : state_(std::move(state)) {}
BulkInsert::~BulkInsert() = default;

Result<std::unique_ptr<BulkInsert>> BulkInsert::Create(Connection& connection, std::string table,
                                                       std::span<const ColumnType> columns,
                                                       std::string selected) {
  static std::atomic<uint64_t> next_function{0};
  auto state = std::make_unique<State>();
  state->connection = &connection;
  state->table = std::move(table);
  state->selected = std::move(selected);
  state->function_name = fmt::format("telltale_rows_{}", next_function++);
  state->columns.assign(columns.begin(), columns.end());

  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, state->function_name.c_str());
  duckdb_table_function_set_extra_info(function, state.get(), nullptr);
  duckdb_table_function_set_bind(function, [](duckdb_bind_info info) {
    const auto& bound = *static_cast<const State*>(duckdb_bind_get_extra_info(info));
    for (size_t i = 0; i < bound.columns.size(); ++i) {
      duckdb_logical_type type = duckdb_create_logical_type(DuckDbType(bound.columns[i]));
      duckdb_bind_add_result_column(info, fmt::format("c{}", i).c_str(), type);
      duckdb_destroy_logical_type(&type);
    }
  });
  duckdb_table_function_set_init(function, [](duckdb_init_info info) {
    duckdb_init_set_max_threads(
        info, static_cast<const State*>(duckdb_init_get_extra_info(info))->threads);
  });
  duckdb_table_function_set_local_init(function, [](duckdb_init_info info) {
    duckdb_init_set_init_data(info, new Range,
                              [](void* range) { delete static_cast<Range*>(range); });
  });
  duckdb_table_function_set_function(
      function, [](duckdb_function_info info, duckdb_data_chunk chunk) {
        const auto& bound = *static_cast<const State*>(duckdb_function_get_extra_info(info));
        constexpr size_t kMaxColumns = 16;
        std::array<void*, kMaxColumns> data{};
        std::array<std::vector<std::string_view>, kMaxColumns> texts;
        for (size_t i = 0; i < bound.columns.size(); ++i) {
          if (bound.columns[i] == ColumnType::kText) {
            texts[i].resize(duckdb_vector_size());
            data[i] = texts[i].data();
          } else {
            data[i] = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, i));
          }
        }
        const std::span<void* const> used(data.data(), bound.columns.size());
        Range& range = *static_cast<Range*>(duckdb_function_get_local_init_data(info));
        const size_t rows = bound.fill(range, used, duckdb_vector_size());
        for (size_t i = 0; i < bound.columns.size(); ++i) {
          if (bound.columns[i] == ColumnType::kText) {
            AssignTexts(duckdb_data_chunk_get_vector(chunk, i), {texts[i].data(), rows});
          }
        }
        duckdb_data_chunk_set_size(chunk, rows);
      });
  const duckdb_state registered = duckdb_register_table_function(connection.handle(), function);
  duckdb_destroy_table_function(&function);
  if (registered == DuckDBError) return Fail("DuckDB does not take a table function");
  return std::unique_ptr<BulkInsert>(new BulkInsert(std::move(state)));
}

size_t BulkInsert::VectorRows() { return duckdb_vector_size(); }

Status BulkInsert::Run(unsigned threads) {
  state_->threads = threads;
  return state_->connection->Run(fmt::format("INSERT INTO {} SELECT {} FROM {}()", state_->table,
                                             state_->selected, state_->function_name));
}

Status BulkInsert::Insert(const Fill& fill) {
  state_->fill = [&](Range&, std::span<void* const> columns, size_t capacity) {
    return fill(columns, capacity);
  };
  return Run(1);
}

Status BulkInsert::InsertRanges(size_t count, unsigned threads, const PutRange& put) {
  std::atomic<size_t> next{0};
  state_->fill = [&](Range& range, std::span<void* const> columns, size_t capacity) {
    if (range.next == range.end) {
      range.next = std::min(next.fetch_add(kRowGroup), count);
      range.end = std::min(range.next + kRowGroup, count);
    }
    const size_t rows = std::min(capacity, range.end - range.next);
    put(range.next, columns, rows);
    range.next += rows;
    return rows;
  };
  return Run(threads);
}

Status ParallelInserts::Start() {
  return connection_.Run(
      fmt::format("SET threads = {}; SET preserve_insertion_order = false", threads_));
}

ParallelInserts::~ParallelInserts() {
  (void)connection_.Run("SET threads = 1; SET preserve_insertion_order = true");
}

Result<std::unique_ptr<RowAppender>> RowAppender::Create(Connection& connection,
                                                         const std::string& table) {
  duckdb_appender handle = nullptr;
  if (duckdb_appender_create(connection.handle(), nullptr, table.c_str(), &handle) == DuckDBError) {
    const char* error = handle != nullptr ? duckdb_appender_error(handle) : nullptr;
    std::string text = error != nullptr ? error : "DuckDB gives no appender";
    duckdb_appender_destroy(&handle);
    return Fail("{}: {}", table, text);
  }
  return std::unique_ptr<RowAppender>(new RowAppender(handle));
}

RowAppender::~RowAppender() {
  if (handle_ != nullptr) duckdb_appender_destroy(&handle_);
}

Status RowAppender::Check(int state) {
  if (state != DuckDBError) return {};
  const char* error = duckdb_appender_error(handle_);
  return Fail("{}", error != nullptr ? error : "DuckDB does not take a row");
}

Status RowAppender::Append(std::span<const Cell> row) {
  struct Visitor {
    duckdb_appender appender;
    duckdb_state operator()(std::monostate) const { return duckdb_append_null(appender); }
    duckdb_state operator()(bool value) const { return duckdb_append_bool(appender, value); }
    duckdb_state operator()(int64_t value) const { return duckdb_append_int64(appender, value); }
    duckdb_state operator()(uint64_t value) const { return duckdb_append_uint64(appender, value); }
    duckdb_state operator()(double value) const { return duckdb_append_double(appender, value); }
    duckdb_state operator()(const BigInteger& value) const {
      return duckdb_append_varchar_length(appender, value.digits.data(), value.digits.size());
    }
    duckdb_state operator()(const std::string& value) const {
      const std::string text = StoredText(value);
      return duckdb_append_varchar_length(appender, text.data(), text.size());
    }
  };
  for (const Cell& cell : row) TELLTALE_TRY(Check(std::visit(Visitor{handle_}, cell)));
  return Check(duckdb_appender_end_row(handle_));
}

Status RowAppender::Close() {
  Status status = Check(duckdb_appender_close(handle_));
  duckdb_appender_destroy(&handle_);
  handle_ = nullptr;
  return status;
}

Status LazyAppender::Append(std::span<const Cell> row) {
  if (appender_ == nullptr) {
    TELLTALE_ASSIGN(appender_, RowAppender::Create(connection_, table_));
  }
  return appender_->Append(row);
}

Status LazyAppender::Close() {
  if (appender_ == nullptr) return {};
  const Status status = appender_->Close();
  if (!status) return tl::unexpected(status.error().Within(table_));
  return {};
}

}  // namespace telltale
