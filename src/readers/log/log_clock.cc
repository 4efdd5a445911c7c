#include "readers/log/log_clock.h"

#include <chrono>
#include <cstdlib>

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

}  // namespace

void LogClock::SeeAhead(const WrittenTime& time) {
  if (has_seen_date_ || time.kind != WrittenTime::Kind::kFull) return;
  has_seen_date_ = true;
  reference_ns_ = time.ns - int64_t{time.zone_seconds.value_or(zone_seconds_)} * 1'000'000'000;
}

std::optional<int64_t> LogClock::Resolve(const WrittenTime& time) {
  if (time.kind == WrittenTime::Kind::kNone) return std::nullopt;
  // The nearest to the last time is that time itself.
  if (time.kind == WrittenTime::Kind::kNoYear && time.kind == last_.kind && time.ns == last_.ns &&
      !time.zone_seconds && !last_.zone_seconds) {
    ++assumed_zones_;
    if (!has_seen_date_) ++assumed_years_;
    return reference_ns_;
  }
  const std::optional<int64_t> resolved = ResolveAnew(time);
  if (resolved) last_ = time;
  return resolved;
}

std::optional<int64_t> LogClock::ResolveAnew(const WrittenTime& time) {
  using Kind = WrittenTime::Kind;
  if (time.kind == Kind::kSinceStart) {
    ++since_start_;
    return std::nullopt;
  }
  if (!time.zone_seconds) ++assumed_zones_;
  const int64_t zone_ns = int64_t{time.zone_seconds.value_or(zone_seconds_)} * 1'000'000'000;
  const int64_t local_reference = reference_ns_ + zone_ns;
  std::optional<int64_t> nearest;
  const auto consider = [&](std::optional<int64_t> local_ns) {
    if (!local_ns) return;
    if (!nearest ||
        std::llabs(*local_ns - local_reference) < std::llabs(*nearest - local_reference)) {
      nearest = local_ns;
    }
  };
  switch (time.kind) {
    case Kind::kFull:
      has_seen_date_ = true;
      nearest = time.ns;
      break;
    case Kind::kNoYear: {
      if (!has_seen_date_) ++assumed_years_;
      const std::chrono::year year = YearOf(local_reference);
      // A 29 February may be four years away, and eight around 2100.
      for (int distance = 0; distance <= 8 && (distance < 2 || !nearest); ++distance) {
        consider(InYear(time.ns, year - std::chrono::years(distance)));
        consider(InYear(time.ns, year + std::chrono::years(distance)));
      }
      break;
    }
    case Kind::kTimeOnly: {
      if (!has_seen_date_) ++assumed_dates_;
      const int64_t day = local_reference - ((local_reference % kDay) + kDay) % kDay;
      for (const int64_t start : {day - kDay, day, day + kDay}) consider(start + time.ns);
      break;
    }
    default:
      break;
  }
  if (!nearest) return std::nullopt;
  reference_ns_ = *nearest - zone_ns;
  return reference_ns_;
}

}  // namespace telltale::log
