#include "collectives/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <thread>

#include "collectives/findings_evidence.h"
#include "collectives/findings_loss.h"
#include "collectives/findings_merge.h"
#include "collectives/findings_statistics.h"
#include "collectives/findings_text.h"

namespace telltale::collectives {
namespace {

constexpr double kNsOfUs = 1000;

// From a probability that it is chance, and how purely the operations show it.
double Confidence(double log_p, double purity) {
  return std::clamp((1 - std::exp(std::min(0.0, log_p))) * (0.5 + 0.5 * purity), 0.0, 0.999);
}

class RunFindings {
 public:
  RunFindings(Connection& connection, const RunData& data, const std::vector<MatchedLane>& matched)
      : data_(data), matched_(matched), evidence_(connection) {}

  Status AddLate(const LateCause& cause, Findings& findings) {
    const LateCandidate& clearest = cause.clearest;
    Finding finding = Start(FindingKind::kLateRank, clearest.lane, clearest.first, clearest.last);
    const Entity& entity = data_.entities[cause.entity];
    finding.where.host = entity.host;
    if (cause.whole_host) {
      finding.note = "all ranks of the host are late alike";
      finding.where.communicator.clear();
    } else {
      finding.where.rank = data_.members[clearest.member].rank;
      finding.where.process = entity.pid;
      if (entity.global_rank >= 0) finding.where.global_rank = entity.global_rank;
    }
    finding.effect.added_ns = clearest.margin_us * kNsOfUs;
    finding.effect.ratio = (clearest.intrinsic_us + clearest.margin_us) / clearest.intrinsic_us;
    finding.operations = cause.hits;
    double log_p = 0;
    std::vector<uint32_t> lanes;
    for (const LateCandidate& candidate : cause.all) {
      log_p = std::min(log_p, candidate.log_p);
      lanes.push_back(candidate.lane);
    }
    finding.confidence = Confidence(
        log_p, static_cast<double>(cause.hits) / static_cast<double>(cause.hits + cause.misses));
    AddAlso(lanes, finding);
    const std::array<size_t, 3> shown = {clearest.first, (clearest.first + clearest.last) / 2,
                                         clearest.last};
    for (const size_t operation : shown) {
      TELLTALE_TRY(AddLateRows(clearest, operation, finding));
    }
    return Finish(std::move(finding), findings);
  }

  Status AddSlow(const SlowCause& cause, const std::vector<SlowUnit>& units, Findings& findings) {
    const SlowUnit& unit = units[cause.clearest.unit];
    const auto [first, last] = EdgesOf(unit, cause.clearest);
    Finding finding = Start(cause.kind, unit.lane, first, last);
    if (cause.host >= 0) finding.where.host = data_.hosts[static_cast<size_t>(cause.host)];
    if (cause.other_host >= 0)
      finding.where.other_host = data_.hosts[static_cast<size_t>(cause.other_host)];
    if (cause.kind == FindingKind::kCongestion && cause.hosts_cannot_be_told_apart) {
      finding.note =
          "every host takes part in all of it, so that one slow host would look the same";
    } else if (cause.other_host >= 0 && cause.hosts_cannot_be_told_apart) {
      finding.note = "one of the two hosts could be the cause as well";
    } else if (cause.kind == FindingKind::kSlowCommunicator && cause.communicator < 0) {
      finding.note =
          "its communicators have several hosts in common, any of which could be the cause";
    }
    if (cause.communicator >= 0)
      finding.where.hosts = HostsOf(static_cast<uint32_t>(cause.communicator));
    const double time_us = std::exp(unit.reference);
    finding.effect.ratio = std::exp(cause.clearest.excess);
    finding.effect.added_ns = time_us * std::expm1(cause.clearest.excess) * kNsOfUs;
    finding.operations = cause.operations;
    finding.confidence = Confidence(cause.log_p, 1);
    std::vector<uint32_t> lanes;
    for (const uint32_t u : cause.units) lanes.push_back(units[u].lane);
    AddAlso(lanes, finding);
    for (const size_t operation : std::array<size_t, 3>{first, (first + last) / 2, last}) {
      TELLTALE_TRY(AddRow(unit.lane, SlotOf(unit.lane, operation), operation, "slow", finding));
    }
    if (first > 0)
      TELLTALE_TRY(AddRow(unit.lane, SlotOf(unit.lane, first - 1), first - 1, "normal", finding));
    return Finish(std::move(finding), findings);
  }

  std::vector<std::string> HostsOf(uint32_t communicator) const {
    std::set<std::string> hosts;
    for (const uint32_t member : data_.communicators[communicator].members) {
      hosts.insert(data_.EntityOf(member).host);
    }
    return {hosts.begin(), hosts.end()};
  }

  Status AddJitter(const JitterCause& cause, Findings& findings) {
    const JitterCandidate& clearest = cause.clearest;
    Finding finding = Start(FindingKind::kJitter, clearest.lane, clearest.first, clearest.last);
    if (cause.host >= 0) finding.where.host = data_.hosts[static_cast<size_t>(cause.host)];
    if (cause.entity >= 0) {
      const Entity& entity = data_.entities[static_cast<size_t>(cause.entity)];
      finding.where.rank = data_.members[clearest.member].rank;
      finding.where.process = entity.pid;
      if (entity.global_rank >= 0) finding.where.global_rank = entity.global_rank;
    } else {
      finding.where.communicator.clear();
      finding.where.communicator_key.reset();
    }
    finding.effect.ratio = clearest.ratio;
    finding.effect.added_ns = clearest.spread_us * kNsOfUs;
    finding.operations = cause.operations;
    finding.confidence = Confidence(clearest.log_p, 1);
    const auto slot = SlotOfMember(clearest.lane, clearest.member);
    for (const size_t operation : std::array<size_t, 3>{
             clearest.first, (clearest.first + clearest.last) / 2, clearest.last}) {
      TELLTALE_TRY(AddRow(clearest.lane, slot, operation, "varies", finding));
    }
    return Finish(std::move(finding), findings);
  }

 private:
  Finding Start(FindingKind kind, uint32_t lane_index, size_t first, size_t last) const {
    const Lane& lane = data_.lanes[lane_index];
    Finding finding;
    finding.kind = kind;
    finding.run = data_.name;
    finding.where.communicator = data_.communicators[lane.communicator].name;
    finding.where.communicator_key = data_.communicators[lane.communicator].key;
    finding.where.operation = lane.operation;
    finding.range.first_sequence = matched_[lane_index].sequence[first];
    finding.range.last_sequence = matched_[lane_index].sequence[last];
    if (lane.p2p) SetRangeOfSender(matched_[lane_index], first, last, finding.range);
    return finding;
  }

  // Each rank counts its sends and receives by itself: the numbers are those of one of the two.
  static void SetRangeOfSender(const MatchedLane& lane, size_t first, size_t last,
                               FindingRange& range) {
    for (size_t i = first; i <= last; ++i) {
      if (lane.source[i] != lane.source[first]) continue;
      range.first_sequence = std::min<uint64_t>(*range.first_sequence, lane.sequence[i]);
      range.last_sequence = i == first ? lane.sequence[i]
                                       : std::max<uint64_t>(*range.last_sequence, lane.sequence[i]);
    }
  }

  // Bins may hold several operations: the edges are where single ones become half as slow.
  std::pair<size_t, size_t> EdgesOf(const SlowUnit& unit, const SlowStretch& stretch) const {
    const MatchedLane& lane = matched_[unit.lane];
    const size_t first_bin = stretch.first_bin > 0 ? stretch.first_bin - 1 : 0;
    const size_t last_bin = std::min(unit.bins.size() - 1, stretch.last_bin + 1);
    const size_t first = unit.bins[first_bin].first;
    const size_t last = unit.bins[last_bin].last;
    std::vector<double> above;
    for (size_t i = first; i <= last; ++i) {
      const double excess = std::log(static_cast<double>(lane.least_us[i])) - unit.reference;
      above.push_back(std::min(excess, 2 * stretch.excess) - stretch.excess / 2);
    }
    const Window window = BestWindow(above);
    if (window.sum <= 0)
      return {unit.bins[stretch.first_bin].first, unit.bins[stretch.last_bin].last};
    return {first + window.first, first + window.last};
  }

  void AddAlso(const std::vector<uint32_t>& lanes, Finding& finding) const {
    constexpr size_t kMost = 64;
    std::set<std::string> seen;
    for (const uint32_t lane : lanes) {
      const std::string text =
          fmt::format("{} {}", data_.communicators[data_.lanes[lane].communicator].name,
                      data_.lanes[lane].operation);
      if (seen.insert(text).second && finding.also.size() < kMost) finding.also.push_back(text);
    }
  }

  size_t SlotOf(uint32_t lane, size_t operation) const { return matched_[lane].last[operation]; }

  size_t SlotOfMember(uint32_t lane, uint32_t member) const {
    const auto& series = data_.lanes[lane].series;
    const auto at = std::find_if(series.begin(), series.end(),
                                 [&](const SeriesData& one) { return one.member == member; });
    return static_cast<size_t>(at - series.begin());
  }

  // Of the late rank and of one that waited for it.
  Status AddLateRows(const LateCandidate& candidate, size_t operation, Finding& finding) {
    const Lane& lane = data_.lanes[candidate.lane];
    const uint32_t sequence = matched_[candidate.lane].sequence[operation];
    size_t waits = lane.series.size();
    uint32_t most = 0;
    for (size_t slot = 0; slot < lane.series.size(); ++slot) {
      const auto own = data_.Sequences(lane.series[slot]);
      const auto at = std::lower_bound(own.begin(), own.end(), sequence);
      if (at == own.end() || *at != sequence) continue;
      const uint32_t time = data_.Times(lane.series[slot])[static_cast<size_t>(at - own.begin())];
      if (time > most) {
        most = time;
        waits = slot;
      }
    }
    TELLTALE_TRY(AddRow(candidate.lane, SlotOfMember(candidate.lane, candidate.member), operation,
                        "late", finding));
    if (waits == lane.series.size()) return {};
    return AddRow(candidate.lane, waits, operation, "waits", finding);
  }

  Status AddRow(uint32_t lane_index, size_t slot, size_t operation, const char* role,
                Finding& finding) {
    const Lane& lane = data_.lanes[lane_index];
    const uint32_t sequence = matched_[lane_index].sequence[operation];
    if (lane.p2p) slot = matched_[lane_index].source[operation];  // whose number it is
    const uint32_t series = lane.series[slot].series;
    TELLTALE_ASSIGN(const auto row, evidence_.Read(series, sequence));
    if (!row) return {};
    const std::string name = fmt::format("series={},sequence={}", series, sequence);
    for (const EvidenceRow& known : finding.evidence) {
      if (known.row == name) return {};
    }
    finding.evidence.push_back({"operation_record", name, row->source, row->line,
                                static_cast<double>(row->exec_time_us) * kNsOfUs, role});
    if (std::string_view(role) == "normal" || row->dump_ns == 0) return {};
    FindingRange& range = finding.range;
    range.start_ns = std::min(range.start_ns.value_or(row->dump_ns), row->dump_ns);
    range.end_ns = std::max(range.end_ns.value_or(row->dump_ns), row->dump_ns);
    return {};
  }

  static Status Finish(Finding finding, Findings& findings) {
    finding.text = FindingText(finding);
    findings.findings.push_back(std::move(finding));
    return {};
  }

  const RunData& data_;
  const std::vector<MatchedLane>& matched_;
  EvidenceReader evidence_;
};

bool ShareAnEntity(const RunData& data, uint32_t one, uint32_t other) {
  std::set<uint32_t> entities;
  for (const uint32_t m : data.communicators[one].members) entities.insert(data.members[m].entity);
  const std::vector<uint32_t>& members = data.communicators[other].members;
  return std::any_of(members.begin(), members.end(),
                     [&](uint32_t m) { return entities.contains(data.members[m].entity); });
}

// Where the last rank's record is lost, the wait for a rank that varies looks like a slow
// operation.
void RemoveWaits(const RunData& data, const std::vector<SlowUnit>& units,
                 const std::vector<JitterCandidate>& jitter, SlowSearch& slow) {
  std::erase_if(slow.causes, [&](const SlowCause& cause) {
    if (cause.communicator < 0 || cause.transfers || !units[cause.clearest.unit].lossy)
      return false;
    const auto communicator = static_cast<uint32_t>(cause.communicator);
    const bool waits = std::any_of(jitter.begin(), jitter.end(), [&](const JitterCandidate& one) {
      return one.first_progress <= cause.last_progress &&
             cause.first_progress <= one.last_progress &&
             data.lanes[one.lane].communicator != communicator &&
             ShareAnEntity(data, data.lanes[one.lane].communicator, communicator);
    });
    if (!waits) return false;
    const std::string& name = data.communicators[communicator].name;
    slow.not_known.push_back(
        {data.name, "lost_records", name,
         fmt::format("operations of {} take longer for a while, but records are lost, and a rank "
                     "whose arrival varies may be what the others wait for",
                     name)});
    return true;
  });
}

Status FindInRun(Store& store, int64_t run, const std::string& name, Findings& findings) {
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  TELLTALE_ASSIGN(const RunData data, LoadRun(store, run, name));
  TELLTALE_ASSIGN(const auto connection, store.Connect());
  const std::vector<MatchedLane> matched = MatchLanes(data, threads);
  findings.records += data.time_us.size();
  for (const MatchedLane& lane : matched) findings.operations += lane.size();

  const LateSearch late = FindLate(data, matched);
  const std::vector<SlowUnit> units = MakeUnits(data, matched, late.candidates);
  SlowSearch slow = FindSlowPlaces(data, units);
  const std::vector<JitterCandidate> jitter = FindJitter(data, matched, threads);
  RemoveWaits(data, units, jitter, slow);

  RunFindings run_findings(*connection, data, matched);
  const std::vector<JitterCause> jitter_causes =
      MergeJitter(data, jitter, late.candidates, slow.causes);
  for (const LateCause& cause : MergeLate(data, matched, late.candidates, slow.causes, jitter)) {
    // A host that is late as a whole comes out of whatever else is wrong.
    if (cause.whole_host && (!slow.causes.empty() || !jitter_causes.empty())) continue;
    TELLTALE_TRY(run_findings.AddLate(cause, findings));
  }
  for (const SlowCause& cause : slow.causes)
    TELLTALE_TRY(run_findings.AddSlow(cause, units, findings));
  for (const JitterCause& cause : jitter_causes) {
    TELLTALE_TRY(run_findings.AddJitter(cause, findings));
  }
  for (NotKnown& not_known : slow.not_known) findings.not_known.push_back(std::move(not_known));
  return FindLoss(*connection, data, matched, findings);
}

}  // namespace

const char* KindName(FindingKind kind) {
  switch (kind) {
    case FindingKind::kLateRank:
      return "late_rank";
    case FindingKind::kSlowLink:
      return "slow_link";
    case FindingKind::kSlowHost:
      return "slow_host";
    case FindingKind::kSlowCommunicator:
      return "slow_communicator";
    case FindingKind::kCongestion:
      return "congestion";
    case FindingKind::kJitter:
      return "jitter";
    case FindingKind::kLoss:
      return "loss";
  }
  return "unknown";
}

Result<Findings> FindCulprits(Store& store, const std::string& run) {
  TELLTALE_ASSIGN(const auto connection, store.Connect());
  const std::array<Cell, 1> parameters = {run.empty() ? Cell() : Cell(run)};
  TELLTALE_ASSIGN(
      const Table runs,
      connection->Query("SELECT run, name FROM run WHERE ($1::VARCHAR IS NULL OR name = $1) "
                        "AND run IN (SELECT run FROM source) ORDER BY run",
                        parameters));
  if (!run.empty() && runs.rows.empty()) {
    return Fail("there is no run \"{}\" in {}; `telltale sources` lists the runs", run,
                store.path());
  }
  Findings findings;
  if (runs.rows.empty()) {
    findings.not_known.push_back({"", "no_records", "", "the store holds no operation records"});
  }
  for (const std::vector<Cell>& row : runs.rows) {
    const auto* key = std::get_if<int64_t>(&row[0]);
    if (key == nullptr) continue;
    TELLTALE_TRY(FindInRun(store, *key, CellText(row[1]), findings));
  }
  return findings;
}

}  // namespace telltale::collectives
