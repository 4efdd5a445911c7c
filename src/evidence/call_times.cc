#include "evidence/call_times.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace telltale::evidence {
namespace {

constexpr int64_t kLongAgo = std::numeric_limits<int64_t>::min();

// Length of a union of intervals that come in the order of their start.
struct Union {
  int64_t end_ns = kLongAgo;
  int64_t length_ns = 0;
  void Add(int64_t start_ns, int64_t end) {
    const int64_t from = std::max(start_ns, end_ns);
    if (end <= from) return;
    length_ns += end - from;
    end_ns = end;
  }
};

// Host events stand in the order of a walk through their tree, so that those above an event are
// what is left of the events in front of it.
std::vector<bool> WithinSame(const TraceEvents& events) {
  std::vector<bool> is_within(events.size());
  std::vector<uint32_t> open(events.names.size() * trace::kEventKinds);  // events above, by what
  const auto count_of = [&](uint32_t event) -> uint32_t& {
    return open[events.name[event] * trace::kEventKinds + static_cast<size_t>(events.kind[event])];
  };
  std::vector<uint32_t> above;
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.IsGpu(i)) continue;
    while (!above.empty() && above.back() != events.parent[i]) {
      --count_of(above.back());
      above.pop_back();
    }
    is_within[i] = count_of(i) > 0;
    ++count_of(i);
    above.push_back(i);
  }
  return is_within;
}

bool IsLaunchedWork(const TraceEvents& events, uint32_t event) {
  return events.IsGpu(event) && events.kind[event] != EventKind::kRange &&
         events.kind[event] != EventKind::kSync && events.parent[event] != kNone;
}

// An event to which work comes in one way only, from one child or as one piece, has the time of
// that: in deep chains only the few where work comes together need to look at each piece. Host
// events stand behind their parents.
std::vector<int64_t> GpuTimes(const TraceEvents& events) {
  std::vector<uint32_t> work;
  std::vector<uint32_t> ways(events.size());
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (!IsLaunchedWork(events, i)) continue;
    work.push_back(i);
    ++ways[events.parent[i]];
  }
  for (size_t i = events.size(); i-- > 0;) {
    const uint32_t parent = events.parent[i];
    if (!events.IsGpu(i) && ways[i] > 0 && parent != kNone) ++ways[parent];
  }
  std::vector<uint32_t> joint(events.size(), kNone);  // the next where work comes together, upwards
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.IsGpu(i)) continue;
    if (ways[i] > 1) {
      joint[i] = i;
    } else if (events.parent[i] != kNone) {
      joint[i] = joint[events.parent[i]];
    }
  }
  std::sort(work.begin(), work.end(),
            [&](uint32_t a, uint32_t b) { return events.start_ns[a] < events.start_ns[b]; });
  std::vector<Union> covered(events.size());
  std::vector<int64_t> gpu_ns(events.size());
  for (const uint32_t piece : work) {
    Union alone;
    alone.Add(events.start_ns[piece], events.EndNs(piece));
    gpu_ns[events.parent[piece]] = alone.length_ns;
    for (uint32_t i = joint[events.parent[piece]]; i != kNone;
         i = events.parent[i] == kNone ? kNone : joint[events.parent[i]]) {
      covered[i].Add(events.start_ns[piece], events.EndNs(piece));
    }
  }
  for (size_t i = events.size(); i-- > 0;) {
    if (events.IsGpu(i)) continue;
    if (ways[i] > 1) gpu_ns[i] = covered[i].length_ns;
    const uint32_t parent = events.parent[i];
    if (ways[i] > 0 && parent != kNone && ways[parent] == 1) gpu_ns[parent] = gpu_ns[i];
  }
  return gpu_ns;
}

}  // namespace

CallTimes TimesOf(const TraceEvents& events) {
  CallTimes times;
  times.exclusive_ns.resize(events.size());
  times.is_within_same = WithinSame(events);
  std::vector<Union> covered(events.size());
  for (uint32_t i = 0; i < events.size(); ++i) {
    times.exclusive_ns[i] = std::max<int64_t>(events.duration_ns[i], 0);
    // Host events stand in the order of their start; a child may end a little after its parent.
    const uint32_t parent = events.parent[i];
    if (events.IsGpu(i) || parent == kNone) continue;
    covered[parent].Add(events.start_ns[i], std::min(events.EndNs(i), events.EndNs(parent)));
  }
  for (size_t i = 0; i < events.size(); ++i) times.exclusive_ns[i] -= covered[i].length_ns;
  times.gpu_ns = GpuTimes(events);
  return times;
}

CallTree TreeOf(const TraceEvents& events) {
  CallTree tree;
  tree.first.assign(events.size() + 1, 0);
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.parent[i] == kNone) {
      tree.roots.push_back(i);
    } else {
      ++tree.first[events.parent[i] + 1];
    }
  }
  std::partial_sum(tree.first.begin(), tree.first.end(), tree.first.begin());
  tree.child.resize(tree.first.back());
  std::vector<uint32_t> next(tree.first.begin(), tree.first.end() - 1);
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.parent[i] != kNone) tree.child[next[events.parent[i]]++] = i;
  }
  const auto before = [&](uint32_t a, uint32_t b) {
    return events.start_ns[a] != events.start_ns[b] ? events.start_ns[a] < events.start_ns[b]
                                                    : a < b;
  };
  for (size_t i = 0; i < events.size(); ++i) {
    std::sort(tree.child.begin() + tree.first[i], tree.child.begin() + tree.first[i + 1], before);
  }
  std::sort(tree.roots.begin(), tree.roots.end(), before);
  return tree;
}

}  // namespace telltale::evidence
