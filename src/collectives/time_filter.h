#pragma once

// The filters --since and --until as Select() has set them on a connection.

#include <cstdint>
#include <limits>

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
  bool Holds(int64_t us) const { return us >= since_us_ && us < until_us_; }

 private:
  static constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();
  int64_t since_us_ = kEarliest;
  int64_t until_us_ = kLatest;
};

}  // namespace telltale::collectives
