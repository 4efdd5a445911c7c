#include "evidence/gpu_time.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace telltale::evidence {
namespace {

struct Interval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// Disjoint intervals in order.
using Intervals = std::vector<Interval>;

void Extend(Intervals& intervals, int64_t start_ns, int64_t end_ns) {
  if (end_ns <= start_ns) return;
  if (!intervals.empty() && start_ns <= intervals.back().end_ns) {
    intervals.back().end_ns = std::max(intervals.back().end_ns, end_ns);
  } else {
    intervals.push_back({start_ns, end_ns});
  }
}

int64_t LengthOf(const Intervals& intervals) {
  int64_t length_ns = 0;
  for (const Interval& interval : intervals) length_ns += interval.end_ns - interval.start_ns;
  return length_ns;
}

int64_t CommonLength(const Intervals& a, const Intervals& b) {
  int64_t length_ns = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const int64_t start = std::max(a[i].start_ns, b[j].start_ns);
    const int64_t end = std::min(a[i].end_ns, b[j].end_ns);
    length_ns += std::max<int64_t>(end - start, 0);
    (a[i].end_ns < b[j].end_ns ? i : j)++;
  }
  return length_ns;
}

// GPU work of each (process, device), by start.
using WorkOfGpu = std::map<std::pair<uint32_t, int64_t>, std::vector<uint32_t>>;

WorkOfGpu FindWork(const TraceEvents& events) {
  WorkOfGpu work;
  for (uint32_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (!events.IsGpu(i) || !trace::IsGpuWork(kind) || kind == EventKind::kSync) continue;
    const TraceTrack& track = events.tracks[events.track[i]];
    work[{track.process, track.device}].push_back(i);
  }
  for (auto& [gpu, of_gpu] : work) {
    std::stable_sort(of_gpu.begin(), of_gpu.end(), [&](uint32_t a, uint32_t b) {
      return events.start_ns[a] < events.start_ns[b];
    });
  }
  return work;
}

bool IsCommunication(const TraceEvents& events, uint32_t event) {
  return events.kind[event] == EventKind::kKernel && IsCommunicationKernel(events.Name(event));
}

bool IsSynchronising(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos ||
         name.find("hipStreamWait") != std::string_view::npos ||
         (name.find("Memcpy") != std::string_view::npos &&
          name.find("Async") == std::string_view::npos);
}

// Host events of a thread in the order of their start, for questions about a time.
class HostTime {
 public:
  explicit HostTime(const TraceEvents& events) : events_(events) {
    first_.assign(events.tracks.size() + 1, 0);
    for (uint32_t i = 0; i < events.size(); ++i) ++first_[events.track[i] + 1];
    for (size_t t = 0; t < events.tracks.size(); ++t) first_[t + 1] += first_[t];
  }

  // How long the thread was in calls and operators within the time, and the synchronising call that
  // took most of it.
  int64_t Busy(uint32_t track, int64_t start_ns, int64_t end_ns, uint32_t& sync,
               int64_t& sync_ns) const {
    // Events lie by (track, start): those that begin in the time, and those that are open at its
    // start, which are the parents of the first.
    const auto begin = events_.start_ns.begin();
    const auto low = begin + first_[track];
    const auto high = begin + first_[track + 1];
    auto at = std::lower_bound(low, high, start_ns);
    Intervals busy;
    sync = kNone;
    sync_ns = 0;
    const auto look = [&](uint32_t event) {
      const int64_t from = std::max(start_ns, events_.start_ns[event]);
      const int64_t to = std::min(end_ns, events_.EndNs(event));
      if (to <= from) return;
      const EventKind kind = events_.kind[event];
      if (trace::IsApiCall(kind) && IsSynchronising(events_.Name(event)) && to - from > sync_ns) {
        sync = event;
        sync_ns = to - from;
      }
      if (trace::IsApiCall(kind) || kind == EventKind::kOperator ||
          kind == EventKind::kCommunication) {
        Extend(busy, from, to);
      }
    };
    if (at != low) {
      std::vector<uint32_t> open;
      for (auto event = static_cast<uint32_t>(at - begin) - 1; event != kNone;
           event = events_.parent[event]) {
        open.push_back(event);
      }
      for (auto event = open.rbegin(); event != open.rend(); ++event) look(*event);
    }
    for (; at != high && *at < end_ns; ++at) look(static_cast<uint32_t>(at - begin));
    return LengthOf(busy);
  }

 private:
  const TraceEvents& events_;
  std::vector<uint32_t> first_;  // by track: its first event
};

}  // namespace

std::vector<Overlap> OverlapOf(const TraceEvents& events) {
  std::vector<Overlap> overlaps;
  for (const auto& [gpu, work] : FindWork(events)) {
    Intervals computation, communication, memory, useful, all;
    for (const uint32_t event : work) {
      const int64_t start = events.start_ns[event];
      const int64_t end = events.EndNs(event);
      const bool is_communication = IsCommunication(events, event);
      const bool is_memory =
          events.kind[event] == EventKind::kMemcpy || events.kind[event] == EventKind::kMemset;
      Extend(is_communication ? communication : is_memory ? memory : computation, start, end);
      if (!is_communication) Extend(useful, start, end);
      Extend(all, start, end);
    }
    Overlap overlap;
    overlap.process = gpu.first;
    overlap.device = gpu.second;
    overlap.start_ns = events.start_ns[work.front()];
    overlap.span_ns = (all.empty() ? overlap.start_ns : all.back().end_ns) - overlap.start_ns;
    overlap.computation_ns = LengthOf(computation);
    overlap.communication_ns = LengthOf(communication);
    overlap.memory_ns = LengthOf(memory);
    overlap.overlapped_ns = CommonLength(communication, useful);
    overlap.exposed_ns = overlap.communication_ns - overlap.overlapped_ns;
    overlap.idle_ns = overlap.span_ns - LengthOf(all);
    overlaps.push_back(overlap);
  }
  return overlaps;
}

const char* GapCauseName(GapCause cause) {
  switch (cause) {
    case GapCause::kCommunication:
      return "communication";
    case GapCause::kDependency:
      return "dependency";
    case GapCause::kHostSync:
      return "host_sync";
    case GapCause::kLaunchBound:
      return "launch_bound";
    case GapCause::kHost:
      return "host";
    case GapCause::kUnknown:
      break;
  }
  return "unknown";
}

std::vector<Gap> GapsOf(const TraceEvents& events, int64_t least_ns) {
  const HostTime host(events);
  std::vector<Gap> gaps;
  for (const auto& [gpu, work] : FindWork(events)) {
    std::vector<uint32_t> collectives;
    for (const uint32_t event : work) {
      if (IsCommunication(events, event)) collectives.push_back(event);
    }
    int64_t end_ns = std::numeric_limits<int64_t>::max();
    uint32_t last = kNone;
    size_t next_collective = 0;
    for (const uint32_t event : work) {
      if (IsCommunication(events, event)) continue;
      const int64_t start_ns = events.start_ns[event];
      if (last != kNone && start_ns - end_ns >= least_ns) {
        Gap gap;
        gap.process = gpu.first;
        gap.device = gpu.second;
        gap.start_ns = end_ns;
        gap.duration_ns = start_ns - end_ns;
        gap.before = last;
        gap.after = event;
        // Communication first: it explains the gap whatever the host did meanwhile.
        Intervals running;
        int64_t longest_ns = 0;
        while (next_collective < collectives.size() &&
               events.EndNs(collectives[next_collective]) <= end_ns) {
          ++next_collective;
        }
        for (size_t i = next_collective;
             i < collectives.size() && events.start_ns[collectives[i]] < start_ns; ++i) {
          const int64_t from = std::max(end_ns, events.start_ns[collectives[i]]);
          const int64_t to = std::min(start_ns, events.EndNs(collectives[i]));
          Extend(running, from, to);
          if (to - from > longest_ns) {
            longest_ns = to - from;
            gap.blame = collectives[i];
          }
        }
        const uint32_t launch = events.parent[event];
        if (2 * LengthOf(running) >= gap.duration_ns) {
          gap.cause = GapCause::kCommunication;
        } else if (launch == kNone || !trace::IsApiCall(events.kind[launch])) {
          gap.cause = GapCause::kUnknown;
          gap.blame = kNone;
        } else if (events.start_ns[launch] <= end_ns) {
          gap.cause = GapCause::kDependency;
          gap.blame = launch;
        } else {
          int64_t sync_ns = 0;
          uint32_t sync = kNone;
          const int64_t waited_ns = std::max<int64_t>(events.start_ns[launch] - end_ns, 1);
          const int64_t busy_ns =
              host.Busy(events.track[launch], end_ns, events.EndNs(launch), sync, sync_ns);
          gap.blame = launch;
          if (2 * sync_ns >= waited_ns) {
            gap.cause = GapCause::kHostSync;
            gap.blame = sync;
          } else {
            gap.cause = 2 * busy_ns >= waited_ns ? GapCause::kLaunchBound : GapCause::kHost;
          }
        }
        gaps.push_back(gap);
      }
      if (last == kNone || events.EndNs(event) > end_ns) end_ns = events.EndNs(event);
      last = event;
    }
  }
  return gaps;
}

}  // namespace telltale::evidence
