#include "evidence/chain.h"

#include <algorithm>

namespace telltale::evidence {
namespace {

class ChainBuilder {
 public:
  ChainBuilder(const TraceEvents& events, const CallTree& tree, const CallTimes& times,
               const ChainOptions& options)
      : events_(events), tree_(tree), times_(times), options_(options) {}

  Chain Build(uint32_t step) {
    AddTree(step, kNone, 0, true);
    const uint32_t process = events_.tracks[events_.track[step]].process;
    const auto in_step = [&](uint32_t event) {
      return events_.tracks[events_.track[event]].process == process &&
             events_.start_ns[event] >= events_.start_ns[step] &&
             events_.start_ns[event] < events_.EndNs(step) &&
             events_.track[event] != events_.track[step];
    };
    const auto begin = std::lower_bound(
        tree_.roots.begin(), tree_.roots.end(), events_.start_ns[step],
        [&](uint32_t root, int64_t start_ns) { return events_.start_ns[root] < start_ns; });
    std::vector<uint32_t> loose;
    for (auto root = begin;
         root != tree_.roots.end() && events_.start_ns[*root] < events_.EndNs(step); ++root) {
      if (!in_step(*root)) continue;
      if (!events_.IsGpu(*root)) {
        AddTree(*root, 0, 1, false);
      } else if (trace::IsGpuWork(events_.kind[*root])) {
        loose.push_back(*root);
      }
    }
    AddUnattached(loose);
    return std::move(chain_);
  }

 private:
  bool IsShown(uint32_t event, size_t depth) const {
    if (options_.most_depth > 0 && depth > options_.most_depth) return false;
    if (options_.least_ns > 0 &&
        std::max(events_.duration_ns[event], times_.gpu_ns[event]) < options_.least_ns) {
      return false;
    }
    return options_.kinds.empty() || options_.kinds.contains(events_.kind[event]);
  }

  void AddTree(uint32_t root, uint32_t parent, size_t depth, bool always) {
    struct Open {
      uint32_t event;
      uint32_t parent;
      size_t depth;
    };
    std::vector<Open> open = {{root, parent, depth}};
    while (!open.empty()) {
      const Open top = open.back();
      open.pop_back();
      uint32_t below = top.parent;
      size_t below_depth = top.depth;
      if ((always && top.event == root) || IsShown(top.event, top.depth)) {
        below = static_cast<uint32_t>(chain_.nodes.size());
        below_depth = top.depth + 1;
        chain_.nodes.push_back({top.event, top.parent, top.depth});
      } else {
        ++chain_.hidden;
      }
      for (uint32_t i = tree_.first[top.event + 1]; i > tree_.first[top.event]; --i) {
        open.push_back({tree_.child[i - 1], below, below_depth});
      }
    }
  }

  void AddUnattached(const std::vector<uint32_t>& loose) {
    UnattachedCounts counts;
    for (const uint32_t event : loose) {
      ++counts[{events_.kind[event], events_.correlation[event] >= 0}];
    }
    chain_.unattached = UnattachedOf(counts);
    if (loose.empty()) return;
    const auto holder = static_cast<uint32_t>(chain_.nodes.size());
    chain_.nodes.push_back({kNone, 0, 1});
    for (const uint32_t event : loose) {
      if (IsShown(event, 2)) {
        chain_.nodes.push_back({event, holder, 2});
      } else {
        ++chain_.hidden;
      }
    }
  }

  const TraceEvents& events_;
  const CallTree& tree_;
  const CallTimes& times_;
  const ChainOptions& options_;
  Chain chain_;
};

}  // namespace

std::vector<Unattached> UnattachedOf(const UnattachedCounts& counts) {
  std::vector<Unattached> unattached;
  for (const auto& [key, count] : counts) {
    unattached.push_back(
        {key.first, count, key.second ? "no launch in the profile" : "no correlation id"});
  }
  return unattached;
}

Chain ChainOf(const TraceEvents& events, const CallTree& tree, const CallTimes& times,
              uint32_t step, const ChainOptions& options) {
  return ChainBuilder(events, tree, times, options).Build(step);
}

}  // namespace telltale::evidence
