#include "collectives/findings_loss.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.h"

namespace telltale::collectives {
namespace {

struct LossOfKind {
  uint64_t count = 0;
  std::set<std::string> communicators, hosts;
  std::set<std::pair<std::string, std::string>> processes;
  std::string communicator, host, operation;
  int64_t communicator_key = 0, rank = 0, source = 0;
  uint64_t pid = 0;
  std::string path;
};

uint64_t Unsigned(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return static_cast<uint64_t>(*value);
  if (const auto* value = std::get_if<uint64_t>(&cell)) return *value;
  return 0;
}

Result<std::map<std::string, LossOfKind>> ReadLosses(Connection& connection, int64_t run) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query(
          "SELECT l.kind, l.count, coalesce(nullif(k.name, 'unknown'), k.id, c.name, c.id, ''), "
          "  coalesce(p.host, ''), coalesce(p.pid, 0), coalesce(c.rank, -1), coalesce(f.path, ''), "
          "  coalesce(l.operation, ''), coalesce(c.communicator, l.communicator, -1) "
          "FROM ingest_loss l LEFT JOIN communicator_rank c ON c.communicator_rank = "
          "l.communicator_rank "
          "LEFT JOIN communicator k ON k.communicator = coalesce(l.communicator, c.communicator) "
          "LEFT JOIN process p ON p.process = c.process LEFT JOIN source f ON f.source = l.source "
          "WHERE coalesce(l.run, f.run) = $1 ORDER BY l.kind, l.count DESC, l.communicator_rank",
          parameters));
  std::map<std::string, LossOfKind> losses;
  for (const std::vector<Cell>& row : table.rows) {
    LossOfKind& loss = losses[CellText(row[0])];
    if (loss.count == 0) {
      loss.communicator = CellText(row[2]);
      loss.host = CellText(row[3]);
      loss.pid = Unsigned(row[4]);
      loss.rank = static_cast<int64_t>(Unsigned(row[5]));
      loss.path = CellText(row[6]);
      loss.operation = CellText(row[7]);
      loss.communicator_key = static_cast<int64_t>(Unsigned(row[8]));
    }
    loss.count += Unsigned(row[1]);
    loss.communicators.insert(CellText(row[2]));
    loss.hosts.insert(CellText(row[3]));
    loss.processes.emplace(CellText(row[3]), CellText(row[4]));
  }
  return losses;
}

// Lost operations, of all that happened, that matter.
constexpr double kLeastShare = 0.005;

void AddOverwritten(const RunData& data, const std::map<std::string, LossOfKind>& losses,
                    Findings& findings) {
  const auto at = losses.find("ring_overwrite");
  if (at == losses.end()) return;
  LossOfKind loss = at->second;
  const uint64_t overwritten = loss.count;
  if (const auto gaps = losses.find("sequence_gap_lost"); gaps != losses.end()) {
    loss.count += gaps->second.count;
  }
  const auto records = static_cast<double>(data.time_us.size() + data.skipped);
  const double share =
      static_cast<double>(loss.count) / (records + static_cast<double>(loss.count));
  if (share < kLeastShare) return;
  Finding finding;
  finding.kind = FindingKind::kLoss;
  finding.run = data.name;
  if (loss.communicators.size() == 1) {
    finding.where.communicator = loss.communicator;
    finding.where.communicator_key = loss.communicator_key;
  }
  if (loss.hosts.size() == 1) finding.where.host = loss.host;
  if (loss.processes.size() == 1) finding.where.process = loss.pid;
  finding.confidence = 0.99;
  finding.operations = loss.count;
  // What was not written has no line; the first file that lacks something stands for all.
  finding.evidence.push_back({"ingest_loss", "kind=ring_overwrite", loss.path, 0, 0, "lost"});
  finding.text = fmt::format(
      "{} operations ({:.1f} % of those that happened) have no record; {} of them were overwritten "
      "in the Inspector's rings before they were dumped, on {} processes: a larger "
      "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE or a shorter interval keeps them",
      CountText(loss.count), 100 * share, CountText(overwritten), loss.processes.size());
  findings.findings.push_back(std::move(finding));
}

// Ranks of the largest communicator without records, and of smaller ones if it has all.
void AddMissingRanks(const RunData& data, Findings& findings) {
  const CommunicatorData* widest = nullptr;
  for (const CommunicatorData& communicator : data.communicators) {
    if (communicator.HasAllRanks() || communicator.members.empty()) continue;
    // The files of as many processes are there: a damaged record invents a communicator.
    if (static_cast<int64_t>(data.entities.size()) >= communicator.n_ranks) continue;
    if (widest == nullptr || communicator.n_ranks > widest->n_ranks) widest = &communicator;
  }
  if (widest == nullptr) return;
  std::set<int64_t> seen;
  for (const uint32_t member : widest->members) seen.insert(data.members[member].rank);
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank < widest->n_ranks && static_cast<int64_t>(missing.size()) < 4096;
       ++rank) {
    if (!seen.contains(rank)) missing.push_back(rank);
  }
  const bool is_world =
      data.world >= 0 && &data.communicators[static_cast<size_t>(data.world)] == widest;
  constexpr size_t kMostNamed = 16;
  const auto add = [&](std::optional<int64_t> rank, const std::string& what) {
    Finding finding;
    finding.kind = FindingKind::kLoss;
    finding.run = data.name;
    finding.where.communicator = widest->name;
    finding.where.communicator_key = widest->key;
    finding.where.rank = rank;
    if (is_world) finding.where.global_rank = rank;
    finding.confidence = 0.99;
    finding.evidence.push_back({"ingest_loss", "kind=missing_rank", "", 0, 0, "lost"});
    finding.text =
        fmt::format("{} of {} left no records: its file is missing, empty or was not ingested",
                    what, widest->name);
    findings.findings.push_back(std::move(finding));
  };
  if (missing.size() <= kMostNamed) {
    for (const int64_t rank : missing) add(rank, fmt::format("rank {}", rank));
  } else {
    add(std::nullopt, fmt::format("{} of {} ranks", missing.size(), widest->n_ranks));
  }
}

void AddReasons(const RunData& data, const std::vector<MatchedLane>& matched,
                const std::map<std::string, LossOfKind>& losses, Findings& findings) {
  const auto add = [&](const char* reason, std::string text) {
    findings.not_known.push_back({data.name, reason, "", std::move(text)});
  };
  const auto count = [&](const char* kind) {
    const auto at = losses.find(kind);
    return at == losses.end() ? 0 : at->second.count;
  };
  const auto records = static_cast<double>(data.time_us.size());
  if (const uint64_t sampled = count("sampled_producer"); sampled > 0) {
    add("sampled_producer",
        fmt::format(
            "NCCL before 2.30 keeps one operation for each communicator and dump: {} of about {} "
            "operations were not written, so a cause that is short or small can be missed",
            CountText(sampled), CountText(static_cast<uint64_t>(records) + sampled)));
  }
  if (const uint64_t lost = count("ring_overwrite") + count("sequence_gap_lost"); lost > 0) {
    add("ring_overwrite", fmt::format("{} operations were lost: what happened in them is not known",
                                      CountText(lost)));
  }
  if (count("cut_file") + count("last_interval") > 0) {
    add("cut_file", fmt::format("the last {} operations of some ranks were not written",
                                CountText(std::max<uint64_t>(1, count("last_interval")))));
  }
  size_t longest = 0;
  std::map<uint32_t, size_t> longest_of;         // by communicator
  for (size_t i = 0; i < matched.size(); ++i) {  // one for each lane
    longest = std::max(longest, matched[i].size());
    if (data.communicators[data.lanes[i].communicator].n_ranks < 2) continue;
    size_t& of_communicator = longest_of[data.lanes[i].communicator];
    of_communicator = std::max(of_communicator, matched[i].size());
  }
  constexpr size_t kEnough = 8;
  constexpr size_t kMostCommunicators = 3;
  std::string few;
  size_t few_communicators = 0;
  for (const auto& [communicator, size] : longest_of) {
    if (size >= kEnough) continue;
    if (++few_communicators > kMostCommunicators) continue;
    few += (few.empty() ? "" : ", ") + data.communicators[communicator].name;
  }
  if (longest == 0) {
    add("no_matched_operations",
        data.skipped == 0
            ? std::string("no operation was recorded by two ranks of a communicator")
            : fmt::format("no operation that could be used was recorded by two ranks of a "
                          "communicator; {} records could not, because there are several files of "
                          "one rank, or they have no time, size or peer, or numbers beyond 32 bits",
                          CountText(data.skipped)));
  } else if (longest < kEnough) {
    add("few_operations", fmt::format("no operation of one size was recorded more than {} times by "
                                      "two ranks of a communicator, "
                                      "which is too few to tell what is normal",
                                      longest));
  } else if (few_communicators > 0) {
    if (few_communicators > kMostCommunicators) few += " …";
    add("few_operations",
        fmt::format(
            "{} of {} communicators ({}) have fewer than {} operations of one size that two "
            "ranks recorded, which is too few to tell what is normal",
            few_communicators, longest_of.size(), few, kEnough));
  }
}

}  // namespace

Status FindLoss(Connection& connection, const RunData& data,
                const std::vector<MatchedLane>& matched, Findings& findings) {
  TELLTALE_ASSIGN(const auto losses, ReadLosses(connection, data.run));
  AddOverwritten(data, losses, findings);
  if (losses.contains("missing_rank")) AddMissingRanks(data, findings);
  AddReasons(data, matched, losses, findings);
  return {};
}

}  // namespace telltale::collectives
