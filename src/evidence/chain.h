#pragma once

// The call chain of a step: the tree of host events in it, with the GPU work that they launched;
// what other threads of the process began meanwhile; and work that could not be attached.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "evidence/call_times.h"
#include "evidence/trace_events.h"

namespace telltale::evidence {

struct ChainOptions {
  size_t most_depth = 0;      // 0: all
  int64_t least_ns = 0;       // hides events that are shorter, on the host and on the GPU
  std::set<EventKind> kinds;  // empty: all; children of hidden events move up
};

struct ChainNode {
  uint32_t event = kNone;   // kNone: the node that holds what is not attached
  uint32_t parent = kNone;  // node
  size_t depth = 0;
};

struct Unattached {
  EventKind kind = EventKind::kOther;
  uint64_t count = 0;
  const char* cause = "";
};

// By kind, and whether they have a correlation id.
using UnattachedCounts = std::map<std::pair<EventKind, bool>, uint64_t>;
std::vector<Unattached> UnattachedOf(const UnattachedCounts& counts);

struct Chain {
  std::vector<ChainNode> nodes;  // parents before children, in the order of time
  std::vector<Unattached> unattached;
  uint64_t hidden = 0;  // events that the options leave out
};

// `times` may be empty where least_ns is 0.
Chain ChainOf(const TraceEvents& events, const CallTree& tree, const CallTimes& times,
              uint32_t step, const ChainOptions& options);

}  // namespace telltale::evidence
