#include "evidence/clock_set_parts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace telltale::evidence {
namespace {

// More partners would say the same of when the clock was set.
constexpr size_t kMostWitnesses = 4;

constexpr size_t kMostKnots = 1000;

struct Span {
  int64_t first = 0;
  int64_t last = 0;
};

class SetClockParts {
 public:
  SetClockParts(const SetClock& clock,
                const std::function<std::vector<ReadingRange>(int64_t)>& readings_at)
      : clock_(clock), readings_at_(readings_at) {}

  SetParts Describe() {
    FindGaps();
    if (witnesses_ > 0) {
      for (const Span& span : SpansBetweenGaps()) DescribeSpan(span);
    }
    if (parts_.segments.empty()) {
      for (const HostPair& pair : clock_.partners) {
        for (const PairOperation& operation : pair.operations) {
          parts_.contradicting.insert(operation.operation);
        }
      }
    }
    return std::move(parts_);
  }

 private:
  int64_t base() const { return clock_.model.base_ns; }

  // When the reference's clock showed what a partner's did, give or take.
  std::optional<Span> ReferenceTimes(uint32_t partner, int64_t reading) const {
    const auto times = ReferenceTimesOf(clock_.model.hosts[partner], base() + reading);
    if (!times) return std::nullopt;
    return Span{times->lower_ns - base(), times->upper_ns - base()};
  }

  // Times between which the clock was set, as the partners with most operations
  // say.
  void FindGaps() {
    std::vector<const HostPair*> order;
    for (const HostPair& pair : clock_.partners) order.push_back(&pair);
    std::stable_sort(order.begin(), order.end(), [](const HostPair* a, const HostPair* b) {
      return a->operations.size() > b->operations.size();
    });
    for (size_t i = 0; i < order.size() && i < kMostWitnesses; ++i) {
      const auto segments = SplitPair(order[i]->operations, clock_.options.pair);
      if (segments.empty()) continue;
      ++witnesses_;
      AddGaps(*order[i], segments);
    }
  }

  void AddGaps(const HostPair& pair, std::span<const PairSegment> segments) {
    const auto& operations = pair.operations;
    for (size_t i = 0; i <= segments.size(); ++i) {
      const size_t last = i == 0 ? 0 : segments[i - 1].last;
      const size_t first = i == segments.size() ? operations.size() : segments[i].first;
      if (first == last && (i == 0 || i == segments.size())) continue;
      Span gap{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
      if (i > 0) {
        const auto times = ReferenceTimes(pair.x, operations[last - 1].TimeX());
        if (times) gap.first = times->first;
      }
      if (i < segments.size()) {
        const auto times = ReferenceTimes(pair.x, operations[first].TimeX());
        if (times) gap.last = times->last;
      }
      gaps_.push_back(gap);
    }
  }

  std::vector<Span> SpansBetweenGaps() {
    std::sort(gaps_.begin(), gaps_.end(),
              [](const Span& a, const Span& b) { return a.first < b.first; });
    std::vector<Span> spans;
    int64_t from = clock_.times.front();
    for (const Span& gap : gaps_) {
      if (gap.first > from) spans.push_back({from, gap.first});
      from = std::max(from, gap.last);
    }
    if (from < clock_.times.back()) spans.push_back({from, clock_.times.back()});
    return spans;
  }

  // The pair's operations that lie in the span as a whole.
  std::vector<PairOperation> OperationsIn(const HostPair& pair, const Span& span) const {
    const HostClock& partner = clock_.model.hosts[pair.x];
    const auto at_first = OffsetAt(partner, base() + span.first);
    const auto at_last = OffsetAt(partner, base() + span.last);
    std::vector<PairOperation> operations;
    if (!at_first || !at_last) return operations;
    const int64_t first = span.first + at_first->upper_ns;
    const int64_t last = span.last + at_last->lower_ns;
    for (const PairOperation& operation : pair.operations) {
      const int64_t end = operation.bounds_below ? operation.end_x : operation.start_x;
      if (operation.TimeX() >= first && end <= last) operations.push_back(operation);
    }
    return operations;
  }

  void DescribeSpan(const Span& span) {
    std::vector<std::pair<uint32_t, ClockLines>> lines;
    std::vector<uint64_t> contradicting;
    for (const HostPair& pair : clock_.partners) {
      const std::vector<PairOperation> operations = OperationsIn(pair, span);
      if (operations.empty()) continue;
      PairFit fit = FitPair(operations, clock_.options.pair);
      if (fit.is_contradictory) return;
      for (const uint32_t place : fit.left_out) {
        contradicting.push_back(operations[place].operation);
      }
      lines.emplace_back(pair.x, std::move(fit.lines));
    }
    const std::vector<int64_t> times = KnotTimes(span.first, span.last, clock_.options.knots);
    std::vector<ReadingRange> readings;
    for (const int64_t time : times) {
      const std::vector<ReadingRange> known = readings_at_(time);
      ReadingRange range;
      for (const auto& [partner, line] : lines) {
        const ReadingRange by_partner = ForwardRange(line, known[partner]);
        range.low = std::max(range.low, by_partner.low);
        range.high = std::min(range.high, by_partner.high);
      }
      if (range.low > range.high + 1) return;
      readings.push_back(range);
    }
    const auto segment = SegmentOf(times, readings, base());
    if (!segment) return;
    parts_.segments.push_back(*segment);
    parts_.contradicting.insert(contradicting.begin(), contradicting.end());
  }

  const SetClock& clock_;
  const std::function<std::vector<ReadingRange>(int64_t)>& readings_at_;
  size_t witnesses_ = 0;
  std::vector<Span> gaps_;
  SetParts parts_;
};

}  // namespace

SetParts DescribeSetClock(
    const SetClock& clock,
    const std::function<std::vector<ReadingRange>(int64_t time)>& readings_at) {
  return SetClockParts(clock, readings_at).Describe();
}

std::vector<int64_t> KnotTimes(int64_t first, int64_t last, size_t count) {
  count = std::clamp<size_t>(count, 2, kMostKnots);
  std::vector<int64_t> times;
  const long double step =
      static_cast<long double>(last - first) / static_cast<long double>(count - 1);
  for (size_t i = 0; i + 1 < count; ++i) {
    const int64_t time = first + std::llround(step * static_cast<long double>(i));
    if (times.empty() || time > times.back()) times.push_back(time);
  }
  if (last > times.back()) times.push_back(last);
  return times;
}

std::optional<ClockSegment> SegmentOf(std::span<const int64_t> times,
                                      std::span<const ReadingRange> readings, int64_t base_ns) {
  ClockSegment segment;
  for (size_t i = 0; i < times.size(); ++i) {
    if (!readings[i].IsBounded()) return std::nullopt;
    const auto time = static_cast<long double>(times[i]);
    segment.knots.push_back({base_ns + times[i],
                             static_cast<int64_t>(std::floor(readings[i].low - time)),
                             static_cast<int64_t>(std::ceil(readings[i].high - time))});
  }
  if (segment.knots.empty()) return std::nullopt;
  const auto middle_of = [](const ClockKnot& knot) {
    return std::midpoint(knot.lower_ns, knot.upper_ns);
  };
  const ClockKnot& first = segment.knots.front();
  const ClockKnot& last = segment.knots.back();
  const ClockKnot& middle = segment.knots[segment.knots.size() / 2];
  segment.reference_time_ns = middle.time_ns;
  segment.offset_ns = middle_of(middle);
  if (last.time_ns > first.time_ns) {
    segment.drift_ppb = std::llround(static_cast<long double>(middle_of(last) - middle_of(first)) *
                                     1e9L / static_cast<long double>(last.time_ns - first.time_ns));
  }
  for (const ClockKnot& knot : segment.knots) {
    const long double line = static_cast<long double>(segment.offset_ns) +
                             static_cast<long double>(segment.drift_ppb) * 1e-9L *
                                 static_cast<long double>(knot.time_ns - segment.reference_time_ns);
    const long double error = std::max(static_cast<long double>(knot.upper_ns) - line,
                                       line - static_cast<long double>(knot.lower_ns));
    segment.error_ns = std::max(segment.error_ns, static_cast<int64_t>(std::ceil(error)));
  }
  return segment;
}

void ExchangeHosts(HostPair& pair) {
  std::swap(pair.x, pair.y);
  for (PairOperation& operation : pair.operations) operation = Exchanged(operation);
  std::sort(pair.operations.begin(), pair.operations.end(),
            [](const PairOperation& a, const PairOperation& b) {
              return std::tuple(a.TimeX(), a.operation) < std::tuple(b.TimeX(), b.operation);
            });
}

}  // namespace telltale::evidence
