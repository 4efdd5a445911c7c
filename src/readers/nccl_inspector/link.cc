#include "readers/nccl_inspector/link.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/nccl_inspector/sequence_set.h"
#include "store/bulk_insert.h"

namespace telltale::nccl_inspector {
namespace {

int64_t Integer(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* value = std::get_if<uint64_t>(&cell)) return static_cast<int64_t>(*value);
  if (const auto* value = std::get_if<bool>(&cell)) return *value ? 1 : 0;
  return 0;
}
uint64_t Unsigned(const Cell& cell) {
  if (const auto* value = std::get_if<uint64_t>(&cell)) return *value;
  return static_cast<uint64_t>(Integer(cell));
}
bool IsNull(const Cell& cell) { return std::holds_alternative<std::monostate>(cell); }

// One rank of a communicator in one process, as the sources describe it.
struct Member {
  int64_t id = 0;  // communicator_rank
  int64_t rank = 0;
  std::string host;
  std::string process;  // host and pid
  int64_t first_us = 0;
  int64_t last_us = 0;
};

struct Group {
  Cell id, name, n_ranks, nnodes;
  std::vector<Member> members;
};

struct CommunicatorInstance {
  int64_t communicator = 0;
  std::vector<Member> members;
  bool ambiguous = false;
};

// Whether no rank appears in two processes.
bool RanksAreUnique(const std::vector<Member>& members) {
  std::map<int64_t, std::string> process_of;
  return std::all_of(members.begin(), members.end(), [&](const Member& member) {
    const auto [place, added] = process_of.try_emplace(member.rank, member.process);
    return added || place->second == member.process;
  });
}

// Members that were active at the same time: a restarted job has the same ranks again, later.
std::vector<std::vector<Member>> ByTime(std::vector<Member> members) {
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.first_us, a.rank) < std::tie(b.first_us, b.rank);
  });
  std::vector<std::vector<Member>> parts;
  int64_t end = 0;
  for (Member& member : members) {
    if (parts.empty() || member.first_us > end) parts.emplace_back();
    end = std::max(end, member.last_us);
    parts.back().push_back(std::move(member));
  }
  return parts;
}

std::vector<std::vector<Member>> ByHost(const std::vector<Member>& members) {
  std::map<std::string, std::vector<Member>> hosts;
  for (const Member& member : members) hosts[member.host].push_back(member);
  std::vector<std::vector<Member>> parts;
  for (auto& [host, part] : hosts) parts.push_back(std::move(part));
  return parts;
}

// The k-th process of each rank, in the order of their names: a split that the data does not support.
std::vector<std::vector<Member>> ByOrder(const std::vector<Member>& members) {
  std::map<int64_t, std::map<std::string, size_t>> order;
  for (const Member& member : members) order[member.rank].try_emplace(member.process, 0);
  for (auto& [rank, processes] : order) {
    size_t k = 0;
    for (auto& [process, place] : processes) place = k++;
  }
  std::vector<std::vector<Member>> parts;
  for (const Member& member : members) {
    const size_t k = order[member.rank][member.process];
    if (parts.size() <= k) parts.resize(k + 1);
    parts[k].push_back(member);
  }
  return parts;
}

// Communicators that share id, name and size are told apart by their ranks: first by time, then, where
// all ranks are on one NVLink domain, by host.
std::vector<CommunicatorInstance> Instances(const Group& group) {
  std::vector<CommunicatorInstance> instances;
  const auto add = [&](std::vector<Member> members, bool ambiguous) {
    CommunicatorInstance instance;
    instance.members = std::move(members);
    instance.ambiguous = ambiguous;
    instances.push_back(std::move(instance));
  };
  if (RanksAreUnique(group.members)) {
    add(group.members, false);
    return instances;
  }
  for (std::vector<Member>& epoch : ByTime(group.members)) {
    if (RanksAreUnique(epoch)) {
      add(std::move(epoch), false);
      continue;
    }
    std::vector<std::vector<Member>> hosts = ByHost(epoch);
    const bool by_host = Unsigned(group.nnodes) == 1 &&
                         std::all_of(hosts.begin(), hosts.end(), RanksAreUnique);
    for (std::vector<Member>& part : by_host ? hosts : ByOrder(epoch)) {
      add(std::move(part), !by_host);
    }
  }
  return instances;
}

const char* TypeOf(const Group& group) {
  const int64_t n_ranks = Integer(group.n_ranks);
  if (n_ranks == 1) return "single-rank";
  if (IsNull(group.nnodes)) return "unknown";
  const int64_t nnodes = Integer(group.nnodes);
  if (nnodes == 1) return "nvlink-only";
  return nnodes == n_ranks ? "nic-only" : "mixed";
}

// "3-5,9" for {3, 4, 5, 9}, of which at most a few ranges are written out.
std::string RangesText(const std::vector<int64_t>& sorted) {
  constexpr size_t kMaxRanges = 12;
  std::string text;
  size_t ranges = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i;
    while (end + 1 < sorted.size() && sorted[end + 1] == sorted[end] + 1) ++end;
    if (++ranges > kMaxRanges) return text + ",…";
    if (!text.empty()) text += ',';
    text += std::to_string(sorted[i]);
    if (end > i) text += '-' + std::to_string(sorted[end]);
    i = end + 1;
  }
  return text;
}

class RunLinker {
 public:
  RunLinker(Store& store, Connection& connection, int64_t run)
      : store_(store), connection_(connection), run_(run) {}
  Status Link();

 private:
  struct Counter {
    uint64_t records = 0;
    uint64_t last_sequence = 0;
    bool runs_known = false;
    std::vector<SequenceRun> runs;
  };
  using CounterKey = std::pair<std::string, std::string>;  // kind, operation

  Status LoadMembers();
  Status LoadCounters();
  Status AddCommunicators(RowAppender& communicators, RowAppender& losses);
  Status AddMissingRanks(RowAppender& losses, const Group& group,
                         const CommunicatorInstance& instance);
  Status AddSequenceLosses(RowAppender& losses, const CommunicatorInstance& instance);
  Status AddProducerDrops(RowAppender& losses);
  Status AddProcessNotes(RowAppender& losses);
  Status AddLoss(RowAppender& losses, const LossKind& kind, uint64_t count, uint64_t first,
                 Cell communicator_rank, Cell communicator, const std::string& operation,
                 const std::string& detail);

  Store& store_;
  Connection& connection_;
  int64_t run_;
  std::vector<Group> groups_;
  std::map<int64_t, int64_t> source_of_;        // of a communicator rank
  std::map<int64_t, int64_t> communicator_of_;  // of a communicator rank
  std::map<int64_t, uint64_t> coll_dropped_;    // by the producer's own count, where it has one
  std::map<int64_t, uint64_t> p2p_dropped_;
  std::map<int64_t, std::map<CounterKey, Counter>> counters_;
};

Status RunLinker::AddLoss(RowAppender& losses, const LossKind& kind, uint64_t count, uint64_t first,
                          Cell communicator_rank, Cell communicator, const std::string& operation,
                          const std::string& detail) {
  const auto text = [](const std::string& value) { return value.empty() ? Cell() : Cell(value); };
  Cell source;
  if (!IsNull(communicator_rank)) {
    const auto known = source_of_.find(Integer(communicator_rank));
    if (known != source_of_.end()) source = known->second;
  }
  const std::array<Cell, 11> row = {run_,
                                    source,
                                    std::move(communicator_rank),
                                    std::move(communicator),
                                    text(operation),
                                    std::string(LossClassName(kind.loss_class)),
                                    std::string(kind.name),
                                    count,
                                    first,
                                    text(detail),
                                    true};
  return losses.Append(row);
}

Status RunLinker::LoadMembers() {
  const std::array<Cell, 1> run = {run_};
  TELLTALE_ASSIGN(const Table table, connection_.Query(R"sql(
      SELECT c.id, c.name, c.n_ranks, c.nnodes, c.communicator_rank, c.rank,
             coalesce(p.host, ''), coalesce(p.host, '') || ':' || coalesce(p.pid::VARCHAR, ''),
             coalesce(t.first_us, 0), coalesce(t.last_us, 0), c.source
      FROM communicator_rank c
      JOIN source s ON s.source = c.source AND s.run = $1
      JOIN process p ON p.process = c.process
      LEFT JOIN (SELECT communicator_rank, min(first_dump_timestamp_us) AS first_us,
                        max(last_dump_timestamp_us) AS last_us
                 FROM operation_series GROUP BY ALL) t
        ON t.communicator_rank = c.communicator_rank
      ORDER BY c.id, c.name, c.n_ranks, c.nnodes, c.rank, c.communicator_rank)sql",
                                                       run));
  std::map<std::vector<std::string>, size_t> index;
  for (const std::vector<Cell>& row : table.rows) {
    const std::vector<std::string> key = {CellText(row[0]), IsNull(row[1]) ? "" : "=" + CellText(row[1]),
                                          CellText(row[2]), CellText(row[3])};
    const auto [place, added] = index.try_emplace(key, groups_.size());
    if (added) groups_.push_back({row[0], row[1], row[2], row[3], {}});
    Member member;
    member.id = Integer(row[4]);
    member.rank = Integer(row[5]);
    member.host = CellText(row[6]);
    member.process = CellText(row[7]);
    member.first_us = Integer(row[8]);
    member.last_us = Integer(row[9]);
    source_of_[member.id] = Integer(row[10]);
    groups_[place->second].members.push_back(std::move(member));
  }
  return {};
}

Status RunLinker::LoadCounters() {
  const std::array<Cell, 1> run = {run_};
  TELLTALE_ASSIGN(const Table counters, connection_.Query(R"sql(
      SELECT k.counter, k.communicator_rank, k.kind, coalesce(k.operation, ''), k.records,
             k.last_sequence, k.runs_known
      FROM operation_counter k JOIN source s ON s.source = k.source AND s.run = $1)sql",
                                                          run));
  std::unordered_map<int64_t, Counter*> counter_of_id;
  for (const std::vector<Cell>& row : counters.rows) {
    Counter& counter = counters_[Integer(row[1])][{CellText(row[2]), CellText(row[3])}];
    counter.records += Unsigned(row[4]);
    counter.last_sequence = std::max(counter.last_sequence, Unsigned(row[5]));
    counter.runs_known = Integer(row[6]) != 0;
    counter_of_id.emplace(Integer(row[0]), &counter);
  }
  TELLTALE_TRY(connection_.Query(
      R"sql(
      SELECT r.counter, r.first_sequence, r.last_sequence, r.after_full_ring
      FROM sequence_run r
      JOIN operation_counter k ON k.counter = r.counter
      JOIN source s ON s.source = k.source AND s.run = $1)sql",
      run, [](const auto&) { return Status(); },
      [&](std::vector<Cell>& row) -> Status {
        counter_of_id.at(Integer(row[0]))
            ->runs.push_back({Unsigned(row[1]), Unsigned(row[2]), Unsigned(row[3]) != 0});
        return {};
      }));
  TELLTALE_ASSIGN(const Table drops, connection_.Query(R"sql(
      SELECT d.communicator_rank, max(d.coll_dropped_total), max(d.p2p_dropped_total)
      FROM dump_stats d JOIN source s ON s.source = d.source AND s.run = $1 GROUP BY ALL)sql",
                                                       run));
  for (const std::vector<Cell>& row : drops.rows) {
    coll_dropped_[Integer(row[0])] = Unsigned(row[1]);
    p2p_dropped_[Integer(row[0])] = Unsigned(row[2]);
  }
  return {};
}

Status RunLinker::AddMissingRanks(RowAppender& losses, const Group& group,
                                  const CommunicatorInstance& instance) {
  std::set<int64_t> seen;
  for (const Member& member : instance.members) seen.insert(member.rank);
  const int64_t n_ranks = Integer(group.n_ranks);
  constexpr int64_t kMostRanks = int64_t{1} << 24;  // beyond that the number itself is damaged
  if (n_ranks <= static_cast<int64_t>(seen.size()) || n_ranks > kMostRanks) return {};
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank < n_ranks; ++rank) {
    if (!seen.contains(rank)) missing.push_back(rank);
  }
  if (missing.empty()) return {};
  return AddLoss(losses, kMissingRank, missing.size(), static_cast<uint64_t>(missing.front()), Cell(),
                 instance.communicator, "",
                 fmt::format("ranks {} of {}", RangesText(missing), n_ranks));
}

// What one rank lacks of a counter, held against what the other ranks recorded.
Status RunLinker::AddSequenceLosses(RowAppender& losses, const CommunicatorInstance& instance) {
  std::map<std::string, SequenceSet> recorded;  // collectives of all ranks, by operation
  for (const Member& member : instance.members) {
    for (const auto& [key, counter] : counters_[member.id]) {
      if (key.first == "collective" && counter.runs_known) recorded[key.second].Add(counter.runs);
    }
  }
  for (const Member& member : instance.members) {
    const bool has_drop_counter = coll_dropped_.contains(member.id);
    uint64_t sampled = 0;
    for (const auto& [key, counter] : counters_[member.id]) {
      const bool is_p2p = key.first == "p2p";
      // Collectives count from 0, p2p from 1.
      const uint64_t base = is_p2p ? 1 : 0;
      const auto add = [&](const LossKind& kind, uint64_t count, uint64_t first) -> Status {
        if (count == 0) return {};
        return AddLoss(losses, kind, count, first, member.id, instance.communicator, key.second, "");
      };
      if (!counter.runs_known) {
        const uint64_t expected = counter.last_sequence + 1 - std::min(base, counter.last_sequence);
        sampled += expected > counter.records ? expected - counter.records : 0;
        continue;
      }
      SequenceSet own;
      own.Add(counter.runs);
      GapCounts gaps = CountGaps(own, base, is_p2p ? nullptr : &recorded[key.second]);
      if (is_p2p && has_drop_counter) continue;  // the producer's own count says it
      if (is_p2p) {
        // The p2p counter counts only what is tracked: nothing is missing by size.
        TELLTALE_TRY(add(kSequenceGapLost, gaps.total, gaps.first));
        continue;
      }
      if (!has_drop_counter) {
        TELLTALE_TRY(add(kSequenceGapLost, gaps.known_elsewhere, gaps.first_known_elsewhere));
        TELLTALE_TRY(add(kRingOverwrite, gaps.before_full_ring, gaps.first));
        TELLTALE_TRY(add(kSequenceGapFiltered, gaps.elsewhere, gaps.first));
      } else {
        // Overwritten or filtered: what the drop counter does not explain was filtered.
        uint64_t& dropped = coll_dropped_[member.id];
        const uint64_t overwritten = std::min(dropped, gaps.total);
        dropped -= overwritten;
        TELLTALE_TRY(add(kRingOverwrite, overwritten, gaps.first));
        TELLTALE_TRY(add(kSequenceGapFiltered, gaps.total - overwritten, gaps.first));
      }
      const uint64_t tail = recorded[key.second].CountAbove(counter.last_sequence);
      TELLTALE_TRY(add(kLastInterval, tail, counter.last_sequence + 1));
    }
    if (sampled > 0) {
      TELLTALE_TRY(AddLoss(losses, kSampledProducer, sampled, 0, member.id, instance.communicator,
                           "", ""));
    }
  }
  return {};
}

// Drops that the producer counted and no gap shows (of operations that never appear, of p2p, of proxy
// records).
Status RunLinker::AddProducerDrops(RowAppender& losses) {
  const auto communicator = [&](int64_t rank) { return Cell(communicator_of_[rank]); };
  for (const auto& [rank, dropped] : coll_dropped_) {
    if (dropped == 0) continue;
    TELLTALE_TRY(AddLoss(losses, kRingOverwrite, dropped, 0, rank, communicator(rank), "",
                         "counted by the producer"));
  }
  for (const auto& [rank, dropped] : p2p_dropped_) {
    if (dropped == 0) continue;
    TELLTALE_TRY(AddLoss(losses, kRingOverwrite, dropped, 0, rank, communicator(rank), "p2p",
                         "counted by the producer"));
  }
  const std::array<Cell, 1> run = {run_};
  TELLTALE_ASSIGN(const Table proxy, connection_.Query(R"sql(
      SELECT d.communicator_rank,
             max(coalesce(d.proxy_dropped_total, 0)) + max(coalesce(d.proxy_ops_dropped_total, 0))
      FROM dump_stats d JOIN source s ON s.source = d.source AND s.run = $1
      GROUP BY ALL HAVING max(coalesce(d.proxy_dropped_total, 0))
                        + max(coalesce(d.proxy_ops_dropped_total, 0)) > 0)sql",
                                                       run));
  for (const std::vector<Cell>& row : proxy.rows) {
    TELLTALE_TRY(AddLoss(losses, kProxyDropped, Unsigned(row[1]), 0, row[0],
                         communicator(Integer(row[0])), "", "ring slots and operations"));
  }
  return {};
}

Status RunLinker::AddProcessNotes(RowAppender& losses) {
  const std::array<Cell, 1> run = {run_};
  TELLTALE_ASSIGN(const Table twice, connection_.Query(R"sql(
      SELECT p.host, p.pid, count(DISTINCT p.source)
      FROM process p JOIN source s ON s.source = p.source AND s.run = $1
      WHERE p.host IS NOT NULL AND p.pid IS NOT NULL
      GROUP BY ALL HAVING count(DISTINCT p.source) > 1 ORDER BY ALL)sql",
                                                       run));
  for (const std::vector<Cell>& row : twice.rows) {
    TELLTALE_TRY(AddLoss(losses, kSameProcessTwice, Unsigned(row[2]), 0, Cell(), Cell(), "",
                         fmt::format("host {} pid {}", CellText(row[0]), CellText(row[1]))));
  }
  return {};
}

Status RunLinker::AddCommunicators(RowAppender& communicators, RowAppender& losses) {
  std::map<std::string, uint64_t> groups_of_id;
  for (const Group& group : groups_) ++groups_of_id[CellText(group.id)];
  for (const auto& [id, count] : groups_of_id) {
    if (count < 2) continue;
    TELLTALE_TRY(AddLoss(losses, kSharedCommunicatorId, count, 0, Cell(), Cell(), "",
                         fmt::format("id {}", id)));
  }
  for (const Group& group : groups_) {
    int64_t number = 0;
    for (CommunicatorInstance& instance : Instances(group)) {
      instance.communicator = store_.NextId(Store::kCommunicator);
      std::set<int64_t> ranks;
      for (const Member& member : instance.members) {
        ranks.insert(member.rank);
        communicator_of_[member.id] = instance.communicator;
      }
      const std::array<Cell, 10> row = {instance.communicator,
                                        run_,
                                        group.id,
                                        group.name,
                                        group.n_ranks,
                                        group.nnodes,
                                        number++,
                                        instance.ambiguous,
                                        static_cast<int64_t>(ranks.size()),
                                        std::string(TypeOf(group))};
      TELLTALE_TRY(communicators.Append(row));
      if (instance.ambiguous) {
        TELLTALE_TRY(AddLoss(losses, kAmbiguousCommunicator, instance.members.size(), 0, Cell(),
                             instance.communicator, "", fmt::format("id {}", CellText(group.id))));
      }
      TELLTALE_TRY(AddMissingRanks(losses, group, instance));
      if (!instance.ambiguous) TELLTALE_TRY(AddSequenceLosses(losses, instance));
    }
  }
  return {};
}

Status RunLinker::Link() {
  const std::array<Cell, 1> run = {run_};
  TELLTALE_TRY(LoadMembers());
  TELLTALE_TRY(LoadCounters());
  TELLTALE_TRY(connection_.Run("DELETE FROM communicator WHERE run = $1", run));
  TELLTALE_TRY(connection_.Run("DELETE FROM ingest_loss WHERE run = $1 AND derived", run));
  TELLTALE_ASSIGN(const std::unique_ptr<RowAppender> communicators,
                  RowAppender::Create(connection_, "communicator"));
  TELLTALE_ASSIGN(const std::unique_ptr<RowAppender> losses,
                  RowAppender::Create(connection_, "ingest_loss"));
  TELLTALE_TRY(AddCommunicators(*communicators, *losses));
  TELLTALE_TRY(AddProducerDrops(*losses));
  TELLTALE_TRY(AddProcessNotes(*losses));
  TELLTALE_TRY(communicators->Close());
  TELLTALE_TRY(losses->Close());

  TELLTALE_TRY(connection_.Run(
      "CREATE OR REPLACE TEMP TABLE member (communicator_rank INTEGER, communicator INTEGER)"));
  TELLTALE_ASSIGN(const std::unique_ptr<RowAppender> members,
                  RowAppender::Create(connection_, "member"));
  for (const auto& [rank, communicator] : communicator_of_) {
    const std::array<Cell, 2> row = {rank, communicator};
    TELLTALE_TRY(members->Append(row));
  }
  TELLTALE_TRY(members->Close());
  return connection_.Run(
      "UPDATE communicator_rank SET communicator = member.communicator FROM member "
      "WHERE member.communicator_rank = communicator_rank.communicator_rank");
}

}  // namespace

Status LinkRuns(Store& store, std::span<const int64_t> runs) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  for (const int64_t run : runs) {
    TELLTALE_TRY(connection->Run("BEGIN"));
    RunLinker linker(store, *connection, run);
    if (const Status status = linker.Link(); !status) {
      (void)connection->Run("ROLLBACK");
      return status;
    }
    TELLTALE_TRY(connection->Run("COMMIT"));
  }
  return {};
}

}  // namespace telltale::nccl_inspector
