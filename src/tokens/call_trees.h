#pragma once

// Call chains of steps as trees, a column each: what structural tokens are learned from, encoded
// from and decoded to. Nodes of a step lie together in the order of a depth-first walk: parents
// before their children, children in the order of time.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "readers/trace/call_chain.h"
#include "readers/trace/trace_data.h"

namespace telltale::tokens {

using trace::EventKind;
using trace::ParentBasis;

constexpr uint32_t kNone = ~uint32_t{0};

struct TreeTrack {
  std::string label;  // "GPU 0 stream 7", "thread 4037"
  bool is_stream = false;
  bool operator==(const TreeTrack&) const = default;
};

struct CallTrees {
  std::vector<std::string> names;
  std::vector<TreeTrack> tracks;
  std::vector<std::string> communicators;

  // By node.
  std::vector<uint32_t> parent;  // node of the same step, counted from its first; kNone: the step
  std::vector<uint32_t> name;
  std::vector<uint32_t> track;         // kNone: the node that holds what is not attached
  std::vector<uint32_t> communicator;  // kNone: not of a collective
  std::vector<EventKind> kind;
  std::vector<ParentBasis> basis;
  std::vector<int64_t> event;  // number in the store; -1: the node that holds what is not attached
  std::vector<int64_t> start_ns;     // since 1970
  std::vector<int64_t> duration_ns;  // -1: unfinished
  std::vector<int64_t> correlation;  // -1: none

  // Where each step's nodes begin; one more than there are steps.
  std::vector<size_t> first = {0};
  std::vector<uint64_t> number;  // of each step, as `telltale chain` lists them

  // Not for what lies on no track.
  bool IsStream(uint32_t on_track) const { return on_track != kNone && tracks[on_track].is_stream; }
  size_t Steps() const { return first.size() - 1; }
  size_t Nodes() const { return first.back(); }
};

}  // namespace telltale::tokens
