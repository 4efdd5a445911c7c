#include "store/busbw_summary.h"

#include <array>
#include <cmath>
#include <new>

#include <duckdb.h>

#include "store/bandwidth_counts.h"

namespace telltale {
namespace {

// What DuckDB keeps for each group.
struct State {
  BandwidthCounts* counts;
};
State& StateOf(duckdb_aggregate_state state) { return *reinterpret_cast<State*>(state); }

constexpr std::array kFields = {"n",   "min", "p10", "p25",  "p50",
                                "p75", "p90", "max", "mean", "stddev"};

template <typename T>
const T* DataOf(duckdb_data_chunk chunk, idx_t column) {
  return static_cast<const T*>(duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, column)));
}

bool AllValid(duckdb_data_chunk chunk, idx_t row) {
  for (idx_t column = 0; column < duckdb_data_chunk_get_column_count(chunk); ++column) {
    uint64_t* validity = duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk, column));
    if (validity != nullptr && !duckdb_validity_row_is_valid(validity, row)) return false;
  }
  return true;
}

bool HasNulls(duckdb_data_chunk chunk) {
  for (idx_t column = 0; column < duckdb_data_chunk_get_column_count(chunk); ++column) {
    if (duckdb_vector_get_validity(duckdb_data_chunk_get_vector(chunk, column)) != nullptr)
      return true;
  }
  return false;
}

// Neighbouring rows mostly are of one series: what follows from group and formula is kept for the
// next row.
void Update(duckdb_data_chunk input, duckdb_aggregate_state* states) {
  const auto* traffic_bytes = DataOf<double>(input, 0);
  const auto* bus_factor = DataOf<double>(input, 1);
  const auto* exec_time_us = DataOf<uint32_t>(input, 2);
  const auto* operations = DataOf<uint64_t>(input, 3);
  const idx_t rows = duckdb_data_chunk_get_size(input);
  const bool has_nulls = HasNulls(input);
  duckdb_aggregate_state group = nullptr;
  BandwidthFormula formula;
  bool is_rated = false;
  BandwidthCounts* counts = nullptr;
  uint32_t number = 0;
  for (idx_t row = 0; row < rows; ++row) {
    if (has_nulls && !AllValid(input, row)) continue;
    const BandwidthFormula of_row = {traffic_bytes[row], bus_factor[row]};
    if (states[row] != group || !(of_row == formula)) {
      group = states[row];
      formula = of_row;
      is_rated = formula.IsRated();
      if (is_rated) {
        State& state = StateOf(group);
        if (state.counts == nullptr) state.counts = new BandwidthCounts;
        counts = state.counts;
        number = counts->NumberOf(formula);
      }
    }
    if (is_rated && exec_time_us[row] > 0 && operations[row] > 0) {
      counts->Add(number, exec_time_us[row], operations[row]);
    }
  }
}

void Combine(duckdb_aggregate_state* sources, duckdb_aggregate_state* targets, idx_t count) {
  for (idx_t i = 0; i < count; ++i) {
    State& source = StateOf(sources[i]);
    State& target = StateOf(targets[i]);
    if (source.counts == nullptr) continue;
    if (target.counts == nullptr) {
      std::swap(source.counts, target.counts);
    } else {
      target.counts->Add(std::move(*source.counts));
    }
  }
}

void SetNull(duckdb_vector vector, idx_t row) {
  duckdb_vector_ensure_validity_writable(vector);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
}

// Writes one row of the result.
void Write(BandwidthCounts& counts, duckdb_vector result, idx_t row) {
  const BandwidthSummary summary = counts.Summarise();
  const auto child = [&](size_t field) { return duckdb_struct_vector_get_child(result, field); };
  const auto set = [&](size_t field, double value) {
    static_cast<double*>(duckdb_vector_get_data(child(field)))[row] = value;
  };
  static_cast<uint64_t*>(duckdb_vector_get_data(child(0)))[row] = summary.n;
  for (size_t i = 0; i < summary.quantiles.size(); ++i) set(1 + i, summary.quantiles[i]);
  constexpr size_t kMean = 1 + kBandwidthPercents.size();
  set(kMean, summary.mean);
  if (summary.stddev) {
    set(kMean + 1, *summary.stddev);
  } else {
    SetNull(child(kMean + 1), row);
  }
}

void Finalize(duckdb_aggregate_state* states, duckdb_vector result, idx_t count, idx_t offset) {
  for (idx_t i = 0; i < count; ++i) {
    const State& state = StateOf(states[i]);
    if (state.counts != nullptr && !state.counts->empty()) {
      Write(*state.counts, result, offset + i);
      continue;
    }
    SetNull(result, offset + i);
    for (size_t field = 0; field < kFields.size(); ++field) {
      SetNull(duckdb_struct_vector_get_child(result, field), offset + i);
    }
  }
}

// No exception may pass through DuckDB's C API.
template <typename Work>
void Guarded(duckdb_function_info info, const Work& work) {
  try {
    work();
  } catch (const std::bad_alloc&) {
    duckdb_aggregate_function_set_error(info, "busbw_summary: out of memory");
  }
}

}  // namespace

Status RegisterBusbwSummary(Connection& connection) {
  duckdb_aggregate_function function = duckdb_create_aggregate_function();
  duckdb_aggregate_function_set_name(function, "busbw_summary");
  for (const duckdb_type parameter :
       {DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_UINTEGER, DUCKDB_TYPE_UBIGINT}) {
    duckdb_logical_type type = duckdb_create_logical_type(parameter);
    duckdb_aggregate_function_add_parameter(function, type);
    duckdb_destroy_logical_type(&type);
  }
  std::array<duckdb_logical_type, kFields.size()> types{};
  std::array<const char*, kFields.size()> names = kFields;
  for (size_t i = 0; i < types.size(); ++i) {
    types[i] = duckdb_create_logical_type(i == 0 ? DUCKDB_TYPE_UBIGINT : DUCKDB_TYPE_DOUBLE);
  }
  duckdb_logical_type result = duckdb_create_struct_type(types.data(), names.data(), types.size());
  duckdb_aggregate_function_set_return_type(function, result);
  duckdb_destroy_logical_type(&result);
  for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);

  duckdb_aggregate_function_set_functions(
      function, [](duckdb_function_info) -> idx_t { return sizeof(State); },
      [](duckdb_function_info, duckdb_aggregate_state state) { StateOf(state).counts = nullptr; },
      [](duckdb_function_info info, duckdb_data_chunk input, duckdb_aggregate_state* states) {
        Guarded(info, [&] { Update(input, states); });
      },
      [](duckdb_function_info info, duckdb_aggregate_state* source, duckdb_aggregate_state* target,
         idx_t count) { Guarded(info, [&] { Combine(source, target, count); }); },
      [](duckdb_function_info info, duckdb_aggregate_state* source, duckdb_vector vector,
         idx_t count,
         idx_t offset) { Guarded(info, [&] { Finalize(source, vector, count, offset); }); });
  duckdb_aggregate_function_set_destructor(function,
                                           [](duckdb_aggregate_state* states, idx_t count) {
                                             for (idx_t i = 0; i < count; ++i) {
                                               delete StateOf(states[i]).counts;
                                             }
                                           });
  const duckdb_state registered = duckdb_register_aggregate_function(connection.handle(), function);
  duckdb_destroy_aggregate_function(&function);
  if (registered == DuckDBError) return Fail("DuckDB does not take the function busbw_summary");
  return {};
}

}  // namespace telltale
