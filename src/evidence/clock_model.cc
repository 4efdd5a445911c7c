#include "evidence/clock_model.h"

#include <algorithm>
#include <limits>

namespace telltale::evidence {
namespace {

__extension__ typedef __int128 Wide;

constexpr int64_t kMostFromBase = int64_t{1} << 60;

Wide FloorOf(Wide dividend, Wide divisor) {
  const Wide quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1 : quotient;
}

// The part of the time in which the clock is known, if the time is in one.
const ClockSegment* SegmentAt(const HostClock& clock, int64_t time_ns) {
  for (const ClockSegment& segment : clock.segments) {
    if (segment.knots.front().time_ns <= time_ns && time_ns <= segment.knots.back().time_ns) {
      return &segment;
    }
  }
  return nullptr;
}

ClockBound BoundAt(const ClockSegment& segment, int64_t time_ns) {
  const auto right =
      std::lower_bound(segment.knots.begin(), segment.knots.end(), time_ns,
                       [](const ClockKnot& knot, int64_t time) { return knot.time_ns < time; });
  if (right->time_ns == time_ns) return {right->lower_ns, right->upper_ns};
  const ClockKnot& left = *(right - 1);
  const Wide span = Wide{right->time_ns} - left.time_ns;
  const Wide into = Wide{time_ns} - left.time_ns;
  const Wide lower = (Wide{right->lower_ns} - left.lower_ns) * into;
  const Wide upper = (Wide{right->upper_ns} - left.upper_ns) * into;
  return {static_cast<int64_t>(left.lower_ns + FloorOf(lower, span)),
          static_cast<int64_t>(left.upper_ns - FloorOf(-upper, span))};
}

// The first time of the part that fulfils what stays fulfilled; its last if
// none does.
template <typename IsReached>
int64_t FirstTime(const ClockSegment& segment, const IsReached& is_reached) {
  int64_t low = segment.knots.front().time_ns;
  int64_t high = segment.knots.back().time_ns;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (is_reached(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

struct Shown {
  Wide least = 0;
  Wide most = 0;
};

// What a host's clock can show at a time of the reference's. Rises with it.
Shown ShownAt(const ClockSegment& segment, int64_t time_ns) {
  const ClockBound bound = BoundAt(segment, time_ns);
  return {Wide{time_ns} + bound.lower_ns, Wide{time_ns} + bound.upper_ns};
}

// Whether the clock can have shown it between two parts, in which it was set
// once.
bool CanLieBetween(const ClockSegment& before, const ClockSegment& after, int64_t local_ns) {
  const int64_t end = before.knots.back().time_ns;
  const int64_t begin = after.knots.front().time_ns;
  // Clocks that run a tenth of a percent fast or slow, and a microsecond.
  const Wide gap = (Wide{begin} - end) * 1001 / 1000 + 1000;
  const Shown last = ShownAt(before, end);
  const Shown first = ShownAt(after, begin);
  return std::min(last.least, first.least - gap) <= local_ns &&
         local_ns <= std::max(last.most + gap, first.most);
}

// By a pair's own lines, where y's clock showed `y_ns` against x's `x_ns`: y
// before x?
Order CompareDirectly(const ClockModel& model, const ClockModel::Direct& pair, int64_t x_ns,
                      int64_t y_ns) {
  const Wide x = Wide{x_ns} - model.base_ns;
  const Wide y = Wide{y_ns} - model.base_ns;
  if (x < pair.first_x || x > pair.last_x || y > kMostFromBase || y < -kMostFromBase) {
    return Order::kUncertain;
  }
  const auto at = static_cast<long double>(static_cast<int64_t>(x));
  const auto shown = static_cast<long double>(static_cast<int64_t>(y));
  if (shown < at + pair.lines.Lower(at)) return Order::kBefore;
  if (shown > at + pair.lines.Upper(at)) return Order::kAfter;
  return Order::kUncertain;
}

Order Reversed(Order order) {
  if (order == Order::kUncertain) return order;
  return order == Order::kBefore ? Order::kAfter : Order::kBefore;
}

}  // namespace

std::string_view ClockBasisName(ClockBasis basis) {
  switch (basis) {
    case ClockBasis::kNone:
      return "none";
    case ClockBasis::kContradictory:
      return "contradictory";
    case ClockBasis::kAnchor:
      return "anchor";
    case ClockBasis::kCollectives:
      return "collectives";
  }
  return "none";
}

std::optional<ClockBound> OffsetAt(const HostClock& clock, int64_t time_ns) {
  const ClockSegment* segment = SegmentAt(clock, time_ns);
  if (segment == nullptr) return std::nullopt;
  return BoundAt(*segment, time_ns);
}

std::optional<ClockBound> ReferenceTimesOf(const HostClock& clock, int64_t local_ns) {
  std::optional<ClockBound> times;
  for (size_t i = 0; i < clock.segments.size(); ++i) {
    const ClockSegment& segment = clock.segments[i];
    if (i > 0 && CanLieBetween(clock.segments[i - 1], segment, local_ns)) return std::nullopt;
    const int64_t first = segment.knots.front().time_ns;
    const int64_t last = segment.knots.back().time_ns;
    if (ShownAt(segment, first).most > local_ns || ShownAt(segment, last).least < local_ns) {
      continue;
    }
    const int64_t lower =
        FirstTime(segment, [&](int64_t time) { return ShownAt(segment, time).most >= local_ns; });
    const int64_t upper =
        FirstTime(segment, [&](int64_t time) { return ShownAt(segment, time).least >= local_ns; });
    // A clock that was set back shows the same time twice.
    times = ClockBound{times ? times->lower_ns : lower, upper};
  }
  return times;
}

Order CompareAcrossHosts(const ClockModel& model, int64_t time_a_ns, uint32_t host_a,
                         int64_t time_b_ns, uint32_t host_b) {
  if (host_a >= model.hosts.size() || host_b >= model.hosts.size()) return Order::kUncertain;
  if (host_a == host_b) {
    if (time_a_ns == time_b_ns) return Order::kUncertain;
    return time_a_ns < time_b_ns ? Order::kBefore : Order::kAfter;
  }
  for (const bool a_is_y : {true, false}) {
    const std::pair wanted = a_is_y ? std::pair(host_b, host_a) : std::pair(host_a, host_b);
    const auto pair = std::lower_bound(
        model.direct.begin(), model.direct.end(), wanted,
        [](const ClockModel::Direct& direct, const std::pair<uint32_t, uint32_t>& key) {
          return std::pair(direct.x, direct.y) < key;
        });
    if (pair == model.direct.end() || std::pair(pair->x, pair->y) != wanted) continue;
    const Order order = a_is_y ? CompareDirectly(model, *pair, time_b_ns, time_a_ns)
                               : Reversed(CompareDirectly(model, *pair, time_a_ns, time_b_ns));
    if (order != Order::kUncertain) return order;
  }
  const auto a = ReferenceTimesOf(model.hosts[host_a], time_a_ns);
  const auto b = ReferenceTimesOf(model.hosts[host_b], time_b_ns);
  if (!a || !b) return Order::kUncertain;
  if (a->upper_ns < b->lower_ns) return Order::kBefore;
  if (b->upper_ns < a->lower_ns) return Order::kAfter;
  return Order::kUncertain;
}

}  // namespace telltale::evidence
