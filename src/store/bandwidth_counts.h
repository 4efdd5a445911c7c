#pragma once

// Bus bandwidths as counted execution times, and their exact summary: what busbw_summary() of SQL
// and the passes over records (collectives/rated_slots.h) keep for each group.
//
// A value is round(traffic_bytes / 1e9 / (exec_time_us / 1e6) * bus_factor, 6) GB/s, as the views
// compute busbw_gbs. Equal times are counted, not kept.

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
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

// Counts by key: the number of the formula and the time, which is never 0. Where many records come,
// their times are few and short mostly: those of the first formula are counted in place, all others
// by open addressing.
class TimeTally {
 public:
  void Add(uint64_t key, uint64_t operations) {
    if (key < direct_.size()) {
      used_ += direct_[key] == 0 ? 1 : 0;
      direct_[key] += operations;
      return;
    }
    AddElsewhere(key, operations);
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

  void AddElsewhere(uint64_t key, uint64_t operations);
  void MakeDirect();
  void AddHashed(uint64_t key, uint64_t operations);
  Slot& SlotOf(uint64_t key);
  void Grow();

  std::vector<uint64_t> direct_;
  size_t used_ = 0;    // in direct_
  uint32_t near_ = 0;  // how often a key came that direct_ could hold, before there was one
  std::vector<Slot> slots_;
  size_t hashed_ = 0;  // in slots_
};

class BandwidthCounts {
 public:
  // The number by which times of this formula are added.
  uint32_t NumberOf(const BandwidthFormula& formula);

  // `exec_time_us` and `operations` above 0, of a formula that is rated.
  void Add(uint32_t formula, uint32_t exec_time_us, uint64_t operations) {
    tally_.Add(uint64_t{formula} << 32 | exec_time_us, operations);
  }
  void Add(const BandwidthCounts& other);

  bool empty() const { return tally_.size() == 0; }
  BandwidthSummary Summarise() const;  // not of nothing

 private:
  struct Counted {
    double busbw_gbs = 0;
    uint64_t operations = 0;
  };
  std::vector<Counted> Sorted() const;

  std::vector<BandwidthFormula> formulas_;
  uint32_t last_ = 0;
  TimeTally tally_;
};

}  // namespace telltale
