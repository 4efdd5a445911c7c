// `telltale collectives`: questions about collectives and p2p operations, each a file of
// queries/collectives.

#include <array>

#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

constexpr std::string_view kPrefix = "collectives/";

struct CollectivesCommand {
  std::string query;
  std::string run;
};

void ListQueries(const GlobalOptions& global) {
  Table table;
  table.columns = {{"query", "VARCHAR"}, {"question", "VARCHAR"}};
  for (const QueryHead& head : QueryHeads(kPrefix)) {
    table.rows.push_back({head.name.substr(kPrefix.size()), head.question});
  }
  PrintTable(table, global, "collectives/1", "queries");
}

void RunQuery(const CollectivesCommand& options, const GlobalOptions& global) {
  if (options.query.empty()) return ListQueries(global);
  const auto sql = QueryText(std::string(kPrefix) + options.query);
  if (!sql) {
    throw CommandFailure(fmt::format("there is no query {}; `telltale collectives` lists them",
                                     Visible(options.query)),
                         kExitUsage);
  }
  const OpenStore opened = OpenForReading(global);
  const std::array<Cell, 1> parameters = {options.run.empty() ? Cell() : Cell(options.run)};
  const Table table = ValueOrThrow(opened.connection->Query(*sql, parameters));
  const std::string coverage = TellCoverage(*opened.connection, global, options.run);
  PrintTable(table, global, fmt::format("collectives.{}/1", options.query), options.query,
             coverage);
}

}  // namespace

void AddCollectivesCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<CollectivesCommand>();
  CLI::App* command = app.add_subcommand(
      "collectives", "what collectives ran, how much, how fast (no name: list the questions)");
  std::string help =
      "\nExamples:\n  telltale collectives summary\n  telltale --json collectives summary --run "
      "job\n";
  for (const QueryHead& head : QueryHeads(kPrefix)) {
    help += fmt::format("\n{}\n", head.name.substr(kPrefix.size()));
    std::string_view rest = head.text;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      help += "  " + std::string(rest.substr(0, end)) + "\n";
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  command->footer(help);
  command->add_option("QUERY", options->query, "the question");
  command->add_option("--run", options->run, "only this run");
  command->callback([options, &global] { RunQuery(*options, global); });
}

}  // namespace telltale::cli
