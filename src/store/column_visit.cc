#include "store/column_visit.h"

#include <array>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "store/duckdb_type.h"

namespace telltale {
namespace {

struct Visit {
  const OnVisit* on_visit = nullptr;
  size_t most_workers = 0;
  duckdb_value zero = duckdb_create_uint8(0);
  std::mutex mutex;
  std::vector<std::thread::id> workers;
  // That what workers wrote is seen behind the scan, whatever DuckDB's threads share.
  std::atomic<uint64_t> chunks = 0;

  Visit() = default;
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() { duckdb_destroy_value(&zero); }

  size_t Worker() {
    const std::lock_guard<std::mutex> lock(mutex);
    const std::thread::id self = std::this_thread::get_id();
    for (size_t i = 0; i < workers.size(); ++i) {
      if (workers[i] == self) return i;
    }
    if (workers.size() == most_workers) throw std::runtime_error("more threads than DuckDB has");
    workers.push_back(self);
    return workers.size() - 1;
  }
};

constexpr size_t kMostColumns = 8;

// A number of each row that is 0 for all: DuckDB asks for it once a chunk.
void Take(duckdb_function_info info, duckdb_data_chunk chunk, duckdb_vector result) {
  auto& visit = *static_cast<Visit*>(duckdb_scalar_function_get_extra_info(info));
  const idx_t rows = duckdb_data_chunk_get_size(chunk);
  const idx_t count = duckdb_data_chunk_get_column_count(chunk);
  std::array<const void*, kMostColumns> columns{};
  for (idx_t i = 0; i < count; ++i) {
    columns[i] = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, i));
  }
  duckdb_vector_reference_value(result, visit.zero);
  try {
    (*visit.on_visit)(visit.Worker(), std::span(columns.data(), count), rows);
  } catch (const std::exception& error) {
    duckdb_scalar_function_set_error(info, error.what());
  }
  visit.chunks.fetch_add(1, std::memory_order_release);
}

}  // namespace

Result<size_t> VisitWorkers(Connection& connection) {
  TELLTALE_ASSIGN(const int64_t threads,
                  connection.QueryInteger("SELECT current_setting('threads')::BIGINT"));
  return static_cast<size_t>(threads) + 1;  // and the caller's
}

Status VisitColumns(Connection& connection, const std::string& table, const std::string& where,
                    std::span<const VisitedColumn> columns, const OnVisit& on_visit) {
  static std::atomic<uint64_t> next_function{0};
  // DuckDB keeps the function, but nothing calls it again.
  Visit visit;
  visit.on_visit = &on_visit;
  TELLTALE_ASSIGN(visit.most_workers, VisitWorkers(connection));
  const std::string name = fmt::format("telltale_visit_{}", next_function++);
  duckdb_scalar_function function = duckdb_create_scalar_function();
  duckdb_scalar_function_set_name(function, name.c_str());
  duckdb_scalar_function_set_extra_info(function, &visit, nullptr);
  duckdb_scalar_function_set_volatile(function);
  std::string list;
  for (const VisitedColumn& column : columns) {
    duckdb_logical_type type = duckdb_create_logical_type(DuckDbType(column.type));
    duckdb_scalar_function_add_parameter(function, type);
    duckdb_destroy_logical_type(&type);
    list += (list.empty() ? "" : ", ") + std::string(column.name);
  }
  duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_UTINYINT);
  duckdb_scalar_function_set_return_type(function, type);
  duckdb_destroy_logical_type(&type);
  duckdb_scalar_function_set_function(function, Take);
  const duckdb_state registered = duckdb_register_scalar_function(connection.handle(), function);
  duckdb_destroy_scalar_function(&function);
  if (registered == DuckDBError) return Fail("DuckDB does not take a scalar function");
  Status status = connection.Run(fmt::format("SELECT max({}({})) FROM {}{}{}", name, list, table,
                                             where.empty() ? "" : " WHERE ", where));
  (void)visit.chunks.load(std::memory_order_acquire);
  return status;
}

}  // namespace telltale
