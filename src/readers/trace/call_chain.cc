#include "readers/trace/call_chain.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace telltale::trace {
namespace {

// Real call chains are under 300 deep (Python frames); hostile ones must not cost quadratic time.
constexpr size_t kMostSteps = 4096;

int64_t EndOf(const Event& event) {
  return event.start_ns + std::max<int64_t>(event.duration_ns, 0);
}

class Nesting {
 public:
  Nesting(const TraceData& data, int64_t tolerance_ns, CallChain& chain)
      : data_(data), tolerance_ns_(tolerance_ns), chain_(chain) {}

  void StartTrack() { open_.clear(); }

  void Add(uint32_t index) {
    const Event& event = data_.events[index];
    while (!open_.empty() && open_.back().end_ns < event.start_ns) open_.pop_back();
    const int64_t end_ns = EndOf(event);
    size_t steps = 0;
    for (auto candidate = open_.rbegin(); candidate != open_.rend(); ++candidate) {
      if (candidate->end_ns >= end_ns) {
        chain_.parent[index] = candidate->index;
        chain_.basis[index] = ParentBasis::kNesting;
        break;
      }
      if (++steps == kMostSteps) {
        ++chain_.given_up;
        break;
      }
    }
    if (!event.nests || event.duration_ns == kUnfinished) return;
    // An absurd end must not overflow.
    const int64_t most = std::numeric_limits<int64_t>::max() - tolerance_ns_;
    open_.push_back({std::min(end_ns, most) + tolerance_ns_, index});
  }

 private:
  struct Open {
    int64_t end_ns;  // with the tolerance
    uint32_t index;
  };
  const TraceData& data_;
  int64_t tolerance_ns_;
  CallChain& chain_;
  std::vector<Open> open_;  // by start; some may have ended below one that has not
};

// Events by a key of their process.
class EventIndex {
 public:
  void Add(uint32_t process, uint64_t key, uint32_t event) {
    rows_.push_back({process, key, event});
  }
  // Returns how many had the key of an earlier one.
  uint64_t Finish() {
    if (!std::is_sorted(rows_.begin(), rows_.end())) std::sort(rows_.begin(), rows_.end());
    const auto same = [](const Row& a, const Row& b) {
      return a.process == b.process && a.key == b.key;
    };
    const auto end = std::unique(rows_.begin(), rows_.end(), same);
    const auto repeated = static_cast<uint64_t>(rows_.end() - end);
    rows_.erase(end, rows_.end());
    return repeated;
  }
  uint32_t Find(uint32_t process, uint64_t key) const {
    const Row wanted = {process, key, 0};
    const auto at = std::lower_bound(rows_.begin(), rows_.end(), wanted);
    return at != rows_.end() && at->process == process && at->key == key ? at->event : kNoEvent;
  }

 private:
  struct Row {
    uint32_t process;
    uint64_t key;
    uint32_t event;
    auto operator<=>(const Row&) const = default;
  };
  std::vector<Row> rows_;
};

void LinkWaits(const TraceData& data, const EventIndex& calls, CallChain& chain) {
  for (const StreamWait& wait : data.waits) {
    uint32_t recorded = wait.recorded;
    if (recorded == kNoEvent) {
      const uint32_t process = data.tracks[data.events[wait.event].track].process;
      recorded = calls.Find(process, wait.record_correlation);
    }
    if (recorded == kNoEvent) {
      ++chain.waits_without_record;
    } else {
      chain.waits.emplace_back(recorded, wait.event);
    }
  }
}

void LinkGpuWork(const TraceData& data, CallChain& chain) {
  EventIndex calls, operators;
  for (uint32_t i = 0; i < data.events.size(); ++i) {
    const Event& event = data.events[i];
    const uint32_t process = data.tracks[event.track].process;
    if (data.tracks[event.track].kind == TrackKind::kStream) continue;
    if (IsApiCall(event.kind) && event.correlation != kNoCorrelation) {
      calls.Add(process, event.correlation, i);
    } else if (!IsApiCall(event.kind) && event.external_id != kNoCorrelation) {
      operators.Add(process, event.external_id, i);
    }
  }
  chain.repeated_correlations = calls.Finish();
  (void)operators.Finish();
  for (uint32_t i = 0; i < data.events.size(); ++i) {
    const Event& event = data.events[i];
    const Track& track = data.tracks[event.track];
    if (track.kind != TrackKind::kStream) continue;
    const bool has_correlation = event.correlation != kNoCorrelation;
    uint32_t parent = kNoEvent;
    if (has_correlation) parent = calls.Find(track.process, event.correlation);
    if (parent != kNoEvent) {
      chain.basis[i] = ParentBasis::kCorrelation;
    } else if (event.external_id != kNoCorrelation) {
      parent = operators.Find(track.process, event.external_id);
      if (parent != kNoEvent) chain.basis[i] = ParentBasis::kExternalId;
    }
    chain.parent[i] = parent;
    if (!IsGpuWork(event.kind) || chain.basis[i] == ParentBasis::kCorrelation) continue;
    ++(has_correlation ? chain.gpu_without_launch : chain.gpu_without_correlation);
  }
  LinkWaits(data, calls, chain);
}

}  // namespace

// Profilers write most of a track in its order already, and comparisons of neighbours in memory are
// cheap: so the events of each track are brought together first.
std::vector<uint32_t> OrderOf(const TraceData& data) {
  struct Key {
    int64_t start_ns;
    int64_t duration_ns;
    uint64_t position;
    uint32_t event;
    bool operator<(const Key& other) const {
      if (start_ns != other.start_ns) return start_ns < other.start_ns;
      if (duration_ns != other.duration_ns) return duration_ns > other.duration_ns;
      return position < other.position;
    }
  };
  std::vector<size_t> first(data.tracks.size() + 1, 0);
  for (const Event& event : data.events) ++first[event.track + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<uint32_t> order(data.events.size());
  std::vector<size_t> next(first.begin(), first.end() - 1);
  for (uint32_t i = 0; i < data.events.size(); ++i) order[next[data.events[i].track]++] = i;
  std::vector<Key> keys;
  for (size_t track = 0; track < data.tracks.size(); ++track) {
    keys.clear();
    for (size_t i = first[track]; i < first[track + 1]; ++i) {
      const Event& event = data.events[order[i]];
      keys.push_back({event.start_ns, event.duration_ns, event.position, order[i]});
    }
    if (std::is_sorted(keys.begin(), keys.end())) continue;
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i) order[first[track] + i] = keys[i].event;
  }
  return order;
}

CallChain LinkCallChain(const TraceData& data, int64_t tolerance_ns) {
  return LinkCallChain(data, OrderOf(data), tolerance_ns);
}

CallChain LinkCallChain(const TraceData& data, std::vector<uint32_t> order, int64_t tolerance_ns) {
  CallChain chain;
  const std::vector<Event>& events = data.events;
  chain.order = std::move(order);
  chain.parent.assign(events.size(), kNoEvent);
  chain.basis.assign(events.size(), ParentBasis::kNone);

  Nesting nesting(data, tolerance_ns, chain);
  uint32_t track = kNoEvent;
  for (const uint32_t index : chain.order) {
    const Event& event = events[index];
    if (event.track != track) {
      track = event.track;
      nesting.StartTrack();
    }
    if (data.tracks[track].kind != TrackKind::kStream) nesting.Add(index);
  }
  LinkGpuWork(data, chain);
  return chain;
}

}  // namespace telltale::trace
