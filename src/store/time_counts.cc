#include "store/time_counts.h"

namespace telltale {

void TimeCounter::AppendSorted(uint32_t series, std::vector<TimeCount>& out) {
  std::sort(times_.begin(), times_.end());
  for (size_t begin = 0; begin < times_.size();) {
    size_t end = begin + 1;
    while (end < times_.size() && times_[end] == times_[begin]) ++end;
    out.push_back({series, times_[begin], static_cast<uint32_t>(end - begin)});
    begin = end;
  }
}

Status InsertTimeCounts(BulkInsert& insert, const std::vector<TimeCount>& counts) {
  return insert.InsertRows(counts.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
    static_cast<uint32_t*>(columns[0])[at] = counts[i].series;
    static_cast<uint32_t*>(columns[1])[at] = counts[i].exec_time_us;
    static_cast<uint32_t*>(columns[2])[at] = counts[i].operations;
  });
}

}  // namespace telltale
