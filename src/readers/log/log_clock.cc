#include "readers/log/log_clock.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

namespace telltale::log {
namespace {

constexpr int64_t kDay = int64_t{24} * 3600 * 1'000'000'000;

int64_t YearStartNs(std::chrono::year year) {
  using namespace std::chrono;
  return sys_days(year / January / 1).time_since_epoch().count() * kDay;
}

std::chrono::year YearOf(int64_t ns) {
  using namespace std::chrono;
  return year_month_day(floor<days>(sys_time<nanoseconds>(nanoseconds(ns)))).year();
}

// `ns` counts from the begin of a leap year; none where the year has no 29 February.
std::optional<int64_t> InYear(int64_t ns, std::chrono::year year) {
  constexpr int64_t kLeapDay = 59;
  const int64_t day = ns / kDay;
  if (year.is_leap() || day < kLeapDay) return YearStartNs(year) + ns;
  if (day == kLeapDay) return std::nullopt;
  return YearStartNs(year) + ns - kDay;
}

// The candidates are one time in several years or days, the earliest first. The first that is not
// before `last`, up to what clocks and threads mix; else the last that is not behind `limit`.
std::optional<int64_t> Choose(const std::vector<int64_t>& candidates, std::optional<int64_t> last,
                              int64_t limit) {
  constexpr int64_t kMixed = 3600 * int64_t{1'000'000'000};
  std::optional<int64_t> newest;
  for (const int64_t candidate : candidates) {
    if (last && candidate >= *last - kMixed && candidate <= limit) return candidate;
    if (candidate <= limit) newest = candidate;
  }
  return newest;
}

}  // namespace

void LogClock::SeeAhead(const WrittenTime& time) {
  if (time.kind == WrittenTime::Kind::kFull && !dated_local_ns_) dated_local_ns_ = time.ns;
}

std::optional<int64_t> LogClock::Resolve(const WrittenTime& time) {
  if (time.kind == WrittenTime::Kind::kNone) return std::nullopt;
  if (time.kind == last_.kind && time.ns == last_.ns && time.zone_seconds == last_.zone_seconds) {
    if (!time.zone_seconds) ++assumed_zones_;
    if (is_last_assumed_)
      ++(time.kind == WrittenTime::Kind::kNoYear ? assumed_years_ : assumed_dates_);
    return last_ns_;
  }
  const std::optional<int64_t> resolved = ResolveAnew(time);
  if (resolved) {
    last_ = time;
    last_ns_ = *resolved;
  }
  return resolved;
}

std::optional<int64_t> LogClock::ResolveAnew(const WrittenTime& time) {
  if (time.kind == WrittenTime::Kind::kSinceStart) {
    ++since_start_;
    return std::nullopt;
  }
  const std::optional<int64_t> local_ns = LocalOf(time);
  if (!local_ns) return std::nullopt;
  if (!time.zone_seconds) ++assumed_zones_;
  // A full date may be of anything that a line tells of.
  if (time.kind != WrittenTime::Kind::kFull) last_local_ns_ = local_ns;
  last_day_ns_ = local_ns;
  return *local_ns - int64_t{time.zone_seconds.value_or(zone_seconds_)} * 1'000'000'000;
}

std::optional<int64_t> LogClock::LocalOf(const WrittenTime& time) {
  is_last_assumed_ = false;
  if (time.kind == WrittenTime::Kind::kFull) {
    dated_local_ns_ = time.ns;
    return time.ns;
  }
  // Files may have been written a little after their last line, or copied between hosts' clocks.
  const int64_t limit = file_time_ns_ +
                        int64_t{time.zone_seconds.value_or(zone_seconds_)} * 1'000'000'000 +
                        kDay / 24;
  std::vector<int64_t> candidates;
  if (time.kind == WrittenTime::Kind::kNoYear) {
    // A 29 February may be four years away, and eight around 2100.
    for (const int64_t around : {dated_local_ns_.value_or(limit), limit}) {
      const std::chrono::year year = YearOf(around);
      for (int distance = -8; distance <= 1; ++distance) {
        if (const auto ns = InYear(time.ns, year + std::chrono::years(distance))) {
          candidates.push_back(*ns);
        }
      }
    }
  } else {
    for (const int64_t around : {last_day_ns_.value_or(dated_local_ns_.value_or(limit)), limit}) {
      const int64_t day = around - ((around % kDay) + kDay) % kDay;
      for (const int64_t start : {day - kDay, day, day + kDay})
        candidates.push_back(start + time.ns);
    }
  }
  std::sort(candidates.begin(), candidates.end());
  if (dated_local_ns_) {
    for (const int64_t candidate : candidates) {
      if (std::llabs(candidate - *dated_local_ns_) <= 2 * kDay &&
          time.kind == WrittenTime::Kind::kNoYear) {
        return candidate;
      }
    }
  }
  is_last_assumed_ = true;
  ++(time.kind == WrittenTime::Kind::kNoYear ? assumed_years_ : assumed_dates_);
  return Choose(candidates, time.kind == WrittenTime::Kind::kNoYear ? last_local_ns_ : last_day_ns_,
                limit);
}

}  // namespace telltale::log
