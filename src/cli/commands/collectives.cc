// `telltale collectives`: questions about collectives and p2p operations, each a file of
// queries/collectives.

#include <unistd.h>

#include "cli/commands/findings.h"
#include "cli/commands/list.h"
#include "cli/drawing.h"
#include "cli/output.h"
#include "cli/store_access.h"
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

// The query's parameters in its order; those that are not given are NULL. A parameter "run" is
// --run.
std::vector<Cell> ParametersOf(const QueryHead& head, const CollectivesCommand& options) {
  std::vector<Cell> parameters;
  size_t next = 0;
  for (const QueryParameter& parameter : head.parameters) {
    if (parameter.name == "run") {
      parameters.push_back(options.Run().empty() ? Cell() : Cell(options.Run()));
    } else if (next < options.arguments.size()) {
      parameters.emplace_back(options.arguments[next++]);
    } else if (parameter.required) {
      throw CommandFailure(fmt::format("{} needs {}; see `telltale collectives --help`",
                                       ShortName(head), parameter.name),
                           kExitUsage);
    } else {
      parameters.emplace_back();
    }
  }
  if (next < options.arguments.size()) {
    throw CommandFailure(fmt::format("{} does not take {}; see `telltale collectives --help`",
                                     ShortName(head), Visible(options.arguments[next])),
                         kExitUsage);
  }
  return parameters;
}

void RunQuery(const CollectivesCommand& options, const GlobalOptions& global) {
  if (options.query.empty()) return ListQueries(global);
  if (options.query == "findings") {
    return RunFindings({options.Run(), options.fail_on == "finding"}, global);
  }
  const QueryHead head = HeadNamed(options.query);
  const std::vector<Cell> parameters = ParametersOf(head, options);
  const std::string sql = ValueOrThrow(QueryText(head.name));
  const OpenStore opened = OpenForReading(global);
  if (const Status selected = collectives::Select(*opened.connection, options.filters); !selected) {
    throw CommandFailure(Visible(selected.error().message), kExitUsage);
  }
  Table table = ValueOrThrow(opened.connection->Query(sql, parameters));
  const std::string coverage = TellCoverage(*opened.connection, global, options.Run());
  const bool draws = global.format == Format::kTable &&
                     (options.draw == Draw::kAlways ||
                      (options.draw == Draw::kAuto && isatty(STDOUT_FILENO) != 0));
  if (draws && options.query == "configurations") table = HeatMap(table);
  if (draws) AddRangeBars(table);
  PrintTable(table, global, fmt::format("collectives.{}/1", options.query), options.query,
             coverage);
}

constexpr const char* kExamples = R"(
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
  std::string help = kExamples;
  for (const QueryHead& head : QueryHeads(kPrefix)) {
    help += fmt::format("\n{}\n", ShortName(head));
    std::string_view rest = head.text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      help += "  " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  command->footer(help);
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
