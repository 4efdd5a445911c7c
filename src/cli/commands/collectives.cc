// `telltale collectives`: questions about collectives and p2p operations, each a file of
// queries/collectives.

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cli/commands/findings.h"
#include "cli/commands/list.h"
#include "cli/drawing.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "collectives/kept_answers.h"
#include "collectives/preparation.h"
#include "collectives/selection.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

constexpr std::string_view kPrefix = "collectives/";

enum class Draw { kAuto, kAlways, kNever };

struct CollectivesCommand {
  std::string query;
  std::string fail_on;
  std::vector<std::string> arguments;  // of the query
  collectives::FilterValues filters{collectives::Filters().size()};
  Draw draw = Draw::kAuto;

  bool HasFilters() const {
    return std::any_of(filters.begin(), filters.end(),
                       [](const auto& values) { return !values.empty(); });
  }
  // The run that was asked for, if it is one.
  std::string Run() const { return filters[0].size() == 1 ? filters[0][0] : ""; }
};

std::string ShortName(const QueryHead& head) { return head.name.substr(kPrefix.size()); }

void ListQueries(const GlobalOptions& global) {
  Table table;
  table.columns = {{"query", "VARCHAR"}, {"question", "VARCHAR"}};
  for (const QueryHead& head : QueryHeads(kPrefix)) {
    table.rows.push_back({ShortName(head), head.question});
  }
  table.rows.push_back(
      {"findings", "who is to blame: late ranks, slow links and hosts, congestion, jitter, loss?"});
  PrintTable(table, global, "collectives/1", "queries");
}

QueryHead HeadNamed(const std::string& query) {
  for (const QueryHead& head : QueryHeads(kPrefix)) {
    if (ShortName(head) == query) return head;
  }
  throw CommandFailure(
      fmt::format("there is no query {}; `telltale collectives` lists them", Visible(query)),
      kExitUsage);
}

// What need not be given is a number above 0 everywhere, whole but for seconds; of bytes it may
// have a unit.
std::string NumberText(const QueryHead& head, const QueryParameter& parameter,
                       const std::string& value) {
  constexpr double kMost = 1e12;
  const bool whole = parameter.name != "seconds";
  std::optional<double> number = NumberOf<double>(value);
  if (parameter.name == "bytes") {
    const auto bytes = collectives::BytesOf(value);
    number = bytes ? std::optional(static_cast<double>(*bytes)) : std::nullopt;
  }
  if (number && *number > 0 && *number <= kMost && (!whole || *number == std::floor(*number))) {
    return whole ? fmt::format("{:.0f}", *number) : value;
  }
  throw CommandFailure(fmt::format("{}: {} is a {}number above 0, not {}", ShortName(head),
                                   parameter.name, whole ? "whole " : "", Visible(value)),
                       kExitUsage);
}

// The query's parameters in its order; those that are not given are NULL. A parameter "run" is
// --run.
std::vector<Cell> ParametersOf(const QueryHead& head, const CollectivesCommand& options) {
  std::vector<Cell> parameters;
  size_t next = 0;
  for (const QueryParameter& parameter : head.parameters) {
    if (parameter.name == "run") {
      parameters.push_back(options.Run().empty() ? Cell() : Cell(options.Run()));
    } else if (next < options.arguments.size()) {
      const std::string& value = options.arguments[next++];
      parameters.emplace_back(parameter.required ? value : NumberText(head, parameter, value));
    } else if (parameter.required) {
      throw CommandFailure(fmt::format("{0} needs {1}; see `telltale collectives {0} --help`",
                                       ShortName(head), parameter.name),
                           kExitUsage);
    } else {
      parameters.emplace_back();
    }
  }
  if (next < options.arguments.size()) {
    throw CommandFailure(fmt::format("{0} does not take {1}; see `telltale collectives {0} --help`",
                                     ShortName(head), Visible(options.arguments[next])),
                         kExitUsage);
  }
  return parameters;
}

// Fails if a filter is given that the answer would not heed.
void RefuseFilters(const CollectivesCommand& options) {
  for (size_t i = 0; i < options.filters.size(); ++i) {
    const std::string_view option = collectives::Filters()[i].option;
    if (options.filters[i].empty() || (option == "--run" && options.filters[i].size() == 1)) {
      continue;
    }
    throw CommandFailure(
        fmt::format("{} is about whole runs: it takes --run once, and no other filter",
                    options.query),
        kExitUsage);
  }
}

bool IsAboutWholeRuns(const QueryHead& head) {
  return std::any_of(head.parameters.begin(), head.parameters.end(),
                     [](const QueryParameter& parameter) { return parameter.name == "run"; });
}

Table AnswerOf(const CollectivesCommand& options, const std::vector<Cell>& parameters,
               const OpenStore& opened) {
  const bool asks_for_all =
      !options.HasFilters() && std::all_of(parameters.begin(), parameters.end(), [](const Cell& c) {
        return std::holds_alternative<std::monostate>(c);
      });
  if (asks_for_all) {
    auto kept = ValueOrThrow(collectives::KeptAnswer(*opened.connection, options.query));
    if (kept) return std::move(*kept);
  }
  if (const Status selected =
          collectives::SelectFor(*opened.connection, options.filters, options.query);
      !selected) {
    throw CommandFailure(Visible(selected.error().message), kExitUsage);
  }
  return ValueOrThrow(
      collectives::Ask(*opened.store, *opened.connection, options.query, parameters));
}

void RunQuery(const CollectivesCommand& options, const GlobalOptions& global) {
  if (options.query.empty()) return ListQueries(global);
  if (!options.fail_on.empty() && options.query != "findings") {
    throw CommandFailure("--fail-on is for findings", kExitUsage);
  }
  if (options.query == "findings") {
    RefuseFilters(options);
    if (!options.arguments.empty()) {
      throw CommandFailure(
          fmt::format("findings does not take {}", Visible(options.arguments.front())), kExitUsage);
    }
    return RunFindings({options.Run(), options.fail_on == "finding"}, global);
  }
  const QueryHead head = HeadNamed(options.query);
  const std::vector<Cell> parameters = ParametersOf(head, options);
  if (IsAboutWholeRuns(head)) RefuseFilters(options);
  const OpenStore opened = OpenForReading(global);
  for (const std::string& run : options.filters[0]) RequireRun(*opened.connection, run);
  if (options.query == "compare") {
    for (const std::string& run : options.arguments) RequireRun(*opened.connection, run);
  }
  Table table = AnswerOf(options, parameters, opened);
  if (table.rows.empty() && options.HasFilters() && !global.quiet) {
    fmt::print(stderr, "nothing in the store fits the filters\n");
  }
  std::string coverage = TellCoverage(*opened.connection, global, options.Run());
  // The answer itself has that name.
  if (options.query == "coverage") coverage.clear();
  const bool draws = global.format == Format::kTable &&
                     (options.draw == Draw::kAlways ||
                      (options.draw == Draw::kAuto && isatty(STDOUT_FILENO) != 0));
  if (draws && options.query == "configurations") table = HeatMap(table);
  if (draws) AddRangeBars(table);
  PrintTable(table, global, fmt::format("collectives.{}/1", options.query), options.query,
             coverage);
}

// All of it comes from the head of the query's file and from the list of filters.
std::string HelpOf(const QueryHead& head) {
  std::string usage = "telltale collectives " + ShortName(head);
  for (const QueryParameter& parameter : head.parameters) {
    if (parameter.name == "run") continue;
    usage += parameter.required ? " " + parameter.name : " [" + parameter.name + "]";
  }
  std::string help = fmt::format("{}\nUsage: {} [filters]\n\n{}\nFilters:\n", head.question, usage,
                                 head.text.substr(head.text.find('\n') + 1));
  for (const collectives::Filter& filter : collectives::Filters()) {
    if (IsAboutWholeRuns(head) && std::string_view(filter.option) != "--run") continue;
    help += fmt::format("  {:<18}{}\n", filter.option, filter.help);
  }
  return help + "  --draw             range bars and heat maps in tables: auto, always, never\n";
}

constexpr const char* kFindingsHelp =
    R"(who is to blame: late ranks, slow links and hosts, congestion, jitter, loss?
Usage: telltale collectives findings [--run RUN] [--fail-on finding]

Operations are matched over ranks by communicator, operation and sequence number; no clocks are needed. A
late rank shows the shortest time: the others wait for it. Each cause is named once, with its place, from
when to when, how much it costs, how sure that is, and the records that show it. What cannot be told is said
as "not enough data", with the reason. docs/findings.md describes kinds, reasons and JSON fields.

  --run RUN          only this run
  --fail-on finding  exit with 3 if there is one, for scripts

Examples:
  telltale collectives findings
  telltale --json collectives findings --run job | jq '.findings[].text'
)";

constexpr const char* kExamples = R"(
Each question has its own help: telltale collectives QUERY --help

Filters can be given several times (not --size, --since, --until): what fits any of the values stays in.

Examples:
  telltale collectives summary
  telltale collectives bandwidth --coll AllReduce --comm-type nic-only
  telltale collectives by-host --size 1M-1G --run job
  telltale collectives over-time 10 --comm "PP/DP Rail 3"
  telltale collectives compare before after
  telltale --json collectives p2p | jq '.p2p[0]'
)";

}  // namespace

void AddCollectivesCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<CollectivesCommand>();
  CLI::App* command = app.add_subcommand(
      "collectives", "what collectives ran, how much, how fast (no name: list the questions)");
  command->footer(kExamples);
  // `collectives QUERY --help` is about the query.
  command->formatter_fn([](const CLI::App* shown, std::string name, CLI::AppFormatMode mode) {
    const std::vector<std::string> words = shown->get_option("QUERY")->results();
    if (!words.empty() && words.front() == "findings") return std::string(kFindingsHelp);
    for (const QueryHead& head : QueryHeads(kPrefix)) {
      if (!words.empty() && ShortName(head) == words.front()) return HelpOf(head);
    }
    return CLI::Formatter().make_help(shown, std::move(name), mode);
  });
  command->add_option("QUERY", options->query, "the question");
  command->add_option("--fail-on", options->fail_on, "findings only: exit 3 if there is one")
      ->check(CLI::IsMember({"finding"}));
  command->add_option("VALUES", options->arguments, "the question's parameters, in their order");
  for (size_t i = 0; i < collectives::Filters().size(); ++i) {
    const collectives::Filter& filter = collectives::Filters()[i];
    // One value for each time the option is given, so that what follows is not taken for more of
    // them.
    command->add_option(filter.option, options->filters[i], filter.help)
        ->type_size(1)
        ->allow_extra_args(false);
  }
  const std::map<std::string, Draw> draws = {
      {"auto", Draw::kAuto}, {"always", Draw::kAlways}, {"never", Draw::kNever}};
  command
      ->add_option("--draw", options->draw,
                   "range bars and heat maps in tables: auto (on a terminal), always, never")
      ->transform(CLI::CheckedTransformer(draws, CLI::ignore_case).description(""));
  command->callback([options, &global] { RunQuery(*options, global); });
}

}  // namespace telltale::cli
