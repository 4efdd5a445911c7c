#pragma once

// Finds the parent of each event: on threads by nesting, for GPU work by the call that launched it.
//
// Nesting: of the events of the same thread that come before (by start, then the longer one, then
// place in the source), the last that contains it. "Contains" allows the end to be later by the
// tolerance: profilers round. Events that overlap without one containing the other are siblings.
//
// Launch: GPU work belongs to the runtime or driver call of its process with its correlation id; a
// graph launch has all kernels of its graph. Where there is none, to the operator with its external
// id (Kineto). What has neither stays without a parent, and is counted by cause.

#include <cstdint>
#include <utility>
#include <vector>

#include "readers/trace/trace_data.h"

namespace telltale::trace {

enum class ParentBasis : uint8_t { kNone, kNesting, kCorrelation, kExternalId };

struct CallChain {
  std::vector<uint32_t> order;     // all events, by track, start, longer first, position
  std::vector<uint32_t> parent;    // by event: index, or kNoEvent
  std::vector<ParentBasis> basis;  // by event
  // From what was recorded to the wait for it.
  std::vector<std::pair<uint32_t, uint32_t>> waits;
  uint64_t waits_without_record = 0;
  uint64_t gpu_without_correlation = 0;
  uint64_t gpu_without_launch = 0;     // has a correlation id that no call has
  uint64_t repeated_correlations = 0;  // calls that share their id with an earlier one
};

// All events by track, start, longer first, position.
std::vector<uint32_t> OrderOf(const TraceData& data, unsigned threads = 1);

CallChain LinkCallChain(const TraceData& data, int64_t tolerance_ns, unsigned threads = 1);
// The same with an order that is known.
CallChain LinkCallChain(const TraceData& data, std::vector<uint32_t> order, int64_t tolerance_ns,
                        unsigned threads = 1);

}  // namespace telltale::trace
