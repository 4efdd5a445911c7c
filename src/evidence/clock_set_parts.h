#pragma once

// A clock that was set while the run went on, against hosts whose clocks are
// known: the parts of the time between. And how knots become a part.

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "evidence/clock_graph.h"
#include "evidence/clock_model.h"

namespace telltale::evidence {

// So many times, evenly from first to last; fewer where they would be the same.
std::vector<int64_t> KnotTimes(int64_t first, int64_t last, size_t count);

// The part from what the clock reads at the times, both since the base; none
// unless all readings are bounded.
std::optional<ClockSegment> SegmentOf(std::span<const int64_t> times,
                                      std::span<const ReadingRange> readings, int64_t base_ns);

// X and Y exchanged, and the operations in order again.
void ExchangeHosts(HostPair& pair);

struct SetClock {
  const std::vector<HostPair>& partners;  // x: a host whose clock is known; y: the clock
  const ClockModel& model;                // with the known clocks
  const std::vector<int64_t>& times;      // first and last of the run, since the base
  const ClockOptions& options;
};

struct SetParts {
  std::vector<ClockSegment> segments;  // empty: contradictory
  std::set<uint64_t> contradicting;    // operations
};

// `readings_at` gives what all hosts' clocks read at a time of the reference's,
// since the base.
SetParts DescribeSetClock(
    const SetClock& clock,
    const std::function<std::vector<ReadingRange>(int64_t time)>& readings_at);

}  // namespace telltale::evidence
