#include "evidence/host_times.h"

#include <algorithm>

namespace telltale::evidence {
namespace {

// By how much two clocks can move apart in a nanosecond: twice what one may drift.
constexpr int64_t kDriftPart = 1000;

// The clock's offset, also a little before and after what its evidence covers.
std::optional<ClockBound> OffsetNear(const HostClock& clock, int64_t time_ns) {
  const ClockSegment* nearest = nullptr;
  int64_t least = 0;
  int64_t within_ns = 0;
  for (const ClockSegment& segment : clock.segments) {
    if (segment.knots.empty()) continue;
    const int64_t clamped =
        std::clamp(time_ns, segment.knots.front().time_ns, segment.knots.back().time_ns);
    int64_t distance = 0;
    if (__builtin_sub_overflow(std::max(time_ns, clamped), std::min(time_ns, clamped), &distance)) {
      continue;
    }
    if (nearest != nullptr && distance >= least) continue;
    nearest = &segment;
    least = distance;
    within_ns = clamped;
  }
  if (nearest == nullptr) return std::nullopt;
  auto bound = OffsetAt(clock, within_ns);
  if (!bound) return std::nullopt;
  bound->lower_ns -= least / kDriftPart;
  bound->upper_ns += least / kDriftPart;
  return bound;
}

}  // namespace

const HostClock* HostTimes::ClockOf(const std::string& host) const {
  for (const HostClock& clock : clocks_) {
    if (clock.host == host) return &clock;
  }
  return nullptr;
}

ConvertedTime HostTimes::Convert(int64_t time_ns, const std::string& from,
                                 const std::string& to) const {
  if (from == to) return {time_ns, 0};
  const HostClock* const source = ClockOf(from);
  const HostClock* const target = ClockOf(to);
  if (source == nullptr || target == nullptr) return {time_ns, kUnknownClockError};
  // Offsets change so slowly that it hardly matters at which moment they are taken.
  const auto about = OffsetNear(*source, time_ns);
  if (!about) return {time_ns, kUnknownClockError};
  const auto offset = OffsetNear(*source, time_ns - about->lower_ns);
  if (!offset) return {time_ns, kUnknownClockError};
  const int64_t earliest_ns = time_ns - offset->upper_ns;
  const int64_t latest_ns = time_ns - offset->lower_ns;
  const auto at_earliest = OffsetNear(*target, earliest_ns);
  const auto at_latest = OffsetNear(*target, latest_ns);
  if (!at_earliest || !at_latest) return {time_ns, kUnknownClockError};
  constexpr int64_t kRounding = 1000;
  const int64_t from_ns = earliest_ns + std::min(at_earliest->lower_ns, at_latest->lower_ns);
  const int64_t to_ns = latest_ns + std::max(at_earliest->upper_ns, at_latest->upper_ns);
  return {from_ns + (to_ns - from_ns) / 2, (to_ns - from_ns) / 2 + kRounding};
}

}  // namespace telltale::evidence
