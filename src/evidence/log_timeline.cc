#include "evidence/log_timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "evidence/watchdog.h"

namespace telltale::evidence {
namespace {

// Repeats of one fault come within this of each other.
constexpr int64_t kRepeatNs = 60'000'000'000;

std::optional<int64_t> IntegerOf(const Cell& cell) {
  if (const auto* const value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* const value = std::get_if<uint64_t>(&cell)) return static_cast<int64_t>(*value);
  return std::nullopt;
}

Cell OrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

// What makes two events one fault, beside place and kind.
std::string SubjectOf(const std::string& kind, const Cell& xid, const Cell& message) {
  if (kind == "xid" || kind == "sxid") return CellText(xid);
  if (kind == "nccl_warning") return CellText(message);
  return {};
}

Result<std::vector<TimelineEvent>> LoadEvents(Connection& connection,
                                              const TimelineFilter& filter) {
  const std::array<Cell, 3> parameters = {OrNull(filter.run), OrNull(filter.kind),
                                          Cell(filter.with_information)};
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query(
          R"(SELECT e.run, e.kind, e.severity, coalesce(e.host, json_extract_string(e.fields, '$.host'), ''), coalesce(e.process, ''),
                    coalesce(e.gpu, ''), e.time_ns, e.pid, e.rank, e.fields,
                    coalesce(json_extract_string(e.fields, '$.xid'), json_extract_string(e.fields, '$.sxid')), json_extract_string(e.fields, '$.message'),
                    f.path, e.source, e.line, coalesce(e.text, '')
             FROM log_events e JOIN source f USING (source)
             WHERE ($1::VARCHAR IS NULL OR e.run = $1) AND ($2::VARCHAR IS NULL OR e.kind = $2)
               AND ($3 OR e.severity <> 'info')
             ORDER BY e.time_ns NULLS LAST, e.source, e.line, e.log_event)",
          parameters));
  std::vector<TimelineEvent> events;
  using Key = std::tuple<int64_t, std::string, std::string, std::optional<int64_t>,
                         std::optional<int64_t>, std::string>;
  std::map<Key, size_t> last;
  for (const auto& row : table.rows) {
    TimelineEvent event;
    event.run = CellText(row[0]);
    event.kind = CellText(row[1]);
    event.severity = CellText(row[2]);
    event.host = CellText(row[3]);
    event.process = CellText(row[4]);
    event.gpu = CellText(row[5]);
    event.time_ns = event.last_time_ns = IntegerOf(row[6]);
    event.pid = IntegerOf(row[7]);
    event.rank = IntegerOf(row[8]);
    event.fields = CellText(row[9]);
    event.path = CellText(row[12]);
    event.source = IntegerOf(row[13]).value_or(0);
    event.line = IntegerOf(row[14]).value_or(0);
    event.text = CellText(row[15]);
    // The driver repeats a fault for each process that meets it: those of one GPU are one.
    const bool is_of_gpu = event.kind == "xid" || event.kind == "sxid";
    const Key key(event.source, event.kind, event.gpu, event.rank,
                  is_of_gpu ? std::nullopt : event.pid, SubjectOf(event.kind, row[10], row[11]));
    const auto [place, is_new] = last.try_emplace(key, events.size());
    if (!is_new) {
      TimelineEvent& before = events[place->second];
      const bool is_repeat = event.time_ns && before.last_time_ns
                                 ? *event.time_ns - *before.last_time_ns <= kRepeatNs
                                 : !event.time_ns && !before.last_time_ns;
      if (is_repeat) {
        ++before.count;
        before.last_time_ns = event.time_ns;
        continue;
      }
      place->second = events.size();
    }
    events.push_back(std::move(event));
  }
  return events;
}

// The error that ended an engine is the last line of the message in which it says so.
Status AddEngineCauses(Connection& connection, std::vector<TimelineEvent>& events) {
  for (TimelineEvent& event : events) {
    if (event.kind != "engine_death") continue;
    const std::array<Cell, 2> parameters = {Cell(event.source), Cell(event.line)};
    TELLTALE_ASSIGN(const Table last,
                    connection.Query("SELECT text FROM log_line WHERE source = $1 AND head = "
                                     "(SELECT head FROM log_line WHERE source = $1 AND line = $2) "
                                     "AND line > $2 AND text <> '' ORDER BY line DESC LIMIT 1",
                                     parameters));
    if (!last.rows.empty()) event.cause = CellText(last.rows[0][0]);
  }
  return {};
}

// Other processes that hold memory of the GPU, by the names that the run's sources know.
Status AddMemoryHolders(Connection& connection, std::vector<TimelineEvent>& events) {
  for (TimelineEvent& event : events) {
    if (event.kind != "cuda_out_of_memory") continue;
    const std::array<Cell, 2> parameters = {Cell(event.fields), Cell(event.run)};
    TELLTALE_ASSIGN(const Table holders,
                    connection.Query(
                        R"(SELECT h.pid, h.bytes, any_value(p.rank), any_value(p.name)
               FROM (SELECT unnest(from_json(json_extract($1::VARCHAR, '$.other_processes'),
                                             '[{"pid":"BIGINT","bytes":"BIGINT"}]')) AS h)
               LEFT JOIN (SELECT l.pid, l.rank, l.name, u.name AS run FROM log_process l
                          JOIN source f USING (source) JOIN run u ON u.run = f.run) p
                 ON p.pid = h.pid AND p.run = $2
               GROUP BY h.pid, h.bytes ORDER BY h.bytes DESC)",
                        parameters));
    for (const auto& row : holders.rows) {
      const auto bytes = static_cast<double>(IntegerOf(row[1]).value_or(0));
      event.cause += fmt::format("{}process {}{} holds {:.2f} GiB of the same GPU",
                                 event.cause.empty() ? "" : "; ", CellText(row[0]),
                                 IntegerOf(row[2]) ? " (rank " + CellText(row[2]) + ")" : "",
                                 bytes / (1024.0 * 1024 * 1024));
    }
  }
  return {};
}

// Ranks of a run that wrote to its logs: only of these it means something that they wrote no
// status.
Result<std::map<std::string, std::vector<int64_t>>> KnownRanks(Connection& connection) {
  TELLTALE_ASSIGN(const Table table,
                  connection.Query("SELECT DISTINCT u.name, r.rank FROM log_process r "
                                   "JOIN source f USING (source) JOIN run u ON u.run = f.run "
                                   "WHERE r.rank IS NOT NULL ORDER BY 1, 2"));
  std::map<std::string, std::vector<int64_t>> ranks;
  for (const auto& row : table.rows) ranks[CellText(row[0])].push_back(*IntegerOf(row[1]));
  return ranks;
}

Status AddLaggards(Connection& connection, std::vector<TimelineEvent>& events) {
  const bool any = std::any_of(events.begin(), events.end(), [](const TimelineEvent& event) {
    return event.kind.starts_with("nccl_watchdog");
  });
  if (!any) return {};
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query(
          R"(SELECT run, coalesce(json_extract_string(fields, '$.group_name'), json_extract_string(fields, '$.group'), ''), rank,
                    (json_extract_string(fields, '$.sequence'))::BIGINT, (json_extract_string(fields, '$.last_enqueued'))::BIGINT,
                    (json_extract_string(fields, '$.last_completed'))::BIGINT
             FROM log_events WHERE kind = 'nccl_watchdog_status' ORDER BY time_ns, source, line)"));
  std::map<std::string, std::map<std::string, std::vector<WatchdogStatus>>> groups;  // by run
  for (const auto& row : table.rows) {
    groups[CellText(row[0])][CellText(row[1])].push_back(
        {IntegerOf(row[2]).value_or(-1), IntegerOf(row[3]), IntegerOf(row[4]), IntegerOf(row[5])});
  }
  TELLTALE_ASSIGN(const auto ranks, KnownRanks(connection));
  for (TimelineEvent& event : events) {
    if (!event.kind.starts_with("nccl_watchdog")) continue;
    const auto known = ranks.find(event.run);
    for (const auto& [group, statuses] : groups[event.run]) {
      const bool has_rank =
          std::any_of(statuses.begin(), statuses.end(),
                      [&](const WatchdogStatus& status) { return event.rank == status.rank; });
      if (!has_rank) continue;
      // A rank that is not of the group cannot lag in it: only the world's ranks are all known.
      const bool is_world = group.empty() || group == "default_pg" || group == "0";
      const Laggards laggards = FindLaggards(
          statuses, is_world && known != ranks.end() ? known->second : std::vector<int64_t>());
      if (laggards.reason.empty()) continue;
      event.cause += (event.cause.empty() ? "" : "; ") + laggards.reason;
    }
  }
  return {};
}

// The last step of the run that had begun: of the same host where both are known.
Status AddSteps(Connection& connection, std::vector<TimelineEvent>& events) {
  TELLTALE_ASSIGN(const Table table,
                  connection.Query("SELECT u.name, s.start_ns, s.number, coalesce(s.host, '') "
                                   "FROM step s JOIN run u ON u.run = s.run "
                                   "WHERE s.start_ns IS NOT NULL ORDER BY 1, 2, 3"));
  struct Step {
    int64_t start_ns = 0;
    int64_t number = 0;
    std::string host;
  };
  std::map<std::string, std::vector<Step>> steps;
  for (const auto& row : table.rows) {
    steps[CellText(row[0])].push_back(
        {*IntegerOf(row[1]), IntegerOf(row[2]).value_or(-1), CellText(row[3])});
  }
  for (TimelineEvent& event : events) {
    const auto run = steps.find(event.run);
    if (!event.time_ns || run == steps.end()) continue;
    auto after =
        std::upper_bound(run->second.begin(), run->second.end(), *event.time_ns,
                         [](int64_t time_ns, const Step& step) { return time_ns < step.start_ns; });
    while (after != run->second.begin()) {
      --after;
      if (!event.host.empty() && !after->host.empty() && event.host != after->host) continue;
      event.step = after->number;
      break;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TimelineEvent>> LogTimeline(Connection& connection,
                                               const TimelineFilter& filter) {
  TELLTALE_ASSIGN(std::vector<TimelineEvent> events, LoadEvents(connection, filter));
  TELLTALE_TRY(AddEngineCauses(connection, events));
  TELLTALE_TRY(AddMemoryHolders(connection, events));
  TELLTALE_TRY(AddLaggards(connection, events));
  TELLTALE_TRY(AddSteps(connection, events));
  return events;
}

}  // namespace telltale::evidence
