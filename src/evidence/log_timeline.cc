#include "evidence/log_timeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/json_text.h"
#include "evidence/cells.h"
#include "evidence/watchdog.h"

namespace telltale::evidence {
namespace {

// Repeats of one fault come within this of each other.
constexpr int64_t kRepeatNs = 60'000'000'000;

Cell OrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

// What makes two events one fault, beside place and kind: all that they say, but what differs each
// time that a fault is told of.
std::string SubjectOf(const std::string& kind, const Cell& xid, const Cell& engine,
                      const std::string& fields) {
  if (kind == "xid") return CellText(xid);
  if (kind == "preemption" || kind == "retraction") return CellText(engine);
  if (kind == "train_step") return {};
  return fields;
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
                    coalesce(json_extract_string(e.fields, '$.xid'), json_extract_string(e.fields, '$.sxid')), json_extract_string(e.fields, '$.engine'),
                    f.path, e.source, e.line, coalesce(e.text, ''), coalesce(e.roles, ''),
                    try_cast(json_extract_string(e.fields, '$.requests') AS BIGINT)
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
    event.roles = CellText(row[16]);
    event.requests = IntegerOf(row[17]).value_or(1);
    const Key key(event.source, event.kind, event.gpu + '\n' + event.roles, event.rank, event.pid,
                  SubjectOf(event.kind, row[10], row[11], event.fields));
    const auto [place, is_new] = last.try_emplace(key, events.size());
    if (!is_new) {
      TimelineEvent& before = events[place->second];
      const bool is_repeat = event.time_ns && before.last_time_ns
                                 ? *event.time_ns - *before.last_time_ns <= kRepeatNs
                                 : !event.time_ns && !before.last_time_ns;
      if (is_repeat) {
        ++before.count;
        before.requests += IntegerOf(row[17]).value_or(1);
        before.last_time_ns = event.time_ns;
        continue;
      }
      place->second = events.size();
    }
    events.push_back(std::move(event));
  }
  return events;
}

using Place = std::pair<int64_t, int64_t>;  // source and line

// The error that ended an engine: the last line of the message in which it says so, or else the
// last error of a traceback shortly before.
Status AddEngineCauses(Connection& connection, std::vector<TimelineEvent>& events) {
  TELLTALE_ASSIGN(const Table table, connection.Query(
                                         R"(WITH death AS (
               SELECT e.source, e.line, l.head, l.time_ns FROM log_event e
               JOIN log_line l ON l.source = e.source AND l.line = e.line WHERE e.kind = 'engine_death'),
             within AS (
               SELECT d.source, d.line, arg_max(t.text, t.line) AS text
               FROM death d JOIN log_line t ON t.source = d.source AND t.head = d.head
               WHERE t.line > d.line AND trim(t.text) <> '' GROUP BY ALL),
             failed AS (
               SELECT t.source, t.line, t.text, t.time_ns FROM log_line t
               WHERE t.head < t.line AND NOT starts_with(t.text, ' ') AND regexp_matches(t.text, '^[A-Za-z_.]+(Error|Exception)')
                 AND t.source IN (SELECT source FROM death)),
             before AS (
               SELECT d.source, d.line, f.text FROM death d
               ASOF JOIN failed f ON f.source = d.source AND f.line < d.line
               WHERE f.line + 200 > d.line AND d.time_ns - f.time_ns <= 60000000000)
             SELECT d.source, d.line, coalesce(w.text, b.text)
             FROM death d LEFT JOIN within w USING (source, line) LEFT JOIN before b USING (source, line))"));
  std::map<Place, std::string> causes;
  for (const auto& row : table.rows) {
    causes[{IntegerOf(row[0]).value_or(0), IntegerOf(row[1]).value_or(0)}] = CellText(row[2]);
  }
  for (TimelineEvent& event : events) {
    if (event.kind == "engine_death") event.cause = causes[{event.source, event.line}];
  }
  return {};
}

// Other processes that hold memory of the GPU, by the names that the run's sources know.
Status AddMemoryHolders(Connection& connection, std::vector<TimelineEvent>& events) {
  TELLTALE_ASSIGN(const Table table, connection.Query(
                                         R"(WITH holder AS (
               SELECT e.source, e.line, f.run, h.pid, h.bytes
               FROM log_event e JOIN source f USING (source),
                    unnest(from_json(json_extract(e.fields, '$.other_processes'),
                                     '[{"pid":"BIGINT","bytes":"BIGINT"}]')) AS u(h)
               WHERE e.kind = 'cuda_out_of_memory'),
             process AS (
               SELECT f.run, p.pid, any_value(p.rank) AS rank FROM log_process p JOIN source f USING (source)
               WHERE p.pid IS NOT NULL GROUP BY ALL)
             SELECT h.source, h.line, h.pid, h.bytes, p.rank
             FROM holder h LEFT JOIN process p ON p.run = h.run AND p.pid = h.pid
             ORDER BY h.source, h.line, h.bytes DESC)"));
  std::map<Place, std::string> causes;
  for (const auto& row : table.rows) {
    std::string& cause = causes[{IntegerOf(row[0]).value_or(0), IntegerOf(row[1]).value_or(0)}];
    const auto bytes = static_cast<double>(IntegerOf(row[3]).value_or(0));
    cause +=
        fmt::format("{}process {}{} holds {:.2f} GiB of the same GPU", cause.empty() ? "" : "; ",
                    CellText(row[2]), IntegerOf(row[4]) ? " (rank " + CellText(row[4]) + ")" : "",
                    bytes / (1024.0 * 1024 * 1024));
  }
  for (TimelineEvent& event : events) {
    if (event.kind == "cuda_out_of_memory") event.cause = causes[{event.source, event.line}];
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

// Statuses of one group that ranks wrote about one hang.
struct Incident {
  std::string group;
  int64_t first_ns = 0, last_ns = 0;
  std::vector<WatchdogStatus> statuses;
  std::set<int64_t> ranks;  // that wrote one
  Laggards laggards;
};

Result<std::map<std::string, std::vector<Incident>>> LoadIncidents(Connection& connection) {
  // Ranks give up at about the same time; the next hang is at least a timeout away.
  constexpr int64_t kApart = 300'000'000'000;
  TELLTALE_ASSIGN(const Table table,
                  connection.Query(
                      R"(SELECT run, coalesce(json_extract_string(fields, '$.group_name'),
                                  json_extract_string(fields, '$.group'), '') AS group_name, rank,
                    try_cast(json_extract_string(fields, '$.sequence') AS BIGINT),
                    try_cast(json_extract_string(fields, '$.last_enqueued') AS BIGINT),
                    try_cast(json_extract_string(fields, '$.last_completed') AS BIGINT), coalesce(time_ns, 0)
             FROM log_events WHERE kind = 'nccl_watchdog_status'
             ORDER BY run, group_name, time_ns, source, line)"));
  std::map<std::string, std::vector<Incident>> incidents;
  for (const auto& row : table.rows) {
    std::vector<Incident>& of_run = incidents[CellText(row[0])];
    const int64_t time_ns = IntegerOf(row[6]).value_or(0);
    if (of_run.empty() || of_run.back().group != CellText(row[1]) ||
        time_ns - of_run.back().last_ns > kApart) {
      of_run.push_back({CellText(row[1]), time_ns, time_ns, {}, {}, {}});
    }
    of_run.back().last_ns = time_ns;
    of_run.back().statuses.push_back(
        {IntegerOf(row[2]).value_or(-1), IntegerOf(row[3]), IntegerOf(row[4]), IntegerOf(row[5])});
    of_run.back().ranks.insert(of_run.back().statuses.back().rank);
  }
  TELLTALE_ASSIGN(const auto ranks, KnownRanks(connection));
  for (auto& [run, of_run] : incidents) {
    const auto known = ranks.find(run);
    for (Incident& incident : of_run) {
      // A rank that is not of the group cannot lag in it: only the world's ranks are all known.
      const bool is_world =
          incident.group.empty() || incident.group == "default_pg" || incident.group == "0";
      incident.laggards =
          FindLaggards(incident.statuses,
                       is_world && known != ranks.end() ? known->second : std::vector<int64_t>());
    }
  }
  return incidents;
}

Status AddLaggards(Connection& connection, std::vector<TimelineEvent>& events) {
  const bool any = std::any_of(events.begin(), events.end(), [](const TimelineEvent& event) {
    return event.kind.starts_with("nccl_watchdog");
  });
  if (!any) return {};
  TELLTALE_ASSIGN(const auto incidents, LoadIncidents(connection));
  // What a rank tells of one hang comes within moments.
  constexpr int64_t kMoments = 120'000'000'000;
  for (TimelineEvent& event : events) {
    const auto of_run = incidents.find(event.run);
    if (!event.kind.starts_with("nccl_watchdog") || of_run == incidents.end()) continue;
    for (const Incident& incident : of_run->second) {
      const int64_t time_ns = event.time_ns.value_or(0);
      if (time_ns < incident.first_ns - kMoments || time_ns > incident.last_ns + kMoments) continue;
      // A status is of its own group; a timeout does not say of which it is.
      if (event.kind == "nccl_watchdog_status" &&
          event.fields.find(JsonString(incident.group)) == std::string::npos) {
        continue;
      }
      if (!event.rank || !incident.ranks.contains(*event.rank)) continue;
      const std::string& reason = incident.laggards.reason;
      if (reason.empty() || event.cause.find(reason) != std::string::npos) continue;
      event.cause += (event.cause.empty() ? "" : "; ") + reason;
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
      // One of long before is of another job in the same folder.
      constexpr int64_t kLong = 3'600'000'000'000;
      if (*event.time_ns - after->start_ns <= kLong) event.step = after->number;
      break;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<TimelineEvent>> LogTimeline(Connection& connection,
                                               const TimelineFilter& filter) {
  TELLTALE_ASSIGN(std::vector<TimelineEvent> events, LoadEvents(connection, filter));
  for (TimelineEvent& event : events) {
    const bool is_counted = event.kind == "preemption" || event.kind == "retraction";
    if (is_counted) event.cause = fmt::format("{} requests in all", event.requests);
  }
  TELLTALE_TRY(AddEngineCauses(connection, events));
  TELLTALE_TRY(AddMemoryHolders(connection, events));
  TELLTALE_TRY(AddLaggards(connection, events));
  TELLTALE_TRY(AddSteps(connection, events));
  return events;
}

}  // namespace telltale::evidence
