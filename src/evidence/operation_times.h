#pragma once

// Times summed by name: of operators and ranges, and of kernels by their place in the call chain.

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/call_times.h"
#include "evidence/trace_events.h"

namespace telltale::evidence {

struct NamedTimes {
  EventKind kind = EventKind::kOther;
  std::string name;
  std::string place;  // names of operators and ranges above, outermost first, joined by " > "
  uint64_t calls = 0;
  int64_t inclusive_ns = 0;  // host events: of calls that are not within one of the same name
  int64_t exclusive_ns = 0;
  int64_t gpu_ns = 0;  // host events: while GPU work that they launched ran; GPU work: its own time
};

// Host events of these kinds by kind and name, the longest first.
std::vector<NamedTimes> HostTimesByName(const TraceEvents& events, const CallTimes& times,
                                        const std::vector<EventKind>& kinds);

// Operators and GPU work by kind, name and place.
std::vector<NamedTimes> TimesByPlace(const TraceEvents& events, const CallTimes& times);

}  // namespace telltale::evidence
