#include "readers/nccl_inspector/time_counts.h"

#include <algorithm>
#include <limits>

namespace telltale::nccl_inspector {

void TimeCounter::Append(uint32_t series, const std::vector<Record>& records,
                         std::vector<TimeCount>& out) {
  if (records.empty()) return;
  uint32_t low = std::numeric_limits<uint32_t>::max();
  uint32_t high = 0;
  for (const Record& record : records) {
    low = std::min(low, record.exec_time_us);
    high = std::max(high, record.exec_time_us);
  }
  // Times of one series mostly lie close together: counting beats sorting then.
  const uint64_t range = uint64_t{high} - low + 1;
  if (range <= 8 * records.size() + 256) {
    counts_.assign(range, 0);
    for (const Record& record : records) ++counts_[record.exec_time_us - low];
    for (uint64_t i = 0; i < range; ++i) {
      if (counts_[i] > 0) out.push_back({series, static_cast<uint32_t>(low + i), counts_[i]});
    }
    return;
  }
  times_.clear();
  for (const Record& record : records) times_.push_back(record.exec_time_us);
  std::sort(times_.begin(), times_.end());
  for (size_t begin = 0; begin < times_.size();) {
    size_t end = begin + 1;
    while (end < times_.size() && times_[end] == times_[begin]) ++end;
    out.push_back({series, times_[begin], static_cast<uint32_t>(end - begin)});
    begin = end;
  }
}

}  // namespace telltale::nccl_inspector
