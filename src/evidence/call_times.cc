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

}  // namespace

CallTimes TimesOf(const TraceEvents& events) {
  CallTimes times;
  times.exclusive_ns.resize(events.size());
  times.gpu_ns.resize(events.size());
  times.is_within_same = WithinSame(events);
  std::vector<Union> covered(events.size());
  for (uint32_t i = 0; i < events.size(); ++i) {
    times.exclusive_ns[i] = std::max<int64_t>(events.duration_ns[i], 0);
    // Host events stand in the order of their start; a child may end a little after its parent.
    const uint32_t parent = events.parent[i];
    if (events.IsGpu(i) || parent == kNone) continue;
    covered[parent].Add(events.start_ns[i], std::min(events.EndNs(i), events.EndNs(parent)));
  }
  for (size_t i = 0; i < events.size(); ++i) {
    times.exclusive_ns[i] -= covered[i].length_ns;
    covered[i] = Union();
  }
  std::vector<uint32_t> gpu;
  for (uint32_t i = 0; i < events.size(); ++i) {
    if (events.IsGpu(i) && events.kind[i] != EventKind::kRange &&
        events.kind[i] != EventKind::kSync && events.parent[i] != kNone) {
      gpu.push_back(i);
    }
  }
  std::sort(gpu.begin(), gpu.end(),
            [&](uint32_t a, uint32_t b) { return events.start_ns[a] < events.start_ns[b]; });
  for (const uint32_t work : gpu) {
    // Parents are found by nesting or launch, neither of which can lead in a circle.
    for (uint32_t i = events.parent[work]; i != kNone; i = events.parent[i]) {
      covered[i].Add(events.start_ns[work], events.EndNs(work));
    }
  }
  for (size_t i = 0; i < events.size(); ++i) times.gpu_ns[i] = covered[i].length_ns;
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
