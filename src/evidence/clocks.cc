#include "evidence/clocks.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "evidence/clock_hosts.h"
#include "store/column_scan.h"

namespace telltale::evidence {
namespace {

// A kernel of a collective. Its numbers of names are those of the queries'
// ORDER BY.
struct Record {
  uint32_t group = 0;
  uint32_t collective = 0;
  bool is_numbered = false;
  uint32_t participant = 0;  // a GPU of a process
  uint32_t host = 0;
  int64_t number = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  auto Operations() const { return std::tie(group, collective, is_numbered); }
  bool IsLike(const Record& other) const { return Operations() == other.Operations(); }
};

// What of communication_event is a kernel of the run. Groups are known by their
// ranks and names together; by NCCL's communicator where a profile has neither
// (nsys).
std::string KernelsOfRun(int64_t run) {
  return fmt::format(
      "WITH kernels AS (SELECT t.source, t.trace_process, coalesce(t.device, "
      "-1) AS device, "
      "coalesce(c.collective, '') AS collective, "
      "coalesce(nullif(coalesce(c.group_ranks, '') || '|' || "
      "coalesce(c.group_name, '') || '|' || "
      "coalesce(c.group_description, ''), '||'), c.communicator_id, '') || '|' "
      "|| "
      "coalesce(c.group_size, -1) AS group_key, "
      "coalesce(c.group_ranks, c.group_name, c.communicator_id) IS NOT NULL AS "
      "has_group, "
      "c.in_elements IS NOT DISTINCT FROM 0 AND c.out_elements IS NOT DISTINCT "
      "FROM 0 AS is_empty, "
      "c.sequence, e.start_ns, e.duration_ns "
      "FROM communication_event c JOIN event e ON e.event = c.event "
      "JOIN event_kind k ON k.kind = e.kind JOIN track t ON t.track = e.track "
      "JOIN source s ON s.source = t.source WHERE k.name = 'kernel' AND s.run "
      "= {}) ",
      run);
}

class Loader {
 public:
  Loader(Connection& connection, std::string_view run) : connection_(connection), name_(run) {}

  Result<RunClockEvidence> Load() {
    TELLTALE_TRY(FindRun());
    TELLTALE_TRY(LoadHosts());
    TELLTALE_TRY(LoadCollectives());
    TELLTALE_TRY(LoadRecords());
    NumberByOrder();
    TakeOperations();
    return std::move(loaded_);
  }

 private:
  Status FindRun() {
    const std::array<Cell, 1> parameters = {Cell(std::string(name_))};
    TELLTALE_ASSIGN(
        run_, connection_.QueryInteger(
                  "SELECT coalesce(max(run), -1)::BIGINT FROM run WHERE name = $1", parameters));
    if (run_ < 0) {
      return Fail("no run '{}' in the store; `telltale sources` lists what is there", name_);
    }
    return {};
  }

  Status LoadHosts() {
    TELLTALE_ASSIGN(const Table table,
                    connection_.Query(fmt::format(
                        "SELECT s.source::BIGINT, coalesce(any_value(p.host), ''), "
                        "any_value(s.path) "
                        "FROM source s JOIN trace_process p ON p.source = s.source WHERE "
                        "s.run = {} "
                        "GROUP BY s.source ORDER BY any_value(s.path), s.source",
                        run_)));
    std::vector<SourceName> sources;
    for (const auto& row : table.rows) sources.push_back({CellText(row[1]), CellText(row[2])});
    const std::vector<std::string> hosts = HostsOfSources(sources);
    std::unordered_map<std::string, uint32_t> number_of;
    for (size_t i = 0; i < hosts.size(); ++i) {
      const auto next = static_cast<uint32_t>(loaded_.evidence.hosts.size());
      const auto [place, added] = number_of.try_emplace(hosts[i], next);
      if (added) loaded_.evidence.hosts.push_back(hosts[i]);
      if (const auto* source = std::get_if<int64_t>(&table.rows[i][0])) {
        host_of_source_[*source] = place->second;
      }
    }
    return {};
  }

  Status LoadCollectives() {
    TELLTALE_ASSIGN(const Table table,
                    connection_.Query(KernelsOfRun(run_) +
                                      "SELECT DISTINCT collective FROM kernels ORDER BY 1"));
    for (const auto& row : table.rows) is_joint_.push_back(IsJointCollective(CellText(row[0])));
    return {};
  }

  Status LoadRecords() {
    return ScanColumns(
        connection_,
        KernelsOfRun(run_) +
            "SELECT source::BIGINT, trace_process::BIGINT, device, "
            "dense_rank() OVER (ORDER BY group_key), dense_rank() OVER (ORDER "
            "BY collective), "
            "has_group::BIGINT, is_empty::BIGINT, (sequence IS NOT "
            "NULL)::BIGINT, "
            "coalesce(sequence, 0), start_ns, duration_ns FROM kernels",
        [&](std::span<const void* const> columns, size_t rows) {
          for (size_t i = 0; i < rows; ++i) {
            const auto cell = [&](size_t column) {
              return static_cast<const int64_t*>(columns[column])[i];
            };
            const auto collective = static_cast<uint32_t>(cell(4) - 1);
            const int64_t start = cell(9);
            const int64_t duration = cell(10);
            if (collective >= is_joint_.size() || !is_joint_[collective]) {
              ++loaded_.counts.not_joint;
            } else if (cell(6) != 0) {
              ++loaded_.counts.empty;
            } else if (cell(5) == 0 || duration < 0 ||
                       start > std::numeric_limits<int64_t>::max() - duration) {
              ++loaded_.counts.without_end;
            } else {
              records_.push_back({static_cast<uint32_t>(cell(3)), collective, cell(7) != 0,
                                  ParticipantOf(cell(1), cell(2)), host_of_source_[cell(0)],
                                  cell(8), start, start + duration});
            }
          }
        });
  }

  uint32_t ParticipantOf(int64_t process, int64_t device) {
    return participants_.try_emplace({process, device}, static_cast<uint32_t>(participants_.size()))
        .first->second;
  }

  // Operations without written numbers get their place in the order, where all
  // participants that recorded any have as many; else they are dropped.
  void NumberByOrder() {
    std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::tuple(a.Operations(), a.participant, a.start_ns) <
             std::tuple(b.Operations(), b.participant, b.start_ns);
    });
    std::vector<Record> kept;
    for (size_t first = 0; first < records_.size();) {
      size_t last = first;
      std::vector<int64_t> counts;
      for (; last < records_.size() && records_[last].IsLike(records_[first]); ++last) {
        if (last == first || records_[last].participant != records_[last - 1].participant) {
          counts.push_back(0);
        }
        const int64_t place = counts.back()++;
        if (!records_[last].is_numbered) records_[last].number = place;
      }
      const bool is_even = std::all_of(counts.begin(), counts.end(),
                                       [&](int64_t count) { return count == counts.front(); });
      if (records_[first].is_numbered || is_even) {
        kept.insert(kept.end(), records_.begin() + static_cast<ptrdiff_t>(first),
                    records_.begin() + static_cast<ptrdiff_t>(last));
      } else {
        loaded_.counts.uneven += last - first;
      }
      first = last;
    }
    records_ = std::move(kept);
  }

  void TakeOperations() {
    std::sort(records_.begin(), records_.end(), [](const Record& a, const Record& b) {
      return std::tuple(a.Operations(), a.number, a.participant) <
             std::tuple(b.Operations(), b.number, b.participant);
    });
    uint64_t operation = 0;
    for (size_t first = 0; first < records_.size(); ++operation) {
      size_t last = first;
      std::vector<ClockSighting> sightings;
      for (; last < records_.size() && records_[last].IsLike(records_[first]) &&
             records_[last].number == records_[first].number;
           ++last) {
        const Record& record = records_[last];
        if (last > first && record.participant == records_[last - 1].participant) {
          // Several kernels under one number: whichever it is, it lies within
          // all of them.
          ClockSighting& whole = sightings.back();
          whole.start_ns = std::min(whole.start_ns, record.start_ns);
          whole.end_ns = std::max(whole.end_ns, record.end_ns);
        } else {
          sightings.push_back({operation, record.host, record.start_ns, record.end_ns});
        }
      }
      if (sightings.size() > 1) {
        loaded_.counts.used += last - first;
        loaded_.evidence.sightings.insert(loaded_.evidence.sightings.end(), sightings.begin(),
                                          sightings.end());
      } else {
        loaded_.counts.seen_once += last - first;
      }
      first = last;
    }
  }

  Connection& connection_;
  std::string_view name_;
  int64_t run_ = -1;
  std::unordered_map<int64_t, uint32_t> host_of_source_;
  std::vector<bool> is_joint_;  // by collective
  std::map<std::pair<int64_t, int64_t>, uint32_t> participants_;
  std::vector<Record> records_;
  RunClockEvidence loaded_;
};

}  // namespace

bool IsJointCollective(std::string_view name) {
  const size_t colon = name.rfind(':');  // "nccl:all_reduce"
  if (colon != std::string_view::npos) name.remove_prefix(colon + 1);
  std::string letters;
  for (const char character : name) {
    if (character >= 'A' && character <= 'Z') letters += static_cast<char>(character - 'A' + 'a');
    if (character >= 'a' && character <= 'z') letters += character;
  }
  std::string_view word = letters;
  if (word.starts_with("nccl")) word.remove_prefix(4);
  if (word.ends_with('v')) return false;  // sizes differ, and may be 0
  return word.starts_with("allreduce") || word.starts_with("allgather") ||
         word.starts_with("reducescatter") || word == "barrier";
}

Result<RunClockEvidence> LoadClockEvidence(Connection& connection, std::string_view run) {
  return Loader(connection, run).Load();
}

Result<std::vector<HostClock>> HostClocks(Connection& connection, std::string_view run) {
  TELLTALE_ASSIGN(const RunClockEvidence loaded, LoadClockEvidence(connection, run));
  return EstimateClocks(loaded.evidence, {}).hosts;
}

}  // namespace telltale::evidence
