#pragma once

// Bus bandwidths as counted execution times, and their exact summary: what busbw_summary() of SQL
// and the passes over records (collectives/rated_slots.h) keep for each group.
//
// A value is round(traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor, 6) GB/s, as the views
// compute busbw_gbs. Equal times are counted, not kept.

#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace telltale {

// How a time becomes a bandwidth: one for each message size and number of ranks.
struct BandwidthFormula {
  double traffic_bytes = 0;
  double bus_factor = 0;
  bool operator==(const BandwidthFormula&) const = default;

  // Whether its bandwidths count: they are above 0.
  bool IsRated() const {
    const double factor = traffic_bytes * bus_factor;
    return factor > 0 && std::isfinite(factor);
  }
  double BusbwGbs(uint32_t exec_time_us) const;
};

constexpr std::array<uint64_t, 7> kBandwidthPercents = {0, 10, 25, 50, 75, 90, 100};

// GB/s (1e9). Quantiles are values of the data (as quantile_disc gives them), the deviation is of
// the sample, and not there for a single value.
struct BandwidthSummary {
  uint64_t n = 0;
  std::array<double, kBandwidthPercents.size()> quantiles{};  // at kBandwidthPercents
  double mean = 0;
  std::optional<double> stddev;
};

class BandwidthCounts {
 public:
  // The number by which times of this formula are added.
  uint32_t NumberOf(const BandwidthFormula& formula) {
    return formula == first_.formula ? 0 : NumberOfOther(formula);
  }

  // `exec_time_us` and `operations` above 0, of a formula that is rated.
  void Add(uint32_t formula, uint32_t exec_time_us, uint64_t operations);
  void Add(BandwidthCounts&& other);
  // Each of the times once; those of 0 are passed over.
  void AddEach(uint32_t formula, const uint32_t* exec_time_us, size_t count);
  // Each of the times as often as it came; those of 0 are passed over.
  void AddCounted(uint32_t formula, const uint32_t* exec_time_us, const uint32_t* operations,
                  size_t count);

  bool empty() const;
  BandwidthSummary Summarise();  // not of nothing
  // How often each time came, by formula and rising time.
  template <typename OnTime>
  void ForEachTime(const OnTime& on_time) {
    Gather();
    for (const Entry& entry : entries_) on_time(entry.exec_time_us, entry.operations);
  }

 private:
  struct Entry {
    uint32_t formula = 0;
    uint32_t exec_time_us = 0;
    uint64_t operations = 0;
    uint64_t key() const { return uint64_t{formula} << 32 | exec_time_us; }
  };
  struct FormulaHash {
    size_t operator()(const BandwidthFormula& formula) const {
      return std::hash<double>()(formula.traffic_bytes) ^ std::hash<double>()(formula.bus_factor)
                                                              << 1;
    }
  };
  static void Compact(std::vector<Entry>& entries);
  void CompactIfMany();
  // All that was counted, sorted, in entries_.
  void Gather();

  struct OfFormula {
    BandwidthFormula formula;
    // As they came: those outside of the window, or all until they are enough to see where one
    // lies.
    std::vector<uint32_t> times;
    uint32_t low = 0;
    std::vector<uint32_t> window;  // how often each time from `low` on came
    uint64_t in_window = 0;        // so many in all: less than a number of the window can hold
  };
  OfFormula& Of(uint32_t formula) { return formula == 0 ? first_ : others_[formula - 1]; }
  uint32_t NumberOfOther(const BandwidthFormula& formula);
  void AddTimes(uint32_t formula, const uint32_t* exec_time_us, size_t count);
  void AddToWindow(uint32_t formula, const uint32_t* exec_time_us, size_t count);
  static void MoveToWindow(OfFormula& of);
  static void Widen(OfFormula& of, uint64_t low, uint64_t end);
  void AddWindow(uint32_t formula, OfFormula& other);
  void CountTimes(uint32_t formula);
  void CountWindow(uint32_t formula);
  void AddCounts(uint32_t formula, uint32_t low, const std::vector<uint32_t>& counts);

  OfFormula first_;  // mostly there is one
  std::vector<OfFormula> others_;
  std::unordered_map<BandwidthFormula, uint32_t, FormulaHash> number_of_;  // where they are many
  std::vector<Entry> entries_;  // those counted; equal ones are put together now and then
  size_t compact_at_ = 0;       // how many entries are worth putting together
};

}  // namespace telltale
