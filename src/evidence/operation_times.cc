#include "evidence/operation_times.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "evidence/steps.h"

namespace telltale::evidence {
namespace {

// A place is told by so many names at most; deeper ones by their innermost.
constexpr size_t kMostPlaceNames = 8;

bool TellsPlace(EventKind kind) {
  return kind == EventKind::kOperator || kind == EventKind::kRange ||
         kind == EventKind::kCommunication;
}

void Add(NamedTimes& sum, const TraceEvents& events, const CallTimes& times, uint32_t event) {
  ++sum.calls;
  if (events.IsGpu(event)) {
    const int64_t duration_ns = std::max<int64_t>(events.duration_ns[event], 0);
    sum.inclusive_ns += duration_ns;
    sum.exclusive_ns += duration_ns;
    sum.gpu_ns += duration_ns;
    return;
  }
  sum.exclusive_ns += times.exclusive_ns[event];
  if (times.is_within_same[event]) return;
  sum.inclusive_ns += std::max<int64_t>(events.duration_ns[event], 0);
  sum.gpu_ns += times.gpu_ns[event];
}

template <typename Map>
std::vector<NamedTimes> Sorted(Map& sums) {
  std::vector<NamedTimes> rows;
  for (auto& [key, row] : sums) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const NamedTimes& a, const NamedTimes& b) {
    return a.inclusive_ns > b.inclusive_ns;
  });
  return rows;
}

}  // namespace

std::vector<NamedTimes> HostTimesByName(const TraceEvents& events, const CallTimes& times,
                                        const std::vector<EventKind>& kinds) {
  std::map<std::pair<EventKind, uint32_t>, NamedTimes> sums;
  for (uint32_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    if (events.IsGpu(i) || std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
    NamedTimes& sum = sums[{kind, events.name[i]}];
    if (sum.calls == 0) {
      sum.kind = kind;
      sum.name = events.Name(i);
    }
    Add(sum, events, times, i);
  }
  return Sorted(sums);
}

std::vector<NamedTimes> TimesByPlace(const TraceEvents& events, const CallTimes& times) {
  // Places by number: each is a name below another place. Python frames and calls do not count.
  std::vector<std::pair<uint32_t, uint32_t>> places = {{kNone, kNone}};  // (place above, name)
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> number_of;
  std::vector<uint32_t> place_of(events.size(), kNone);  // of what lies in the event
  const auto place_in = [&](uint32_t event) {
    // Up to an event whose place is known, then down again.
    std::vector<uint32_t> path;
    uint32_t up = event;
    for (; up != kNone && place_of[up] == kNone; up = events.parent[up]) path.push_back(up);
    uint32_t place = up == kNone ? 0 : place_of[up];
    for (auto below = path.rbegin(); below != path.rend(); ++below) {
      if (TellsPlace(events.kind[*below]) && !IsStepName(events.Name(*below))) {
        const std::pair<uint32_t, uint32_t> key = {place, events.name[*below]};
        const auto [found, added] =
            number_of.try_emplace(key, static_cast<uint32_t>(places.size()));
        if (added) places.push_back(key);
        place = found->second;
      }
      place_of[*below] = place;
    }
    return place;
  };
  std::map<std::tuple<EventKind, uint32_t, uint32_t>, NamedTimes> sums;
  for (uint32_t i = 0; i < events.size(); ++i) {
    const EventKind kind = events.kind[i];
    const bool is_gpu_work = events.IsGpu(i) && trace::IsGpuWork(kind);
    if (!is_gpu_work && (events.IsGpu(i) || !TellsPlace(kind) || IsStepName(events.Name(i)))) {
      continue;
    }
    const uint32_t place = events.parent[i] == kNone ? 0 : place_in(events.parent[i]);
    NamedTimes& sum = sums[{kind, events.name[i], place}];
    if (sum.calls == 0) {
      sum.kind = kind;
      sum.name = events.Name(i);
      uint32_t at = place;
      for (size_t depth = 0; at != 0; at = places[at].first, ++depth) {
        if (depth == kMostPlaceNames) {
          sum.place = "… > " + sum.place;
          break;
        }
        sum.place = events.names[places[at].second] + (sum.place.empty() ? "" : " > " + sum.place);
      }
    }
    Add(sum, events, times, i);
  }
  return Sorted(sums);
}

}  // namespace telltale::evidence
