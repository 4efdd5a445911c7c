#include "store/busbw_summary.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <new>

#include <duckdb.h>

namespace telltale {
namespace {

// How a time becomes a bandwidth: one for each message size and number of ranks.
struct Formula {
  double traffic_bytes = 0;
  double bus_factor = 0;
  bool operator==(const Formula&) const = default;

  double BusbwGbs(uint32_t exec_time_us) const {
    const double busbw = traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor;
    const double rounded = std::round(busbw * 1e6) / 1e6;
    return std::isfinite(rounded) ? rounded : busbw;
  }
};

struct Counted {
  double busbw_gbs = 0;
  uint64_t operations = 0;
};

// Counts by key: the number of the formula and the time, which is never 0. Where many records come,
// their times are few and short mostly: those of the first formula are counted in place, all others
// by open addressing.
class TimeCounts {
 public:
  void Add(uint64_t key, uint64_t operations) {
    if (key < direct_.size()) {
      used_ += direct_[key] == 0 ? 1 : 0;
      direct_[key] += operations;
      return;
    }
    if (key < kMostDirect && ++near_ > kManyNear) {
      MakeDirect();
      return Add(key, operations);
    }
    AddHashed(key, operations);
  }

  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (uint64_t key = 0; key < direct_.size(); ++key) {
      if (direct_[key] > 0) visit(key, direct_[key]);
    }
    for (const Slot& slot : slots_) {
      if (slot.key != 0) visit(slot.key, slot.operations);
    }
  }
  size_t size() const { return used_ + hashed_; }

 private:
  struct Slot {
    uint64_t key = 0;
    uint64_t operations = 0;
  };
  static constexpr uint64_t kMostDirect = 4096;
  static constexpr uint32_t kManyNear = 4096;

  void MakeDirect() {
    direct_.resize(kMostDirect);
    std::vector<Slot> old;
    old.swap(slots_);
    hashed_ = 0;
    for (const Slot& slot : old) {
      if (slot.key != 0) Add(slot.key, slot.operations);
    }
  }

  void AddHashed(uint64_t key, uint64_t operations) {
    if (hashed_ * 4 >= slots_.size() * 3) Grow();
    Slot& slot = SlotOf(key);
    if (slot.key == 0) {
      slot.key = key;
      ++hashed_;
    }
    slot.operations += operations;
  }

  Slot& SlotOf(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    // The low bits of times are spread well enough by a multiplication (Fibonacci hashing).
    size_t at = static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
    while (slots_[at].key != 0 && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }

  void Grow() {
    constexpr size_t kFirstSize = 16;
    std::vector<Slot> old(std::max(slots_.size() * 2, kFirstSize));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.key != 0) SlotOf(slot.key) = slot;
    }
  }

  std::vector<uint64_t> direct_;
  size_t used_ = 0;    // in direct_
  uint32_t near_ = 0;  // how often a key below kMostDirect came before there was direct_
  std::vector<Slot> slots_;
  size_t hashed_ = 0;  // in slots_
};

class Summary {
 public:
  uint32_t NumberOf(const Formula& formula) {
    if (last_ < formulas_.size() && formulas_[last_] == formula) return last_;
    const auto found = std::find(formulas_.begin(), formulas_.end(), formula);
    last_ = static_cast<uint32_t>(found - formulas_.begin());
    if (found == formulas_.end()) formulas_.push_back(formula);
    return last_;
  }

  void Add(uint32_t formula, uint32_t exec_time_us, uint64_t operations) {
    counts_.Add(uint64_t{formula} << 32 | exec_time_us, operations);
  }

  void Add(const Summary& other) {
    other.counts_.ForEach([&](uint64_t key, uint64_t operations) {
      Add(NumberOf(other.formulas_[key >> 32]), static_cast<uint32_t>(key), operations);
    });
  }

  bool empty() const { return counts_.size() == 0; }

  // Ascending by bandwidth.
  std::vector<Counted> Sorted() const {
    std::vector<Counted> sorted;
    sorted.reserve(counts_.size());
    if (formulas_.size() == 1) {
      // Bandwidth falls as time rises, and integers sort faster.
      std::vector<std::pair<uint32_t, uint64_t>> times;
      times.reserve(counts_.size());
      counts_.ForEach([&](uint64_t key, uint64_t operations) {
        times.emplace_back(static_cast<uint32_t>(key), operations);
      });
      std::sort(times.begin(), times.end(),
                [](const auto& a, const auto& b) { return a.first > b.first; });
      for (const auto& [time, operations] : times) {
        sorted.push_back({formulas_[0].BusbwGbs(time), operations});
      }
      return sorted;
    }
    counts_.ForEach([&](uint64_t key, uint64_t operations) {
      sorted.push_back({formulas_[key >> 32].BusbwGbs(static_cast<uint32_t>(key)), operations});
    });
    std::sort(sorted.begin(), sorted.end(), [](const Counted& a, const Counted& b) {
      return a.busbw_gbs != b.busbw_gbs ? a.busbw_gbs < b.busbw_gbs : a.operations < b.operations;
    });
    return sorted;
  }

 private:
  std::vector<Formula> formulas_;
  uint32_t last_ = 0;
  TimeCounts counts_;
};

// What DuckDB keeps for each group.
struct State {
  Summary* summary;
};
State& StateOf(duckdb_aggregate_state state) { return *reinterpret_cast<State*>(state); }

constexpr std::array kFields = {"n",   "min", "p10", "p25",  "p50",
                                "p75", "p90", "max", "mean", "stddev"};
constexpr std::array<uint64_t, 7> kPercents = {0, 10, 25, 50, 75, 90, 100};

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
  const auto* operations = DataOf<uint32_t>(input, 3);
  const idx_t rows = duckdb_data_chunk_get_size(input);
  const bool has_nulls = HasNulls(input);
  duckdb_aggregate_state group = nullptr;
  Formula formula;
  bool counts = false;
  Summary* summary = nullptr;
  uint32_t number = 0;
  for (idx_t row = 0; row < rows; ++row) {
    if (has_nulls && !AllValid(input, row)) continue;
    const Formula of_row = {traffic_bytes[row], bus_factor[row]};
    if (states[row] != group || !(of_row == formula)) {
      group = states[row];
      formula = of_row;
      const double factor = formula.traffic_bytes * formula.bus_factor;
      counts = factor > 0 && std::isfinite(factor);
      if (counts) {
        State& state = StateOf(group);
        if (state.summary == nullptr) state.summary = new Summary;
        summary = state.summary;
        number = summary->NumberOf(formula);
      }
    }
    if (counts && exec_time_us[row] > 0 && operations[row] > 0) {
      summary->Add(number, exec_time_us[row], operations[row]);
    }
  }
}

void Combine(duckdb_aggregate_state* sources, duckdb_aggregate_state* targets, idx_t count) {
  for (idx_t i = 0; i < count; ++i) {
    State& source = StateOf(sources[i]);
    State& target = StateOf(targets[i]);
    if (source.summary == nullptr) continue;
    if (target.summary == nullptr) {
      std::swap(source.summary, target.summary);
    } else {
      target.summary->Add(*source.summary);
    }
  }
}

void SetNull(duckdb_vector vector, idx_t row) {
  duckdb_vector_ensure_validity_writable(vector);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row);
}

// Writes one row of the result.
void Write(const Summary& summary, duckdb_vector result, idx_t row) {
  const std::vector<Counted> sorted = summary.Sorted();
  uint64_t n = 0;
  double sum = 0;
  for (const Counted& value : sorted) {
    n += value.operations;
    sum += value.busbw_gbs * static_cast<double>(value.operations);
  }
  const double mean = sum / static_cast<double>(n);
  double squares = 0;
  for (const Counted& value : sorted) {
    const double off = value.busbw_gbs - mean;
    squares += off * off * static_cast<double>(value.operations);
  }
  const auto child = [&](size_t field) { return duckdb_struct_vector_get_child(result, field); };
  const auto set = [&](size_t field, double value) {
    static_cast<double*>(duckdb_vector_get_data(child(field)))[row] = value;
  };
  static_cast<uint64_t*>(duckdb_vector_get_data(child(0)))[row] = n;
  size_t at = 0;
  uint64_t up_to = sorted[0].operations;  // operations that are no faster than sorted[at]
  for (size_t i = 0; i < kPercents.size(); ++i) {
    const uint64_t wanted = (n / 100) * kPercents[i] + ((n % 100) * kPercents[i] + 99) / 100;
    while (up_to < wanted && at + 1 < sorted.size()) up_to += sorted[++at].operations;
    set(1 + i, sorted[at].busbw_gbs);
  }
  constexpr size_t kMean = 1 + kPercents.size();
  set(kMean, mean);
  if (n > 1) {
    set(kMean + 1, std::sqrt(squares / static_cast<double>(n - 1)));
  } else {
    SetNull(child(kMean + 1), row);
  }
}

void Finalize(duckdb_aggregate_state* states, duckdb_vector result, idx_t count, idx_t offset) {
  for (idx_t i = 0; i < count; ++i) {
    const State& state = StateOf(states[i]);
    if (state.summary != nullptr && !state.summary->empty()) {
      Write(*state.summary, result, offset + i);
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
       {DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE, DUCKDB_TYPE_UINTEGER, DUCKDB_TYPE_UINTEGER}) {
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
      [](duckdb_function_info, duckdb_aggregate_state state) { StateOf(state).summary = nullptr; },
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
                                               delete StateOf(states[i]).summary;
                                             }
                                           });
  const duckdb_state registered = duckdb_register_aggregate_function(connection.handle(), function);
  duckdb_destroy_aggregate_function(&function);
  if (registered == DuckDBError) return Fail("DuckDB does not take the function busbw_summary");
  return {};
}

}  // namespace telltale
