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

// Counts the records of one series, and appends the counts to `out` by rising time.
class TimeCounter {
 public:
  // `time_of` is what std::invoke takes: a member of the records, say.
  template <typename Record, typename TimeOf>
  void Append(uint32_t series, const std::vector<Record>& records, const TimeOf& time_of,
              std::vector<TimeCount>& out) {
    if (records.empty()) return;
    uint32_t low = std::numeric_limits<uint32_t>::max();
    uint32_t high = 0;
    for (const Record& record : records) {
      low = std::min(low, std::invoke(time_of, record));
      high = std::max(high, std::invoke(time_of, record));
    }
    // Times of one series mostly lie close together: counting beats sorting then.
    const uint64_t range = uint64_t{high} - low + 1;
    if (range <= 8 * records.size() + 256) {
      counts_.assign(range, 0);
      for (const Record& record : records) ++counts_[std::invoke(time_of, record) - low];
      for (uint64_t i = 0; i < range; ++i) {
        if (counts_[i] > 0) out.push_back({series, static_cast<uint32_t>(low + i), counts_[i]});
      }
      return;
    }
    times_.clear();
    for (const Record& record : records) times_.push_back(std::invoke(time_of, record));
    AppendSorted(series, out);
  }

 private:
  void AppendSorted(uint32_t series, std::vector<TimeCount>& out);

  std::vector<uint32_t> counts_;
  std::vector<uint32_t> times_;
};

// `insert` is one of the columns of a TimeCount.
Status InsertTimeCounts(BulkInsert& insert, const std::vector<TimeCount>& counts);

}  // namespace telltale
