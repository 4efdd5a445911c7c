#pragma once

// The rollup operation_histogram: how many records of a series took each execution time. It is
// exact, a tenth of the records, and all that quantiles and bandwidths over records need.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "store/bulk_insert.h"

namespace telltale {

// A row of operation_histogram.
struct TimeCount {
  uint32_t series = 0;
  uint32_t exec_time_us = 0;
  uint32_t operations = 0;
};

// The places whose count is not 0, which mostly are few.
template <typename OnPlace>
void ForEachCounted(const std::vector<uint32_t>& counts, const OnPlace& on_place) {
  constexpr size_t kAtOnce = 8;
  const auto is_nothing = [&](size_t from) {
    uint32_t any = 0;
    for (size_t i = 0; i < kAtOnce; ++i) any |= counts[from + i];
    return any == 0;
  };
  for (size_t i = 0; i < counts.size(); ++i) {
    while (i + kAtOnce < counts.size() && is_nothing(i)) i += kAtOnce;
    if (counts[i] > 0) on_place(i);
  }
}

// Counts records by their time.
class TimeCounter {
 public:
  // on_time(exec_time_us, operations) for each time that came, by rising time; `time_of` is what
  // std::invoke takes: a member of the records, say.
  template <typename Record, typename TimeOf, typename OnTime>
  void Count(const std::vector<Record>& records, const TimeOf& time_of, const OnTime& on_time) {
    if (records.empty()) return;
    uint32_t low = std::numeric_limits<uint32_t>::max();
    uint32_t high = 0;
    for (const Record& record : records) {
      low = std::min(low, std::invoke(time_of, record));
      high = std::max(high, std::invoke(time_of, record));
    }
    // Times of one series mostly lie close together: counting beats sorting then.
    const uint64_t range = uint64_t{high} - low + 1;
    if (range <= 16 * records.size() + 4096) {
      counts_.assign(range, 0);
      for (const Record& record : records) ++counts_[std::invoke(time_of, record) - low];
      ForEachCounted(counts_,
                     [&](size_t i) { on_time(static_cast<uint32_t>(low + i), counts_[i]); });
      return;
    }
    times_.clear();
    for (const Record& record : records) times_.push_back(std::invoke(time_of, record));
    std::sort(times_.begin(), times_.end());
    for (size_t begin = 0; begin < times_.size();) {
      size_t end = begin + 1;
      while (end < times_.size() && times_[end] == times_[begin]) ++end;
      on_time(times_[begin], static_cast<uint32_t>(end - begin));
      begin = end;
    }
  }

  // Appends the counts of a series' records to `out`.
  template <typename Record, typename TimeOf>
  void Append(uint32_t series, const std::vector<Record>& records, const TimeOf& time_of,
              std::vector<TimeCount>& out) {
    Count(records, time_of, [&](uint32_t exec_time_us, uint32_t operations) {
      out.push_back({series, exec_time_us, operations});
    });
  }

 private:
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> times_;
};

// `insert` is one of the columns of a TimeCount.
Status InsertTimeCounts(BulkInsert& insert, const std::vector<TimeCount>& counts);

}  // namespace telltale
