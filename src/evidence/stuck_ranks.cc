#include "evidence/stuck_ranks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"

namespace telltale::evidence {
namespace {

// "[0, 1, 2]"
std::vector<int64_t> RanksOf(std::string_view text) {
  std::vector<int64_t> ranks;
  for (size_t at = text.find_first_of("0123456789"); at != std::string_view::npos;
       at = text.find_first_of("0123456789", at)) {
    int64_t rank = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), rank);
    if (error == std::errc()) ranks.push_back(rank);
    at = static_cast<size_t>(end - text.data());
  }
  return ranks;
}

struct Unfinished {
  std::string operation;
  int64_t sequence = 0;
  bool is_p2p = false;
  size_t place = 0;  // in the order in which the rank enqueued its operations
};

// How far one rank got in a group.
struct Progress {
  std::optional<int64_t> last_enqueued, last_completed;
  std::vector<Unfinished> unfinished;  // in the order of the dump
};

using GroupKey = std::pair<std::string, std::string>;  // description and ranks

struct Group {
  std::string label;
  std::vector<int64_t> ranks;
  bool has_p2p = false;
  std::map<int64_t, Progress> progress;  // by rank
};

// "nccl:send 0->3" or "nccl:recv 3<-0": ranks in the group.
struct Transfer {
  bool is_send = false;
  size_t own = 0;
  size_t peer = 0;
};
std::optional<Transfer> TransferOf(std::string_view operation) {
  Transfer transfer;
  transfer.is_send = operation.find("send ") != std::string_view::npos;
  const std::string_view arrow = transfer.is_send ? "->" : "<-";
  const size_t at = operation.find(arrow);
  const size_t space = operation.rfind(' ', at);
  if (at == std::string_view::npos || space == std::string_view::npos) return std::nullopt;
  const auto own = NumberOf<size_t>(operation.substr(space + 1, at - space - 1));
  const auto peer = NumberOf<size_t>(operation.substr(at + arrow.size()));
  if (!own || !peer) return std::nullopt;
  transfer.own = *own;
  transfer.peer = *peer;
  return transfer;
}

std::string Listed(const std::vector<int64_t>& ranks) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < ranks.size() && i < kMost; ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  }
  if (ranks.size() > kMost) text += fmt::format(" and {} more", ranks.size() - kMost);
  return text;
}

// The components of a graph in which each reaches each, found with a stack of our own: jobs have
// thousands of ranks.
class Components {
 public:
  explicit Components(const std::vector<std::vector<size_t>>& edges)
      : edges_(edges), number_(edges.size(), kNone), low_(edges.size()), of_(edges.size(), kNone) {
    for (size_t i = 0; i < edges.size(); ++i) {
      if (number_[i] == kNone) Visit(i);
    }
  }
  const std::vector<size_t>& of() const { return of_; }
  size_t count() const { return count_; }

 private:
  static constexpr size_t kNone = static_cast<size_t>(-1);

  void Visit(size_t root) {
    std::vector<std::pair<size_t, size_t>> path = {{root, 0}};  // node, its next edge
    Enter(root);
    while (!path.empty()) {
      auto& [node, next] = path.back();
      if (next < edges_[node].size()) {
        const size_t to = edges_[node][next++];
        if (number_[to] == kNone) {
          Enter(to);
          path.emplace_back(to, 0);
        } else if (of_[to] == kNone) {
          low_[node] = std::min(low_[node], number_[to]);
        }
        continue;
      }
      const size_t done = node;
      path.pop_back();
      if (!path.empty()) low_[path.back().first] = std::min(low_[path.back().first], low_[done]);
      if (low_[done] != number_[done]) continue;
      while (of_[done] == kNone) {
        of_[open_.back()] = count_;
        open_.pop_back();
      }
      ++count_;
    }
  }
  void Enter(size_t node) {
    number_[node] = low_[node] = next_number_++;
    open_.push_back(node);
  }

  const std::vector<std::vector<size_t>>& edges_;
  std::vector<size_t> number_, low_, of_, open_;
  size_t next_number_ = 0;
  size_t count_ = 0;
};

class Run {
 public:
  Progress& In(const GroupKey& key, int64_t rank) {
    Group& group = groups_[key];
    if (group.label.empty()) {
      group.ranks = RanksOf(key.second);
      group.label =
          fmt::format("{} [{}]", key.first.empty() ? "a group" : key.first, Listed(group.ranks));
    }
    return group.progress[rank];
  }
  void HasTransfers(const GroupKey& key) { groups_[key].has_p2p = true; }
  void AddDump(int64_t rank, bool is_empty) {
    (is_empty ? empty_ : dumped_).insert(rank);
    ++dumps_[rank];
  }

  std::vector<RankState> Judge(const std::string& name) {
    KeepMembers();
    AddRanks(name);
    for (auto& [key, group] : groups_) {
      FindWaits(group);
      FindStuck(group);
    }
    NameWhoHoldsUp();
    for (RankState& state : states_) {
      if (state.has_dump) continue;
      state.reasons.push_back(empty_.contains(state.rank) ? "its dump is empty"
                                                          : "no dump of it is there");
    }
    AddMostUnfinished();
    return std::move(states_);
  }

 private:
  // Dumps may tell of groups that the rank has made, but is not in.
  void KeepMembers() {
    for (auto& [key, group] : groups_) {
      if (group.ranks.empty()) continue;
      const std::set<int64_t> members(group.ranks.begin(), group.ranks.end());
      std::erase_if(group.progress,
                    [&](const auto& of_rank) { return !members.contains(of_rank.first); });
    }
  }

  void AddRanks(const std::string& name) {
    std::set<int64_t> ranks = dumped_;
    ranks.insert(empty_.begin(), empty_.end());
    for (const auto& [key, group] : groups_) {
      ranks.insert(group.ranks.begin(), group.ranks.end());
    }
    for (const int64_t rank : ranks) {
      place_[rank] = states_.size();
      RankState& state = states_.emplace_back();
      state.run = name;
      state.rank = rank;
      state.dumps = dumps_[rank];
      state.has_dump = dumped_.contains(rank);
    }
    edges_.resize(states_.size());
    std::vector<size_t> oldest(states_.size());
    for (const auto& [key, group] : groups_) {
      for (const auto& [rank, progress] : group.progress) {
        const size_t at = place_.at(rank);
        RankState& state = states_[at];
        state.unfinished += progress.unfinished.size();
        if (progress.unfinished.empty()) continue;
        const Unfinished& first = progress.unfinished.front();
        if (!state.oldest.empty() && oldest[at] < first.place) continue;
        oldest[at] = first.place;
        state.oldest = NameOf(group, first);
      }
    }
  }

  static std::string NameOf(const Group& group, const Unfinished& operation) {
    return fmt::format("{} {} of {}", operation.operation, operation.sequence, group.label);
  }

  void AddWait(const Group& group, int64_t rank, int64_t other, const Unfinished& operation) {
    const size_t from = place_.at(rank);
    const size_t to = place_.at(other);
    if (std::find(edges_[from].begin(), edges_[from].end(), to) == edges_[from].end()) {
      edges_[from].push_back(to);
      states_[from].waits_for.push_back(other);
      ++states_[to].waited_for_by;
    }
    waits_[other][NameOf(group, operation)].insert(rank);
  }

  void FindWaits(const Group& group) {
    for (const auto& [rank, progress] : group.progress) {
      const auto collective =
          std::find_if(progress.unfinished.begin(), progress.unfinished.end(),
                       [](const Unfinished& operation) { return !operation.is_p2p; });
      if (!group.has_p2p && collective != progress.unfinished.end()) {
        for (const auto& [other, theirs] : group.progress) {
          if (other != rank && theirs.last_enqueued &&
              *theirs.last_enqueued < collective->sequence) {
            AddWait(group, rank, other, *collective);
          }
        }
      }
      for (const Unfinished& operation : progress.unfinished) {
        if (operation.is_p2p) FindTransferWait(group, rank, operation);
      }
    }
  }

  // A send waits for a receive that the peer has not under way, and the other way round.
  void FindTransferWait(const Group& group, int64_t rank, const Unfinished& operation) {
    const auto transfer = TransferOf(operation.operation);
    if (!transfer || transfer->peer >= group.ranks.size() || transfer->own >= group.ranks.size()) {
      return;
    }
    const int64_t peer = group.ranks[transfer->peer];
    const auto theirs = group.progress.find(peer);
    if (peer == rank || theirs == group.progress.end()) return;
    const bool is_met = std::any_of(
        theirs->second.unfinished.begin(), theirs->second.unfinished.end(),
        [&](const Unfinished& other) {
          const auto counterpart = other.is_p2p ? TransferOf(other.operation) : std::nullopt;
          return counterpart && counterpart->is_send != transfer->is_send &&
                 counterpart->own == transfer->peer && counterpart->peer == transfer->own;
        });
    if (!is_met) AddWait(group, rank, peer, operation);
  }

  void FindStuck(const Group& group) {
    if (group.has_p2p) return;
    for (const auto& [rank, progress] : group.progress) {
      if (progress.unfinished.empty()) continue;
      const Unfinished& operation = progress.unfinished.front();
      std::vector<int64_t> done;
      for (const auto& [other, theirs] : group.progress) {
        if (other != rank && theirs.last_completed &&
            *theirs.last_completed >= operation.sequence) {
          done.push_back(other);
        }
      }
      if (done.empty()) continue;
      states_[place_.at(rank)].reasons.push_back(
          fmt::format("{} is unfinished, though rank{} {} finished it", NameOf(group, operation),
                      done.size() > 1 ? "s" : "", Listed(done)));
    }
  }

  void NameWhoHoldsUp() {
    const Components components(edges_);
    std::vector<size_t> size(components.count());
    std::vector<bool> waits(components.count());
    std::vector<bool> is_waited_for(components.count());
    for (size_t i = 0; i < edges_.size(); ++i) {
      const size_t own = components.of()[i];
      ++size[own];
      for (const size_t to : edges_[i]) {
        const size_t other = components.of()[to];
        if (other == own) continue;
        waits[own] = true;
        is_waited_for[other] = true;
      }
    }
    for (size_t i = 0; i < states_.size(); ++i) {
      const size_t own = components.of()[i];
      RankState& state = states_[i];
      if (waits[own] || !(is_waited_for[own] || size[own] > 1)) continue;
      for (const auto& [operation, by] : waits_[state.rank]) {
        state.reasons.push_back(fmt::format(
            "{} {}, for which rank{} {} wait{}",
            size[own] > 1 ? "waits in a circle; it has not enqueued" : "has not enqueued",
            operation, by.size() > 1 ? "s" : "", Listed(std::vector<int64_t>(by.begin(), by.end())),
            by.size() > 1 ? "" : "s"));
      }
      if (state.has_dump && state.unfinished == 0) {
        state.reasons.push_back("nothing of its own is under way");
      }
    }
  }

  // Says more of those who are suspects already; it makes nobody one.
  void AddMostUnfinished() {
    uint64_t most = 0;
    size_t count = 0;
    for (const RankState& state : states_) {
      if (state.unfinished > most) count = 0;
      most = std::max(most, state.unfinished);
      count += state.unfinished == most ? 1 : 0;
    }
    if (most == 0 || count > 1) return;
    for (RankState& state : states_) {
      if (state.unfinished == most && !state.reasons.empty()) {
        state.reasons.push_back(fmt::format("it has most operations unfinished ({})", most));
      }
    }
  }

  std::map<GroupKey, Group> groups_;
  std::set<int64_t> dumped_, empty_;
  std::map<int64_t, uint64_t> dumps_;  // how many there are of a rank
  std::map<int64_t, size_t> place_;    // of a rank in states_
  std::vector<RankState> states_;
  std::vector<std::vector<size_t>> edges_;  // from who waits to whom for
  // Ranks that wait, by who is waited for, and operation.
  std::map<int64_t, std::map<std::string, std::set<int64_t>>> waits_;
};

int64_t Integer(const Cell& cell) { return std::get<int64_t>(cell); }
std::optional<int64_t> Known(const Cell& cell) {
  const auto* const value = std::get_if<int64_t>(&cell);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

// Entries of known ranks with their groups; $1 is the run.
const std::string kFromEntries =
    "FROM flight_entry e JOIN flight_dump d USING (source) JOIN source f USING (source) "
    "JOIN run u ON u.run = f.run "
    "LEFT JOIN flight_group g ON g.source = e.source AND g.name = e.group_name "
    "WHERE d.rank IS NOT NULL AND ($1::VARCHAR IS NULL OR u.name = $1) ";
const std::string kIsFinished = "(e.state = 'completed' OR coalesce(e.retired, false))";

}  // namespace

Result<std::vector<RankState>> StuckRanks(Connection& connection, const std::string& run) {
  const std::array<Cell, 1> parameters = {run.empty() ? Cell() : Cell(run)};
  std::map<std::string, Run> runs;
  TELLTALE_ASSIGN(
      const Table dumps,
      connection.Query("SELECT u.name, d.rank, f.size_bytes = 0 FROM flight_dump d "
                       "JOIN source f USING (source) JOIN run u ON u.run = f.run "
                       "WHERE d.rank IS NOT NULL AND ($1::VARCHAR IS NULL OR u.name = $1)",
                       parameters));
  if (dumps.rows.empty()) {
    return Fail(
        "no flight-recorder dump of a known rank is in the store{}; ingest the folder with the "
        "dumps of all ranks (TORCH_NCCL_DEBUG_INFO_TEMP_FILE), whose names end with the rank",
        run.empty() ? "" : " for run " + run);
  }
  for (const auto& row : dumps.rows) {
    runs[CellText(row[0])].AddDump(Integer(row[1]), std::get<bool>(row[2]));
  }
  TELLTALE_ASSIGN(
      const Table groups,
      connection.Query("SELECT u.name, d.rank, coalesce(g.description, ''), "
                       "coalesce(g.ranks, ''), g.last_enqueued, g.last_completed "
                       "FROM flight_group g JOIN flight_dump d USING (source) "
                       "JOIN source f USING (source) JOIN run u ON u.run = f.run "
                       "WHERE d.rank IS NOT NULL AND ($1::VARCHAR IS NULL OR u.name = $1)",
                       parameters));
  for (const auto& row : groups.rows) {
    Progress& progress =
        runs[CellText(row[0])].In({CellText(row[2]), CellText(row[3])}, Integer(row[1]));
    progress.last_enqueued = Known(row[4]);
    progress.last_completed = Known(row[5]);
  }
  // Where a dump does not say how far its rank got, what is left of its ring buffer does.
  TELLTALE_ASSIGN(
      const Table progress_of_entries,
      connection.Query("SELECT u.name, d.rank, coalesce(g.description, e.group_description, ''), "
                       "coalesce(g.ranks, ''), max(e.collective_sequence), "
                       "max(e.collective_sequence) FILTER (" +
                           kIsFinished + "), bool_or(coalesce(e.is_p2p, false)) " + kFromEntries +
                           "GROUP BY ALL",
                       parameters));
  for (const auto& row : progress_of_entries.rows) {
    Run& of_run = runs[CellText(row[0])];
    const GroupKey key = {CellText(row[2]), CellText(row[3])};
    Progress& progress = of_run.In(key, Integer(row[1]));
    if (!progress.last_enqueued) progress.last_enqueued = Known(row[4]);
    if (!progress.last_completed) progress.last_completed = Known(row[5]);
    if (std::get<bool>(row[6])) of_run.HasTransfers(key);
  }
  TELLTALE_ASSIGN(
      const Table entries,
      connection.Query("SELECT u.name, d.rank, coalesce(g.description, e.group_description, ''), "
                       "coalesce(g.ranks, ''), e.operation, coalesce(e.is_p2p, false), "
                       "CASE WHEN coalesce(e.is_p2p, false) THEN e.p2p_sequence ELSE "
                       "e.collective_sequence END " +
                           kFromEntries + "AND NOT " + kIsFinished +
                           " ORDER BY e.source, e.record_id",
                       parameters));
  size_t place = 0;
  for (const auto& row : entries.rows) {
    Run& of_run = runs[CellText(row[0])];
    const GroupKey key = {CellText(row[2]), CellText(row[3])};
    Progress& progress = of_run.In(key, Integer(row[1]));
    const bool is_p2p = std::get<bool>(row[5]);
    std::string operation = CellText(row[4]);
    if (operation.starts_with("nccl:")) operation.erase(0, 5);
    progress.unfinished.push_back(
        {std::move(operation), Known(row[6]).value_or(0), is_p2p, place++});
  }
  std::vector<RankState> states;
  for (auto& [name, of_run] : runs) {
    std::vector<RankState> judged = of_run.Judge(name);
    std::move(judged.begin(), judged.end(), std::back_inserter(states));
  }
  return states;
}

}  // namespace telltale::evidence
