#include "store/time_counts.h"

namespace telltale {

Status InsertTimeCounts(BulkInsert& insert, const std::vector<TimeCount>& counts) {
  return insert.InsertRows(counts.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
    static_cast<uint32_t*>(columns[0])[at] = counts[i].series;
    static_cast<uint32_t*>(columns[1])[at] = counts[i].exec_time_us;
    static_cast<uint32_t*>(columns[2])[at] = counts[i].operations;
  });
}

}  // namespace telltale
