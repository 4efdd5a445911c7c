#pragma once

// Absolute times from what lines write. A year that is missing is that of a date with its year
// within two days of it, where the file has one; else the first in which the line comes after the
// one before it; for the first line the last that does not lie behind the file's own time. A date
// that is missing is found in the same way. A zone that is missing is the one that the user names;
// UTC otherwise.

#include <cstdint>
#include <optional>

#include "readers/log/line_prefix.h"

namespace telltale::log {

class LogClock {
 public:
  // `file_time_ns`: when the file was last written, since 1970.
  LogClock(int64_t file_time_ns, int32_t zone_seconds)
      : file_time_ns_(file_time_ns), zone_seconds_(zone_seconds) {}

  // Nanoseconds since 1970, UTC. None for a time since the start of the host, or no time at all.
  std::optional<int64_t> Resolve(const WrittenTime& time);

  // A date with its year, of a line further on.
  void SeeAhead(const WrittenTime& time);

  uint64_t assumed_years() const { return assumed_years_; }
  uint64_t assumed_dates() const { return assumed_dates_; }
  uint64_t assumed_zones() const { return assumed_zones_; }
  uint64_t since_start() const { return since_start_; }

 private:
  std::optional<int64_t> ResolveAnew(const WrittenTime& time);
  std::optional<int64_t> LocalOf(const WrittenTime& time);

  int64_t file_time_ns_;
  int32_t zone_seconds_;
  std::optional<int64_t> last_local_ns_;   // of the last line without its year or date
  std::optional<int64_t> last_day_ns_;     // of the last line with any time
  std::optional<int64_t> dated_local_ns_;  // the last date with its year
  WrittenTime last_;                       // many lines have the same time
  int64_t last_ns_ = 0;
  bool is_last_assumed_ = false;
  uint64_t assumed_years_ = 0;
  uint64_t assumed_dates_ = 0;
  uint64_t assumed_zones_ = 0;
  uint64_t since_start_ = 0;
};

}  // namespace telltale::log
