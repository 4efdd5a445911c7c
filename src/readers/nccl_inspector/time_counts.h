#pragma once

// The rollup operation_histogram: how many records of a series took each execution time. It is
// exact, a tenth of the records, and all that quantiles and bandwidths over records need.

#include <cstdint>
#include <vector>

#include "readers/nccl_inspector/records.h"

namespace telltale::nccl_inspector {

// A row of operation_histogram.
struct TimeCount {
  uint32_t series = 0;
  uint32_t exec_time_us = 0;
  uint32_t operations = 0;
};

// Counts the records of one series, and appends the counts to `out` by rising time.
class TimeCounter {
 public:
  void Append(uint32_t series, const std::vector<Record>& records, std::vector<TimeCount>& out);

 private:
  std::vector<uint32_t> counts_;
  std::vector<uint32_t> times_;
};

}  // namespace telltale::nccl_inspector
