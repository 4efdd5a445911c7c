#include "evidence/engine_steps.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "evidence/cells.h"
#include "evidence/clock_hosts.h"
#include "evidence/steps.h"
#include "store/bulk_insert.h"

namespace telltale::evidence {
namespace {

// Names of ranges that are steps or captures within them, by their number.
Result<std::unordered_map<int64_t, std::string>> StepNames(Connection& connection, int64_t run) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  // The names of a profile may be some hundred thousand; those of steps begin in few ways.
  TELLTALE_ASSIGN(
      const Table table,
      connection.Query("SELECT n.name, n.text FROM event_name n JOIN source f USING (source) "
                       "WHERE f.run = $1 AND (n.text ILIKE 'step%' OR n.text ILIKE 'iter%' OR "
                       "n.text LIKE 'execute_%' OR n.text LIKE 'ProfilerStep#%' OR "
                       "n.text LIKE 'telltale:step %')",
                       parameters));
  std::unordered_map<int64_t, std::string> names;
  for (const auto& row : table.rows) {
    std::string text = CellText(row[1]);
    if (IsStepName(text) || IsCaptureName(text)) {
      names.emplace(IntegerOf(row[0]).value_or(-1), std::move(text));
    }
  }
  return names;
}

struct Range {
  int64_t event = 0;
  int64_t track = 0;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  const std::string* name = nullptr;

  int64_t EndNs() const { return start_ns + duration_ns; }
};

// Takes the ranges of one process: outermost steps, and captures into the step around them.
void TakeSteps(std::vector<Range>& ranges, StepsOfProcess& process) {
  // An enclosing range stands before what it encloses.
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::tuple(a.start_ns, -a.duration_ns, a.event) <
           std::tuple(b.start_ns, -b.duration_ns, b.event);
  });
  std::map<int64_t, int64_t> end_of_track;  // of the last step on each
  for (const Range& range : ranges) {
    if (IsCaptureName(*range.name)) continue;
    const auto [end, is_first] = end_of_track.try_emplace(range.track, range.EndNs());
    if (!is_first) {
      if (range.start_ns < end->second && range.EndNs() <= end->second) continue;
      end->second = range.EndNs();
    }
    process.steps.push_back({range.start_ns, range.duration_ns, BatchOf(*range.name)});
    process.events.push_back(range.event);
  }
  for (const Range& range : ranges) {
    if (!IsCaptureName(*range.name)) continue;
    const auto after = std::upper_bound(
        process.steps.begin(), process.steps.end(), range.start_ns,
        [](int64_t time_ns, const EngineStep& step) { return time_ns < step.start_ns; });
    if (after == process.steps.begin()) continue;
    const EngineStep& step = *(after - 1);
    if (range.start_ns > step.start_ns + step.duration_ns) continue;
    const auto index = static_cast<uint32_t>(after - 1 - process.steps.begin());
    for (const NamedRequest& request : RequestsOfCapture(*range.name)) {
      process.named.push_back({index, std::string(request.id), request.tokens});
    }
  }
}

}  // namespace

Result<std::vector<StepsOfProcess>> LoadSteps(Connection& connection, int64_t run) {
  TELLTALE_ASSIGN(const auto names, StepNames(connection, run));
  std::vector<StepsOfProcess> processes;
  if (names.empty()) return processes;
  TELLTALE_TRY(connection.Run("CREATE OR REPLACE TEMP TABLE step_name (name UINTEGER)"));
  LazyAppender rows(connection, "step_name");
  for (const auto& [number, text] : names) TELLTALE_TRY(rows.Append({Cell(number)}));
  TELLTALE_TRY(rows.Close());
  TELLTALE_ASSIGN(const Table table,
                  connection.Query(
                      "SELECT t.trace_process, e.event, e.track, e.start_ns, e.duration_ns, e.name "
                      "FROM event e JOIN step_name s USING (name) JOIN track t USING (track) "
                      "WHERE e.kind = 0 AND t.kind = 'thread' AND e.duration_ns >= 0"));
  std::map<int64_t, std::vector<Range>> by_process;
  for (const auto& row : table.rows) {
    by_process[IntegerOf(row[0]).value_or(-1)].push_back({*IntegerOf(row[1]), *IntegerOf(row[2]),
                                                          *IntegerOf(row[3]), *IntegerOf(row[4]),
                                                          &names.at(*IntegerOf(row[5]))});
  }
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(
      const Table known,
      connection.Query("SELECT p.trace_process, p.source, p.rank, coalesce(p.host, ''), "
                       "f.path FROM trace_process p JOIN source f USING (source) "
                       "WHERE f.run = $1 ORDER BY p.trace_process",
                       parameters));
  std::vector<SourceName> sources;
  for (const auto& row : known.rows) sources.push_back({CellText(row[3]), CellText(row[4])});
  const std::vector<std::string> hosts = HostsOfSources(sources);
  for (size_t i = 0; i < known.rows.size(); ++i) {
    const auto ranges = by_process.find(IntegerOf(known.rows[i][0]).value_or(-1));
    if (ranges == by_process.end()) continue;
    StepsOfProcess process;
    process.trace_process = ranges->first;
    process.source = IntegerOf(known.rows[i][1]).value_or(-1);
    process.rank = IntegerOf(known.rows[i][2]);
    process.host = hosts[i];
    TakeSteps(ranges->second, process);
    if (!process.steps.empty()) processes.push_back(std::move(process));
  }
  return processes;
}

Result<std::vector<LoggedStep>> LoadLoggedSteps(Connection& connection, int64_t run) {
  const std::array<Cell, 1> parameters = {Cell(run)};
  TELLTALE_ASSIGN(const Table table,
                  connection.Query(
                      R"(SELECT e.source, e.line, coalesce(e.host, ''), e.rank, e.time_ns, e.kind,
                    try_cast(try_cast(json_extract_string(e.fields, '$.step') AS DOUBLE) AS BIGINT),
                    try_cast(try_cast(json_extract_string(e.fields, '$.elapsed_ms') AS DOUBLE) * 1e6 AS BIGINT),
                    try_cast(json_extract_string(e.fields, '$.context_requests') AS BIGINT),
                    try_cast(json_extract_string(e.fields, '$.context_tokens') AS BIGINT),
                    try_cast(json_extract_string(e.fields, '$.generation_requests') AS BIGINT),
                    try_cast(json_extract_string(e.fields, '$.generation_tokens') AS BIGINT)
             FROM log_events e JOIN source f USING (source)
             WHERE f.run = $1 AND e.kind IN ('train_step', 'engine_step') ORDER BY e.source, e.line)",
                      parameters));
  std::vector<LoggedStep> steps;
  for (const auto& row : table.rows) {
    LoggedStep step;
    step.source = *IntegerOf(row[0]);
    step.line = *IntegerOf(row[1]);
    step.host = CellText(row[2]);
    step.rank = IntegerOf(row[3]);
    step.time_ns = IntegerOf(row[4]);
    step.duration_ns = IntegerOf(row[7]);
    step.batch.number = IntegerOf(row[6]);
    step.batch.context_requests = IntegerOf(row[8]);
    step.batch.context_tokens = IntegerOf(row[9]);
    step.batch.generation_requests = IntegerOf(row[10]);
    step.batch.generation_tokens = IntegerOf(row[11]);
    const bool is_training = CellText(row[5]) == "train_step";
    step.batch.engine = is_training ? "" : "vllm";
    step.batch.phase = is_training                                       ? "train"
                       : step.batch.context_requests.value_or(0) == 0    ? "decode"
                       : step.batch.generation_requests.value_or(0) == 0 ? "prefill"
                                                                         : "mixed";
    steps.push_back(step);
  }
  return steps;
}

}  // namespace telltale::evidence
