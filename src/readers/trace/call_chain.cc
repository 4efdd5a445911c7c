#include "readers/trace/call_chain.h"

#include <algorithm>
#include <limits>
#include <thread>

#include "base/slices.h"

namespace telltale::trace {
namespace {

constexpr size_t kMostForOneThread = size_t{1} << 17;

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
    const int64_t end_ns = EndOf(event);
    // The tolerance is for ends: who begins when another has ended is not within it.
    while (!open_.empty() && open_.back().end_ns < event.start_ns) open_.pop_back();
    auto behind = std::partition_point(open_.begin(), open_.end(),
                                       [&](const Open& open) { return open.until_ns >= end_ns; });
    if (behind != open_.begin() && (behind - 1)->end_ns == event.start_ns &&
        end_ns > event.start_ns) {
      --behind;
    }
    if (behind != open_.begin()) {
      chain_.parent[index] = (behind - 1)->index;
      chain_.basis[index] = ParentBasis::kNesting;
    }
    if (!event.nests || event.duration_ns == kUnfinished) return;
    // An absurd end must not overflow.
    const int64_t most = std::numeric_limits<int64_t>::max() - tolerance_ns_;
    const int64_t until_ns = std::min(end_ns, most) + tolerance_ns_;
    while (!open_.empty() && open_.back().until_ns <= until_ns) open_.pop_back();
    open_.push_back({end_ns, until_ns, index});
  }

 private:
  struct Open {
    int64_t end_ns;
    int64_t until_ns;  // with the tolerance
    uint32_t index;
  };
  const TraceData& data_;
  int64_t tolerance_ns_;
  CallChain& chain_;
  // What may yet contain an event. One that ends no later than a later one cannot be the last to
  // contain anything, so it is not here: ends fall from bottom to top.
  std::vector<Open> open_;
};

// Events by a key of their process; of those that share one, the first in the source.
class EventIndex {
 public:
  explicit EventIndex(const TraceData& data) : data_(data) {}

  void Add(uint32_t process, uint64_t key, uint32_t event) {
    rows_.push_back({key, process, event});
  }
  // Returns how many had the key of an earlier one.
  uint64_t Finish() {
    const auto before = [&](const Row& a, const Row& b) {
      if (IsBefore(a, b) || IsBefore(b, a)) return IsBefore(a, b);
      return data_.events[a.event].position < data_.events[b.event].position;
    };
    if (!std::is_sorted(rows_.begin(), rows_.end(), before)) {
      std::sort(rows_.begin(), rows_.end(), before);
    }
    const auto same = [](const Row& a, const Row& b) { return !IsBefore(a, b) && !IsBefore(b, a); };
    const auto end = std::unique(rows_.begin(), rows_.end(), same);
    const auto repeated = static_cast<uint64_t>(rows_.end() - end);
    rows_.erase(end, rows_.end());
    return repeated;
  }
  // Where a search ended: the keys asked for mostly rise, so the next begins there.
  struct Cursor {
    size_t last = 0;
  };
  uint32_t Find(uint32_t process, uint64_t key, Cursor& cursor) const {
    const Row wanted = {key, process, 0};
    size_t begin =
        cursor.last > 0 && IsBefore(rows_[cursor.last - 1], wanted) ? cursor.last - 1 : 0;
    size_t end = rows_.size();
    for (size_t step = 1; begin + step < end; step *= 2) {
      if (IsBefore(rows_[begin + step], wanted)) {
        begin += step;
      } else {
        end = begin + step;
      }
    }
    const auto first = rows_.begin();
    const auto at = std::lower_bound(first + static_cast<std::ptrdiff_t>(begin),
                                     first + static_cast<std::ptrdiff_t>(end), wanted, IsBefore);
    cursor.last = static_cast<size_t>(at - first);
    return at != rows_.end() && !IsBefore(wanted, *at) ? at->event : kNoEvent;
  }

 private:
  struct Row {
    uint64_t key;
    uint32_t process;
    uint32_t event;
  };
  static bool IsBefore(const Row& a, const Row& b) {
    return a.process != b.process ? a.process < b.process : a.key < b.key;
  }
  const TraceData& data_;
  std::vector<Row> rows_;
};

// Events of one track in the order: [begin, end).
struct TrackRange {
  const uint32_t* begin = nullptr;
  const uint32_t* end = nullptr;
  TrackKind kind = TrackKind::kThread;
};

std::vector<TrackRange> TracksOf(const TraceData& data, const std::vector<uint32_t>& order) {
  std::vector<TrackRange> tracks;
  const uint32_t* const end = order.data() + order.size();
  for (const uint32_t* begin = order.data(); begin != end; begin = tracks.back().end) {
    const uint32_t track = data.events[*begin].track;
    const uint32_t* const next = std::partition_point(
        begin, end, [&](uint32_t index) { return data.events[index].track == track; });
    tracks.push_back({begin, next, data.tracks[track].kind});
  }
  return tracks;
}

class GpuLinks {
 public:
  GpuLinks(const TraceData& data, const std::vector<TrackRange>& tracks, CallChain& chain)
      : data_(data), tracks_(tracks), chain_(chain), calls_(data), operators_(data) {}

  // The calls that GPU work may belong to.
  void FindCalls() {
    ForEachOffStreams([&](uint32_t i, const Event& event) {
      if (IsApiCall(event.kind) && event.correlation != kNoCorrelation) {
        calls_.Add(ProcessOf(event), event.correlation, i);
      }
    });
    chain_.repeated_correlations = calls_.Finish();
  }

  // GPU work to calls; then what has none to operators, and waits.
  void Link(unsigned threads) {
    std::vector<TrackRange> pieces;
    for (const TrackRange& track : tracks_) {
      if (track.kind != TrackKind::kStream) continue;
      for (const uint32_t* begin = track.begin; begin != track.end;) {
        const uint32_t* const end =
            begin + std::min<ptrdiff_t>(track.end - begin, kMostForOneThread);
        pieces.push_back({begin, end, track.kind});
        begin = end;
      }
    }
    std::vector<std::vector<uint32_t>> without_call(pieces.size());
    ForEachInTurn(pieces.size(), threads, 1, [&](size_t piece) {
      EventIndex::Cursor cursor;
      for (const uint32_t* i = pieces[piece].begin; i != pieces[piece].end; ++i) {
        const Event& event = data_.events[*i];
        if (!Attach(*i, calls_, event.correlation, ParentBasis::kCorrelation, cursor)) {
          without_call[piece].push_back(*i);
        }
      }
    });
    LinkToOperators(without_call);
    LinkWaits();
  }

 private:
  template <typename Visit>
  void ForEachOffStreams(const Visit& visit) const {
    for (const TrackRange& track : tracks_) {
      if (track.kind == TrackKind::kStream) continue;
      for (const uint32_t* i = track.begin; i != track.end; ++i) visit(*i, data_.events[*i]);
    }
  }
  uint32_t ProcessOf(const Event& event) const { return data_.tracks[event.track].process; }

  bool Attach(uint32_t index, const EventIndex& to, uint64_t key, ParentBasis basis,
              EventIndex::Cursor& cursor) {
    if (key == kNoCorrelation) return false;
    const uint32_t parent = to.Find(ProcessOf(data_.events[index]), key, cursor);
    if (parent == kNoEvent) return false;
    chain_.parent[index] = parent;
    chain_.basis[index] = basis;
    return true;
  }

  void LinkToOperators(const std::vector<std::vector<uint32_t>>& without_call) {
    const auto is_empty = [](const std::vector<uint32_t>& events) { return events.empty(); };
    if (std::all_of(without_call.begin(), without_call.end(), is_empty)) return;
    ForEachOffStreams([&](uint32_t i, const Event& event) {
      if (!IsApiCall(event.kind) && event.external_id != kNoCorrelation) {
        operators_.Add(ProcessOf(event), event.external_id, i);
      }
    });
    (void)operators_.Finish();
    EventIndex::Cursor cursor;
    for (const std::vector<uint32_t>& events : without_call) {
      for (const uint32_t index : events) {
        const Event& event = data_.events[index];
        (void)Attach(index, operators_, event.external_id, ParentBasis::kExternalId, cursor);
        if (!IsGpuWork(event.kind)) continue;
        ++(event.correlation != kNoCorrelation ? chain_.gpu_without_launch
                                               : chain_.gpu_without_correlation);
      }
    }
  }

  void LinkWaits() {
    EventIndex::Cursor cursor;
    for (const StreamWait& wait : data_.waits) {
      uint32_t recorded = wait.recorded;
      if (recorded == kNoEvent) {
        recorded =
            calls_.Find(ProcessOf(data_.events[wait.event]), wait.record_correlation, cursor);
      }
      if (recorded == kNoEvent) {
        ++chain_.waits_without_record;
      } else {
        chain_.waits.emplace_back(recorded, wait.event);
      }
    }
  }

  const TraceData& data_;
  const std::vector<TrackRange>& tracks_;
  CallChain& chain_;
  EventIndex calls_, operators_;
};

// Events [begin, end), whose positions rise.
struct Run {
  uint32_t begin;
  uint32_t end;
};

// All events in the order of their positions, as runs. Profiles come in few pieces that are in
// order.
std::vector<Run> RunsInSourceOrder(const ChunkedVector<Event>& events, unsigned threads) {
  if (events.empty()) return {};
  std::vector<std::vector<uint32_t>> begins(std::max(threads, 1U));
  ForEachSlice(events.size(), threads, [&](size_t slice, size_t begin, size_t end) {
    for (size_t i = std::max<size_t>(begin, 1); i < end; ++i) {
      if (events[i].position < events[i - 1].position) {
        begins[slice].push_back(static_cast<uint32_t>(i));
      }
    }
  });
  std::vector<Run> pieces = {{0, 0}};
  for (const std::vector<uint32_t>& some : begins) {
    for (const uint32_t begin : some) {
      pieces.back().end = begin;
      pieces.push_back({begin, begin});
    }
  }
  pieces.back().end = static_cast<uint32_t>(events.size());

  std::vector<Run> runs;
  const auto is_later = [&](const Run& a, const Run& b) {
    return events[a.begin].position > events[b.begin].position;
  };
  std::make_heap(pieces.begin(), pieces.end(), is_later);
  while (!pieces.empty()) {
    std::pop_heap(pieces.begin(), pieces.end(), is_later);
    Run& first = pieces.back();
    uint32_t end = first.end;
    if (pieces.size() > 1) {
      const uint32_t until = events[pieces.front().begin].position;
      const auto is_in = [&](uint32_t i) { return events[i].position <= until; };
      uint32_t step = 1;
      uint32_t in = first.begin;
      for (; first.end - in > step && is_in(in + step); step *= 2) in += step;
      for (; step > 0; step /= 2) {
        if (first.end - in > step && is_in(in + step)) in += step;
      }
      end = in + 1;
    }
    runs.push_back({first.begin, end});
    first.begin = end;
    if (first.begin == first.end) {
      pieces.pop_back();
    } else {
      std::push_heap(pieces.begin(), pieces.end(), is_later);
    }
  }
  return runs;
}

// Sorts what consists of few ascending runs, such as the ranges and then the calls of one thread,
// in one pass for each doubling of them; false, and nothing done, if there are many.
template <typename Iterator, typename IsBefore>
bool MergeRuns(Iterator first, Iterator last, const IsBefore& is_before) {
  constexpr size_t kMostRuns = 64;
  std::vector<Iterator> borders = {first};
  for (Iterator run = first; run != last; borders.push_back(run)) {
    run = std::is_sorted_until(run, last, is_before);
    if (borders.size() > kMostRuns) return false;
  }
  while (borders.size() > 2) {
    std::vector<Iterator> merged = {first};
    for (size_t i = 2; i < borders.size(); i += 2) {
      std::inplace_merge(borders[i - 2], borders[i - 1], borders[i], is_before);
      merged.push_back(borders[i]);
    }
    if (merged.back() != last) merged.push_back(last);
    borders = std::move(merged);
  }
  return true;
}

}  // namespace

namespace {

struct Key {
  int64_t start_ns;
  int64_t duration_ns;
  uint32_t position;
  uint32_t event;
  bool operator<(const Key& other) const {
    if (start_ns != other.start_ns) return start_ns < other.start_ns;
    if (duration_ns != other.duration_ns) return duration_ns > other.duration_ns;
    return position < other.position;
  }
};

// Brings the events of each track together as they stand in the source, on several threads: each
// takes some runs, counts how many events of each track are in them, and then knows where they go.
class ByTrack {
 public:
  ByTrack(const TraceData& data, unsigned threads)
      : data_(data), threads_(threads), order_(data.events.size()) {
    const std::vector<Run> runs = RunsInSourceOrder(data.events, threads);
    // A share has a row for each track: not where hostile files have millions.
    constexpr size_t kMostRows = size_t{1} << 20;
    const size_t shares = std::clamp<size_t>(kMostRows / std::max<size_t>(data.tracks.size(), 1), 1,
                                             std::max(threads, 1U));
    parts_.assign(shares, std::vector<Part>(data.tracks.size()));
    std::vector<std::vector<Run>> runs_of = Divide(runs, shares);
    ForEachInTurn(shares, threads_, 1, [&](size_t share) {
      for (const Run& run : runs_of[share]) {
        for (uint32_t i = run.begin; i < run.end; ++i) ++parts_[share][data_.events[i].track].end;
      }
    });
    size_t begin = 0;
    for (size_t track = 0; track < data.tracks.size(); ++track) {
      for (std::vector<Part>& part : parts_) {
        const size_t events = part[track].end;
        part[track].begin = part[track].end = begin;
        begin += events;
      }
    }
    ForEachInTurn(shares, threads_, 1, [&](size_t share) {
      for (const Run& run : runs_of[share]) {
        for (uint32_t i = run.begin; i < run.end; ++i) Place(i, parts_[share]);
      }
    });
  }

  Key KeyOf(uint32_t index) const {
    const Event& event = data_.events[index];
    return {event.start_ns, event.duration_ns, event.position, index};
  }
  std::vector<uint32_t>& order() { return order_; }
  // Where the events of a track lie in it.
  size_t Begin(size_t track) const { return parts_.front()[track].begin; }
  size_t End(size_t track) const { return parts_.back()[track].end; }
  bool IsSorted(size_t track) const {
    const Part* before = nullptr;
    for (const std::vector<Part>& parts : parts_) {
      const Part& part = parts[track];
      if (part.begin == part.end) continue;
      if (!part.is_sorted) return false;
      if (before != nullptr && KeyOf(order_[part.begin]) < before->last) return false;
      before = &part;
    }
    return true;
  }

 private:
  struct Part {
    size_t begin = 0;
    size_t end = 0;
    Key last = {};
    bool is_sorted = true;
  };

  // Into shares of about as many events.
  std::vector<std::vector<Run>> Divide(const std::vector<Run>& runs, size_t shares) const {
    std::vector<std::vector<Run>> divided(shares);
    size_t events = 0;
    for (Run run : runs) {
      while (run.begin < run.end) {
        const size_t share = events * shares / data_.events.size();
        const size_t share_end =
            ((share + 1) * data_.events.size() + shares - 1) / shares;  // the first of the next
        const auto count = static_cast<uint32_t>(
            std::min<size_t>(run.end - run.begin, std::max<size_t>(share_end - events, 1)));
        divided[share].push_back({run.begin, run.begin + count});
        run.begin += count;
        events += count;
      }
    }
    return divided;
  }

  void Place(uint32_t index, std::vector<Part>& parts) {
    Part& part = parts[data_.events[index].track];
    const Key key = KeyOf(index);
    if (part.end > part.begin && key < part.last) part.is_sorted = false;
    part.last = key;
    order_[part.end++] = index;
  }

  const TraceData& data_;
  unsigned threads_;
  std::vector<uint32_t> order_;
  std::vector<std::vector<Part>> parts_;  // by share and track
};

}  // namespace

// Profilers write most of a track in its order already.
std::vector<uint32_t> OrderOf(const TraceData& data, unsigned threads) {
  ByTrack by_track(data, threads);
  std::vector<uint32_t>& order = by_track.order();
  const auto key_of = [&](uint32_t index) { return by_track.KeyOf(index); };
  ForEachInTurn(data.tracks.size(), threads, 1, [&](size_t track) {
    if (by_track.IsSorted(track)) return;
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(by_track.Begin(track));
    const auto last = order.begin() + static_cast<std::ptrdiff_t>(by_track.End(track));
    const auto is_before = [&](uint32_t a, uint32_t b) { return key_of(a) < key_of(b); };
    if (MergeRuns(first, last, is_before)) return;
    // Comparisons of neighbours in memory are cheap.
    std::vector<Key> keys(static_cast<size_t>(last - first));
    std::transform(first, last, keys.begin(), key_of);
    std::sort(keys.begin(), keys.end());
    std::transform(keys.begin(), keys.end(), first, [](const Key& key) { return key.event; });
  });
  return std::move(order);
}

CallChain LinkCallChain(const TraceData& data, int64_t tolerance_ns, unsigned threads) {
  return LinkCallChain(data, OrderOf(data, threads), tolerance_ns, threads);
}

CallChain LinkCallChain(const TraceData& data, std::vector<uint32_t> order, int64_t tolerance_ns,
                        unsigned threads) {
  CallChain chain;
  chain.order = std::move(order);
  chain.parent.assign(data.events.size(), kNoEvent);
  chain.basis.assign(data.events.size(), ParentBasis::kNone);
  const std::vector<TrackRange> tracks = TracksOf(data, chain.order);
  // Nesting is for the events of threads, links are for those of streams.
  GpuLinks links(data, tracks, chain);
  std::thread calls;
  if (data.events.size() > kMostForOneThread && threads > 1) {
    calls = std::thread([&] { links.FindCalls(); });
  } else {
    links.FindCalls();
  }
  Nesting nesting(data, tolerance_ns, chain);
  for (const TrackRange& track : tracks) {
    if (track.kind == TrackKind::kStream) continue;
    nesting.StartTrack();
    for (const uint32_t* i = track.begin; i != track.end; ++i) nesting.Add(*i);
  }
  if (calls.joinable()) calls.join();
  links.Link(threads);
  return chain;
}

}  // namespace telltale::trace
