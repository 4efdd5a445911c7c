#include "readers/nccl_inspector/link.h"

#include <algorithm>
#include <array>
#include <functional>
#include <future>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/nccl_inspector/roll_up.h"
#include "readers/nccl_inspector/sequence_set.h"
#include "readers/source_writer.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/transaction.h"

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
  parts.reserve(hosts.size());
  for (auto& [host, part] : hosts) parts.push_back(std::move(part));
  return parts;
}

// The k-th process of each rank, in the order of their names: a split that the data does not
// support.
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

// Communicators that share id, name and size are told apart by their ranks: first by time, then,
// where all ranks are on one NVLink domain, by host.
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
    const bool by_host =
        Unsigned(group.nnodes) == 1 && std::all_of(hosts.begin(), hosts.end(), RanksAreUnique);
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

// "3-5,9" for {3, 5}, {9, 9}; at most a few ranges are written out.
std::string RangesText(const std::vector<std::pair<int64_t, int64_t>>& ranges) {
  constexpr size_t kMaxRanges = 12;
  std::string text;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (i == kMaxRanges) return text + ",…";
    if (i > 0) text += ',';
    const auto& [first, last] = ranges[i];
    text += std::to_string(first);
    if (last > first) text += '-' + std::to_string(last);
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
  // All that the files say of one rank of a communicator.
  struct RankCounters {
    int64_t rank = 0;
    std::vector<int64_t> members;  // communicator_rank, the earliest first
    bool has_drop_counter = false;
    std::map<CounterKey, Counter> counters;
  };

  Status LoadMembers();
  Status LoadCounters();
  Status AddCommunicators(RowAppender& communicators, RowAppender& losses);
  Status AddMissingRanks(RowAppender& losses, const Group& group,
                         const CommunicatorInstance& instance);
  Status AddSequenceLosses(RowAppender& losses, const CommunicatorInstance& instance);
  Status AddCollectiveLosses(RowAppender& losses, const CommunicatorInstance& instance,
                             const RankCounters& rank, const std::string& operation,
                             const Counter& counter, const SequenceSet& recorded);
  Status AddAbsentCollectives(RowAppender& losses, const CommunicatorInstance& instance,
                              const RankCounters& rank,
                              const std::map<std::string, SequenceSet>& recorded);
  Status AddRankLoss(RowAppender& losses, const LossKind& kind, uint64_t count, uint64_t first,
                     const RankCounters& rank, const CommunicatorInstance& instance,
                     const std::string& operation);
  std::vector<RankCounters> RanksOf(const CommunicatorInstance& instance);
  uint64_t TakeDropped(const RankCounters& rank, uint64_t missing);
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
  Cell source;
  if (!IsNull(communicator_rank)) {
    const auto known = source_of_.find(Integer(communicator_rank));
    if (known != source_of_.end()) source = known->second;
  }
  const std::array<Cell, 11> row = {run_,
                                    source,
                                    std::move(communicator_rank),
                                    std::move(communicator),
                                    TextOrNull(operation),
                                    std::string(LossClassName(kind.loss_class)),
                                    std::string(kind.name),
                                    count,
                                    first,
                                    TextOrNull(detail),
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
      LEFT JOIN (SELECT communicator_rank, min(first_us) AS first_us, max(last_us) AS last_us
                 FROM (SELECT communicator_rank, first_dump_timestamp_us AS first_us,
                              last_dump_timestamp_us AS last_us
                       FROM operation_series
                       UNION ALL
                       SELECT o.communicator_rank, least(i.dump_timestamp_us, 1::UBIGINT << 62)::BIGINT,
                              least(i.dump_timestamp_us, 1::UBIGINT << 62)::BIGINT
                       FROM operation_record_irregular i
                       JOIN operation_series o ON o.series = i.series)
                 GROUP BY ALL) t
        ON t.communicator_rank = c.communicator_rank
      ORDER BY c.id, c.name, c.n_ranks, c.nnodes, c.rank, c.communicator_rank)sql",
                                                       run));
  std::map<std::vector<std::string>, size_t> index;
  for (const std::vector<Cell>& row : table.rows) {
    const std::vector<std::string> key = {CellText(row[0]),
                                          IsNull(row[1]) ? "" : "=" + CellText(row[1]),
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
  TELLTALE_TRY(ScanColumns(
      connection_,
      fmt::format("SELECT r.counter, r.first_sequence, r.last_sequence, r.after_full_ring "
                  "FROM sequence_run r JOIN operation_counter k ON k.counter = r.counter "
                  "JOIN source s ON s.source = k.source AND s.run = {}",
                  run_),
      [&](std::span<const void* const> columns, size_t rows) {
        const auto* counter = static_cast<const uint32_t*>(columns[0]);
        const auto* first = static_cast<const uint64_t*>(columns[1]);
        const auto* last = static_cast<const uint64_t*>(columns[2]);
        const auto* after_full_ring = static_cast<const uint32_t*>(columns[3]);
        for (size_t i = 0; i < rows; ++i) {
          counter_of_id.at(counter[i])
              ->runs.push_back({first[i], last[i], after_full_ring[i] != 0});
        }
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
  if (n_ranks > kMostRanks) return {};
  // The ranges between the ranks that were seen.
  std::vector<std::pair<int64_t, int64_t>> missing;
  uint64_t count = 0;
  int64_t next = 0;
  seen.insert(n_ranks);
  for (const int64_t rank : seen) {
    if (rank < next || rank > n_ranks) continue;
    if (rank > next) missing.emplace_back(next, rank - 1);
    count += static_cast<uint64_t>(rank - next);
    next = rank + 1;
  }
  if (missing.empty()) return {};
  return AddLoss(losses, kMissingRank, count, static_cast<uint64_t>(missing.front().first), Cell(),
                 instance.communicator, "",
                 fmt::format("ranks {} of {}", RangesText(missing), n_ranks));
}

// The ranks of a communicator; several files may tell of one rank (those of one process).
std::vector<RunLinker::RankCounters> RunLinker::RanksOf(const CommunicatorInstance& instance) {
  std::vector<Member> members = instance.members;
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::tie(a.rank, a.first_us, a.last_us, a.id) <
           std::tie(b.rank, b.first_us, b.last_us, b.id);
  });
  std::vector<RankCounters> ranks;
  for (const Member& member : members) {
    if (ranks.empty() || ranks.back().rank != member.rank) {
      ranks.emplace_back();
      ranks.back().rank = member.rank;
    }
    RankCounters& rank = ranks.back();
    rank.members.push_back(member.id);
    rank.has_drop_counter = rank.has_drop_counter || coll_dropped_.contains(member.id);
    for (const auto& [key, counter] : counters_[member.id]) {
      const auto [place, added] = rank.counters.try_emplace(key, counter);
      if (added) continue;
      Counter& sum = place->second;
      sum.records += counter.records;
      sum.last_sequence = std::max(sum.last_sequence, counter.last_sequence);
      sum.runs_known = sum.runs_known && counter.runs_known;
      sum.runs.insert(sum.runs.end(), counter.runs.begin(), counter.runs.end());
    }
  }
  return ranks;
}

// How many of `missing` the producer says that it overwrote; takes them from its count.
uint64_t RunLinker::TakeDropped(const RankCounters& rank, uint64_t missing) {
  uint64_t taken = 0;
  for (const int64_t member : rank.members) {
    const auto known = coll_dropped_.find(member);
    if (known == coll_dropped_.end()) continue;
    const uint64_t part = std::min(known->second, missing - taken);
    known->second -= part;
    taken += part;
  }
  return taken;
}

// What one rank lacks, held against what the other ranks recorded.
Status RunLinker::AddSequenceLosses(RowAppender& losses, const CommunicatorInstance& instance) {
  const std::vector<RankCounters> ranks = RanksOf(instance);
  std::map<std::string, SequenceSet> recorded;  // collectives of all ranks, by operation
  for (const RankCounters& rank : ranks) {
    for (const auto& [key, counter] : rank.counters) {
      if (key.first == "collective" && counter.runs_known) recorded[key.second].Add(counter.runs);
    }
  }
  for (const RankCounters& rank : ranks) {
    uint64_t sampled = 0;
    for (const auto& [key, counter] : rank.counters) {
      if (!counter.runs_known) {
        // Collectives count from 0, p2p from 1.
        const uint64_t base = key.first == "p2p" ? std::min<uint64_t>(1, counter.last_sequence) : 0;
        const uint64_t expected = counter.last_sequence + 1 - base;
        sampled += expected > counter.records ? expected - counter.records : 0;
      } else if (key.first == "p2p") {
        SequenceSet own;
        own.Add(counter.runs);
        const GapCounts gaps = CountGaps(own, 1, nullptr);
        // The p2p counter counts only what is tracked: nothing is missing by size. Where the
        // producer counts its drops, that says it.
        if (rank.has_drop_counter) continue;
        TELLTALE_TRY(
            AddRankLoss(losses, kSequenceGapLost, gaps.total, gaps.first, rank, instance, ""));
      } else {
        TELLTALE_TRY(AddCollectiveLosses(losses, instance, rank, key.second, counter,
                                         recorded.at(key.second)));
      }
    }
    TELLTALE_TRY(AddAbsentCollectives(losses, instance, rank, recorded));
    TELLTALE_TRY(AddRankLoss(losses, kSampledProducer, sampled, 0, rank, instance, ""));
  }
  return {};
}

Status RunLinker::AddRankLoss(RowAppender& losses, const LossKind& kind, uint64_t count,
                              uint64_t first, const RankCounters& rank,
                              const CommunicatorInstance& instance, const std::string& operation) {
  if (count == 0) return {};
  return AddLoss(losses, kind, count, first, rank.members.front(), instance.communicator, operation,
                 "");
}

Status RunLinker::AddCollectiveLosses(RowAppender& losses, const CommunicatorInstance& instance,
                                      const RankCounters& rank, const std::string& operation,
                                      const Counter& counter, const SequenceSet& recorded) {
  const auto add = [&](const LossKind& kind, uint64_t count, uint64_t first) {
    return AddRankLoss(losses, kind, count, first, rank, instance, operation);
  };
  SequenceSet own;
  own.Add(counter.runs);
  const GapCounts gaps = CountGaps(own, 0, &recorded);
  if (!rank.has_drop_counter) {
    TELLTALE_TRY(
        add(kRingOverwrite, gaps.before_full_ring + gaps.known_before_full_ring, gaps.first));
    TELLTALE_TRY(add(kSequenceGapLost, gaps.known_elsewhere - gaps.known_before_full_ring,
                     gaps.first_known_elsewhere));
    TELLTALE_TRY(add(kSequenceGapFiltered, gaps.elsewhere, gaps.first));
  } else {
    // What the drop counter does not explain was lost on its way if other ranks have it, and
    // filtered on all ranks if none has.
    const uint64_t overwritten = TakeDropped(rank, gaps.total);
    const uint64_t lost = std::min(gaps.total - overwritten, gaps.known_elsewhere);
    TELLTALE_TRY(add(kRingOverwrite, overwritten, gaps.first));
    TELLTALE_TRY(add(kSequenceGapLost, lost, gaps.first_known_elsewhere));
    TELLTALE_TRY(add(kSequenceGapFiltered, gaps.total - overwritten - lost, gaps.first));
  }
  return add(kLastInterval, recorded.CountAbove(counter.last_sequence), counter.last_sequence + 1);
}

// Collectives of which a rank has no record at all, although other ranks do: all ranks of a
// communicator take part in each.
Status RunLinker::AddAbsentCollectives(RowAppender& losses, const CommunicatorInstance& instance,
                                       const RankCounters& rank,
                                       const std::map<std::string, SequenceSet>& recorded) {
  const bool is_sample = std::any_of(rank.counters.begin(), rank.counters.end(),
                                     [](const auto& entry) { return !entry.second.runs_known; });
  if (is_sample) return {};
  for (const auto& [operation, numbers] : recorded) {
    if (rank.counters.contains({"collective", operation})) continue;
    uint64_t first = 0;
    const uint64_t absent = numbers.CountWithin(0, std::numeric_limits<uint64_t>::max(), first);
    const uint64_t overwritten = TakeDropped(rank, absent);
    TELLTALE_TRY(
        AddRankLoss(losses, kRingOverwrite, overwritten, first, rank, instance, operation));
    TELLTALE_TRY(AddRankLoss(losses, kSequenceGapLost, absent - overwritten, first, rank, instance,
                             operation));
  }
  return {};
}

// Drops that the producer counted and no gap shows (of operations that never appear, of p2p, of
// proxy records).
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
  if (coll_dropped_.empty()) return {};  // no dump_stats
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

Status OnOwnConnection(Store& store, const std::function<Status(Connection& connection)>& work) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  return InTransaction(*connection, [&] { return work(*connection); });
}

}  // namespace

Status LinkRuns(Store& store, std::span<const int64_t> runs) {
  for (const int64_t run : runs) {
    // Cells do not wait for communicators, and say themselves from which sources they were made.
    std::future<Status> cells = std::async(std::launch::async, [&] {
      return OnOwnConnection(store,
                             [&](Connection& connection) { return RollUpCells(connection, run); });
    });
    const Status linked = OnOwnConnection(store, [&](Connection& connection) -> Status {
      TELLTALE_TRY(RunLinker(store, connection, run).Link());
      return RollUpPlaces(connection, run);
    });
    const Status rolled_up = cells.get();
    TELLTALE_TRY(linked);
    TELLTALE_TRY(rolled_up);
  }
  return {};
}

}  // namespace telltale::nccl_inspector
