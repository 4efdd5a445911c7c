#pragma once

// What is expected of each event of a step, from those before it: the same for encoding and
// decoding. values.h says what is expected.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tokens/counted_names.h"
#include "tokens/grammar.h"
#include "tokens/values.h"

namespace telltale::tokens {

struct EventPlace {
  uint32_t node = 0;  // of the step
  uint32_t parent = kNone;
  uint32_t track = kNone;
  EventKind kind = EventKind::kOther;
  bool on_stream = false;
};

inline EventPlace PlaceOf(const CallTrees& trees, size_t first, uint32_t node) {
  const size_t at = first + node;
  const uint32_t track = trees.track[at];
  return {node, trees.parent[at], track, trees.kind[at], trees.IsStream(track)};
}

class ValueExpectation {
 public:
  struct Expected {
    int64_t event = 0;
    int64_t correlation = 0;
    int64_t start_base_ns = 0;
  };

  // The nodes of the step are those of `trees` from `first` on, once they are known.
  void Begin(const CallTrees& trees, size_t first) {
    trees_ = &trees;
    first_ = first;
    tracks_.resize(trees.tracks.size() + 1);
    ++step_;
    ends_.clear();
    last_event_ = -1;
    last_call_ = -1;
  }

  Expected Expect(const EventPlace& place) const {
    Expected expected;
    const TrackState& track = tracks_[TrackIndex(place.track)];
    expected.event = Plus(track.step == step_ ? track.last_event : last_event_, 1);
    expected.correlation = -1;
    if (trace::IsApiCall(place.kind)) {
      expected.correlation = Plus(last_call_, 1);
    } else if (place.on_stream && place.parent != kNone) {
      expected.correlation = trees_->correlation[first_ + place.parent];
    }
    if (place.parent == kNone) return expected;
    const int64_t parent_start = trees_->start_ns[first_ + place.parent];
    if (place.on_stream) {
      expected.start_base_ns =
          track.step == step_ ? std::max(parent_start, track.end_ns) : parent_start;
    } else {
      const End& end = ends_[place.parent];
      expected.start_base_ns = end.is_known ? end.ns : parent_start;
    }
    return expected;
  }

  // Its values are known now.
  void Note(const EventPlace& place, int64_t event, int64_t start_ns, int64_t duration_ns,
            int64_t correlation) {
    const int64_t end_ns = Plus(start_ns, std::max<int64_t>(duration_ns, 0));
    tracks_[TrackIndex(place.track)] = {step_, event, end_ns};
    last_event_ = event;
    if (trace::IsApiCall(place.kind)) last_call_ = correlation;
    ends_.push_back({});
    if (place.parent != kNone && !place.on_stream) ends_[place.parent] = {true, end_ns};
  }

 private:
  struct TrackState {
    uint32_t step = 0;  // in which it was seen last
    int64_t last_event = 0;
    int64_t end_ns = 0;
  };
  struct End {
    bool is_known = false;
    int64_t ns = 0;
  };
  size_t TrackIndex(uint32_t track) const { return track == kNone ? tracks_.size() - 1 : track; }

  const CallTrees* trees_ = nullptr;
  size_t first_ = 0;
  uint32_t step_ = 0;
  std::vector<TrackState> tracks_;  // the last one is of what lies on no track
  std::vector<End> ends_;           // by node: of its last child on a thread
  int64_t last_event_ = -1, last_call_ = -1;
};

// Names by the place in the grammar where events stand. A place of a token of several events counts
// within the whole token; else it is that of the label.
class NameExpectation {
 public:
  // `first_names`: by label.
  NameExpectation(const Grammar& grammar, const std::vector<Slot>& slots, size_t tokens,
                  const std::vector<uint32_t>& first_names, const std::vector<std::string>& names);

  void Begin() { ++step_; }
  uint32_t PlaceOfLabel(uint32_t label) const { return label; }
  uint32_t PlaceInToken(uint32_t token, uint32_t event) const { return first_[token] + event; }

  // kNone: nothing is expected.
  uint32_t Expect(uint32_t place, uint32_t slot) const {
    const State& state = states_[place];
    if (state.step != step_) return slot == kNone ? first_names_[place] : usual_[slot];
    const uint32_t next = state.stride == 0 ? kNone : counted_.Further(state.name, state.stride);
    return next == kNone ? state.name : next;
  }
  void Note(uint32_t place, uint32_t name) {
    State& state = states_[place];
    const int64_t stride = state.step == step_ ? counted_.Distance(state.name, name) : 0;
    // Where a count begins anew, it goes on as before.
    if (state.step != step_ || stride >= 0) state.stride = stride;
    state.step = step_;
    state.name = name;
  }

 private:
  struct State {
    uint32_t step = 0;
    uint32_t name = kNone;
    int64_t stride = 0;  // from the one before it to `name`
  };
  CountedNames counted_;
  std::vector<uint32_t> usual_;        // by slot
  std::vector<uint32_t> first_names_;  // by label
  std::vector<uint32_t> first_;        // by token
  std::vector<State> states_;          // by place
  uint32_t step_ = 0;
};

}  // namespace telltale::tokens
