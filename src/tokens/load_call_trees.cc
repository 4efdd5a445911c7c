#include "tokens/load_call_trees.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "evidence/chain.h"
#include "evidence/steps.h"

namespace telltale::tokens {
namespace {

class TreeLoader {
 public:
  explicit TreeLoader(const evidence::TraceEvents& events)
      : events_(events),
        new_name_(events.names.size(), kNone),
        communicator_(events.size(), kNone) {
    for (const evidence::TraceTrack& track : events.tracks) {
      trees_.tracks.push_back({track.label, track.is_stream});
    }
  }

  Status LoadCommunicators(Connection& connection) {
    return connection.Query(
        "SELECT event, coalesce(communicator_id, nullif(group_name, ''), group_ranks) AS group_key "
        "FROM communication_event WHERE group_key IS NOT NULL AND group_key <> ''",
        {}, [](const std::vector<ColumnInfo>&) -> Status { return {}; },
        [&](std::vector<Cell>& row) -> Status {
          const auto* const event = std::get_if<int64_t>(&row[0]);
          if (event == nullptr) return {};
          const auto at = std::lower_bound(events_.id.begin(), events_.id.end(), *event);
          if (at == events_.id.end() || *at != *event) return {};
          const auto [known, added] = numbers_.try_emplace(
              CellText(row[1]), static_cast<uint32_t>(trees_.communicators.size()));
          if (added) trees_.communicators.push_back(known->first);
          communicator_[static_cast<size_t>(at - events_.id.begin())] = known->second;
          return {};
        });
  }

  void Add(const evidence::Chain& chain, size_t number) {
    for (const evidence::ChainNode& node : chain.nodes) {
      trees_.parent.push_back(node.parent);
      if (node.event == evidence::kNone) {
        AddHolder();
        continue;
      }
      const uint32_t event = node.event;
      trees_.name.push_back(NameOf(events_.name[event]));
      trees_.track.push_back(events_.track[event]);
      trees_.communicator.push_back(communicator_[event]);
      trees_.kind.push_back(events_.kind[event]);
      trees_.basis.push_back(static_cast<ParentBasis>(events_.basis[event]));
      trees_.event.push_back(events_.id[event]);
      trees_.start_ns.push_back(events_.start_ns[event]);
      trees_.duration_ns.push_back(events_.duration_ns[event]);
      trees_.correlation.push_back(events_.correlation[event]);
    }
    trees_.first.push_back(trees_.parent.size());
    trees_.number.push_back(number);
  }

  CallTrees Take() { return std::move(trees_); }

 private:
  // What holds work on the GPU that is not attached.
  void AddHolder() {
    if (holder_name_ == kNone) {
      holder_name_ = static_cast<uint32_t>(trees_.names.size());
      trees_.names.emplace_back("not attached");
    }
    trees_.name.push_back(holder_name_);
    trees_.track.push_back(kNone);
    trees_.communicator.push_back(kNone);
    trees_.kind.push_back(EventKind::kOther);
    trees_.basis.push_back(ParentBasis::kNone);
    trees_.event.push_back(-1);
    trees_.start_ns.push_back(0);
    trees_.duration_ns.push_back(-1);
    trees_.correlation.push_back(-1);
  }

  uint32_t NameOf(uint32_t name) {
    if (new_name_[name] == kNone) {
      new_name_[name] = static_cast<uint32_t>(trees_.names.size());
      trees_.names.push_back(events_.names[name]);
    }
    return new_name_[name];
  }

  const evidence::TraceEvents& events_;
  std::vector<uint32_t> new_name_;
  uint32_t holder_name_ = kNone;
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> communicator_;  // by event
  CallTrees trees_;
};

}  // namespace

Result<CallTrees> LoadCallTrees(Connection& connection, const evidence::TraceFilter& filter,
                                const std::optional<std::vector<size_t>>& steps) {
  TELLTALE_ASSIGN(const evidence::TraceEvents events,
                  evidence::LoadTraceEvents(connection, filter));
  const std::vector<uint32_t> all = evidence::FindSteps(events);
  if (all.empty()) {
    return Fail(
        "the profile marks no steps; ranges such as ProfilerStep#12 or execute_… mark them");
  }
  std::vector<size_t> chosen(all.size());
  std::iota(chosen.begin(), chosen.end(), size_t{0});
  if (steps) chosen = *steps;
  for (const size_t step : chosen) {
    if (step >= all.size()) {
      return Fail("there is no step {}; steps go from 0 to {} (`telltale chain` lists them)", step,
                  all.size() - 1);
    }
  }
  const evidence::CallTimes no_times;
  const evidence::CallTree tree = evidence::TreeOf(events);
  TreeLoader loader(events);
  TELLTALE_TRY(loader.LoadCommunicators(connection));
  for (const size_t step : chosen) {
    loader.Add(evidence::ChainOf(events, tree, no_times, all[step], {}), step);
  }
  return loader.Take();
}

}  // namespace telltale::tokens
