// `telltale requests`, `steps`, `logs` and `clocks`: what served which request, and when.

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "cli/commands/list.h"
#include "cli/commands/requests.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

struct RequestCommand {
  std::string run;
  std::string request;
  std::optional<int64_t> rank;
  std::optional<int64_t> step;
  size_t top = 100;
};

Cell OrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell OrNull(std::optional<int64_t> number) { return number ? Cell(*number) : Cell(); }

Table Ask(Connection& connection, const char* query, std::span<const Cell> parameters) {
  return ValueOrThrow(connection.Query(ValueOrThrow(QueryText(query)), parameters));
}

// Ids that are the one asked for, or else begin with it. None is a slip, not an empty answer.
std::vector<std::string> FindRequests(Connection& connection, const RequestCommand& options) {
  if (!options.run.empty()) RequireRun(connection, options.run);
  const std::array<Cell, 2> parameters = {Cell(options.request), OrNull(options.run)};
  const Table table = ValueOrThrow(connection.Query(
      "SELECT DISTINCT r.name FROM request r JOIN run u ON u.run = r.run "
      "WHERE starts_with(r.name, $1) AND ($2::VARCHAR IS NULL OR u.name = $2) ORDER BY r.name",
      parameters));
  std::vector<std::string> found;
  for (const std::vector<Cell>& row : table.rows) found.push_back(CellText(row[0]));
  if (std::find(found.begin(), found.end(), options.request) != found.end()) {
    return {options.request};
  }
  if (!found.empty()) return found;
  if (ValueOrThrow(connection.QueryInteger("SELECT count(*) FROM request")) == 0) {
    throw CommandFailure(
        "the store knows no requests: they are told of by OpenTelemetry spans, by lines such as "
        "`Added request …`, and by ranges of capture; ingest one of these");
  }
  throw CommandFailure(
      fmt::format("no request's id is or begins with {}; `telltale requests` lists them",
                  Visible(options.request)));
}

// Lists in columns are JSON already: they go out as arrays.
void PrintRequestsJson(const Table& table) {
  std::string out = R"({"schema":"telltale/requests/1","requests":[)";
  for (size_t i = 0; i < table.rows.size(); ++i) {
    out += i > 0 ? ",\n{" : "{";
    for (size_t c = 0; c < table.columns.size(); ++c) {
      out += (c > 0 ? "," : "") + JsonString(table.columns[c].name) + ":";
      out += table.columns[c].name == "steps" ? CellText(table.rows[i][c])
                                              : CellJson(table.rows[i][c]);
    }
    out += '}';
  }
  fmt::print("{}]}}\n", out);
}

void RunRequests(const RequestCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const std::vector<std::string> found = FindRequests(*opened.connection, options);
  const bool is_exact = found.size() == 1;
  const std::array<Cell, 3> parameters = {
      OrNull(options.run), OrNull(is_exact ? found.front() : options.request), Cell(is_exact)};
  Table table = Ask(*opened.connection, "requests/requests", parameters);
  KeepTop(table, options.top, global);
  if (global.format == Format::kJson) return PrintRequestsJson(table);
  if (global.format == Format::kTable) {
    WriteTimes(table, {"arrival_ns", "first_token_ns", "end_ns"});
    CutTexts(table, 60);
  }
  PrintTable(table, global, "requests/1", "requests");
}

void RunSteps(const RequestCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  if (!options.run.empty()) RequireRun(*opened.connection, options.run);
  const std::string request = ChosenRequest(*opened.connection, options.request, options.run);
  const std::array<Cell, 3> parameters = {OrNull(options.run), OrNull(request),
                                          OrNull(options.rank)};
  Table table = Ask(*opened.connection, "requests/steps", parameters);
  if (table.rows.empty() && !global.quiet) {
    fmt::print(stderr, "no steps: profiles of engines and of training mark them\n");
  }
  KeepTop(table, options.top, global);
  PrintTable(table, global, "steps/1", "steps");
}

void RunLogs(const RequestCommand& options, const GlobalOptions& global) {
  if (options.request.empty() == !options.step.has_value()) {
    throw CommandFailure("name either a request, or a step with --step (`telltale steps`)",
                         kExitUsage);
  }
  const OpenStore opened = OpenForReading(global);
  const std::string request = ChosenRequest(*opened.connection, options.request, options.run);
  if (options.step) {
    const std::array<Cell, 1> step = {Cell(*options.step)};
    if (ValueOrThrow(opened.connection->QueryInteger("SELECT count(*) FROM step WHERE step = $1",
                                                     step)) == 0) {
      throw CommandFailure(
          fmt::format("there is no step {}; `telltale steps` lists them", *options.step));
    }
  }
  const std::array<Cell, 3> parameters = {OrNull(options.run), OrNull(request),
                                          OrNull(options.step)};
  Table table = Ask(*opened.connection, "requests/logs", parameters);
  KeepTop(table, options.top, global);
  if (global.format == Format::kTable) {
    WriteTimes(table, {"time_ns"});
    CutTexts(table, 160);
  }
  PrintTable(table, global, "logs/1", "lines");
}

void RunClocks(const RequestCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  if (!options.run.empty()) RequireRun(*opened.connection, options.run);
  const std::array<Cell, 1> parameters = {OrNull(options.run)};
  const Table table = Ask(*opened.connection, "requests/clocks", parameters);
  if (table.rows.empty() && !global.quiet) {
    fmt::print(stderr,
               "no clocks: they are compared where profiles of several hosts have the same "
               "collectives\n");
  }
  PrintTable(table, global, "clocks/1", "clocks");
}

}  // namespace

std::string ChosenRequest(Connection& connection, const std::string& request,
                          const std::string& run) {
  if (request.empty()) return {};
  RequestCommand options;
  options.request = request;
  options.run = run;
  const std::vector<std::string> found = FindRequests(connection, options);
  if (found.size() == 1) return found.front();
  constexpr size_t kNamed = 5;
  std::string names;
  for (size_t i = 0; i < std::min(found.size(), kNamed); ++i) {
    names += (i > 0 ? ", " : "") + Visible(found[i]);
  }
  throw CommandFailure(fmt::format("{} requests begin with {}: {}{}; name one", found.size(),
                                   Visible(request), names, found.size() > kNamed ? ", …" : ""));
}

void AddRequestCommands(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<RequestCommand>();
  const auto add_run = [&](CLI::App* command) {
    command->add_option("--run", options->run, "only this run");
  };

  CLI::App* requests =
      app.add_subcommand("requests", "requests with their times and the steps that served them");
  requests->footer(
      "\nFrom OpenTelemetry spans, lines of engine logs and ranges of capture. How a step is "
      "known to be a\nrequest's: id, the step names it; exact, as many requests can have been in "
      "the step as were; window,\nit was there at that time.\n\nExamples:\n  telltale requests\n  "
      "telltale requests cmpl-8001a336\n  telltale --json requests --top 0 | jq '.requests[] | "
      "select(.certain_steps == 0)'");
  requests->add_option("REQUEST", options->request, "id of a request, or how it begins");
  add_run(requests);
  AddTopOption(*requests, options->top);
  requests->callback([options, &global] { RunRequests(*options, global); });

  CLI::App* steps =
      app.add_subcommand("steps", "steps of an engine or a training, with their batches");
  steps->footer(
      "\nExamples:\n  telltale steps --rank 0\n  telltale steps cmpl-8001a336\n  telltale --json "
      "steps --top 0 | jq '.steps[] | select(.phase == \"prefill\")'");
  steps->add_option("REQUEST", options->request, "only steps of this request");
  steps->add_option("--rank", options->rank, "only this global rank");
  add_run(steps);
  AddTopOption(*steps, options->top);
  steps->callback([options, &global] { RunSteps(*options, global); });

  CLI::App* logs = app.add_subcommand("logs", "lines of logs that belong to a request or a step");
  logs->footer(
      "\nLines that name the request, and lines of the same time, with whether that is certain "
      "and how many\nother requests they may be of.\n\nExamples:\n  telltale logs "
      "cmpl-8001a336\n  telltale logs --step 1207");
  logs->add_option("REQUEST", options->request, "id of a request, or how it begins");
  logs->add_option("--step", options->step, "number of a step, as `telltale steps` lists it");
  add_run(logs);
  AddTopOption(*logs, options->top);
  logs->callback([options, &global] { RunLogs(*options, global); });

  CLI::App* clocks =
      app.add_subcommand("clocks", "how far apart hosts' clocks are, and how well that is known");
  clocks->footer(
      "\nNo rank can leave a collective before the last has entered it: what all ranks' profiles "
      "say of the\nsame collectives bounds how far their clocks can be apart. Orders within the "
      "error are uncertain.\n\nExamples:\n  telltale clocks\n  telltale --json clocks --run job");
  add_run(clocks);
  clocks->callback([options, &global] { RunClocks(*options, global); });
}

}  // namespace telltale::cli
