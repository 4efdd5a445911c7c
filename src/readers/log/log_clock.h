#pragma once

// Absolute times from what lines write. A year or date that is missing is the one nearest to the
// last time that is known: of an earlier line, or at first that of the file itself. A zone that is
// missing is the one that the user names; UTC otherwise.

#include <cstdint>
#include <optional>

#include "readers/log/line_prefix.h"

namespace telltale::log {

class LogClock {
 public:
  // `reference_ns`: when the file was last written, since 1970.
  LogClock(int64_t reference_ns, int32_t zone_seconds)
      : reference_ns_(reference_ns), zone_seconds_(zone_seconds) {}

  // Nanoseconds since 1970, UTC. None for a time since the start of the host, or no time at all.
  std::optional<int64_t> Resolve(const WrittenTime& time);

  // Takes the year and date of a line further on, before the first line is resolved.
  void SeeAhead(const WrittenTime& time);

  uint64_t assumed_years() const { return assumed_years_; }
  uint64_t assumed_dates() const { return assumed_dates_; }
  uint64_t assumed_zones() const { return assumed_zones_; }
  uint64_t since_start() const { return since_start_; }

 private:
  std::optional<int64_t> ResolveAnew(const WrittenTime& time);

  int64_t reference_ns_;
  int32_t zone_seconds_;
  WrittenTime last_;            // many lines have the same time
  bool has_seen_date_ = false;  // a date with its year, in the file
  uint64_t assumed_years_ = 0;
  uint64_t assumed_dates_ = 0;
  uint64_t assumed_zones_ = 0;
  uint64_t since_start_ = 0;
};

}  // namespace telltale::log
