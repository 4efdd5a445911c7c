#pragma once

// Times of each event of a call chain. Where intervals overlap, each moment counts once.

#include <cstdint>
#include <vector>

#include "evidence/trace_events.h"

namespace telltale::evidence {

struct CallTimes {
  // By event, nanoseconds.
  std::vector<int64_t> exclusive_ns;  // of host events: their time without what is nested in them
  std::vector<bool> is_within_same;   // of host events: whether one of the same name is above it
  std::vector<int64_t> gpu_ns;  // of host events: when GPU work was running that they launched
};

CallTimes TimesOf(const TraceEvents& events);

// Children of each event in the order of their start: those of event i are
// child[first[i]] … child[first[i + 1] - 1]. roots have no parent.
struct CallTree {
  std::vector<uint32_t> first, child, roots;
};
CallTree TreeOf(const TraceEvents& events);

}  // namespace telltale::evidence
