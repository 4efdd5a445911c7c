#pragma once

// The filters --since and --until as Select() has set them on a connection.

#include <cstdint>
#include <limits>

#include "collectives/key_range.h"
#include "store/database.h"

namespace telltale::collectives {

class TimeFilter {
 public:
  static Result<TimeFilter> Of(Connection& connection) {
    TELLTALE_ASSIGN(const Table table,
                    connection.Query(fmt::format("SELECT coalesce(getvariable('since_us')::BIGINT, "
                                                 "{}), coalesce(getvariable('until_us')::BIGINT, "
                                                 "{})",
                                                 kEarliest, kLatest)));
    TimeFilter filter;
    filter.since_us_ = std::get<int64_t>(table.rows[0][0]);
    filter.until_us_ = std::get<int64_t>(table.rows[0][1]);
    return filter;
  }

  bool is_set() const { return since_us_ != kEarliest || until_us_ != kLatest; }

  // Whether nothing is left out of records whose times are from `first_us` to `last_us`.
  bool HoldsAll(int64_t first_us, int64_t last_us) const {
    return first_us >= since_us_ && last_us < until_us_;
  }

  // The runs of records that are not left out; a record's time is key + offset.
  template <typename OnRun>
  void ForEachRun(const uint32_t* keys, size_t count, int64_t offset_us,
                  const OnRun& on_run) const {
    const KeyRange range(since_us_, until_us_, offset_us);
    const size_t inside = is_set() ? range.CountInside(keys, count) : count;
    if (inside == count) return on_run(size_t{0}, count);
    if (inside == 0) return;
    for (size_t begin = 0; begin < count;) {
      size_t end = begin;
      while (end < count && range.Holds(keys[end])) ++end;
      if (end > begin) on_run(begin, end);
      begin = end + 1;
    }
  }

 private:
  static constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  int64_t since_us_ = kEarliest;
  int64_t until_us_ = kLatest;
};

}  // namespace telltale::collectives
