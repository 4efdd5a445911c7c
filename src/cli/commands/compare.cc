// `telltale compare`: two runs, operators and kernels matched by name and place in the call chain.

#include <algorithm>
#include <map>
#include <tuple>

#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "evidence/operation_times.h"
#include "evidence/steps.h"

namespace telltale::cli {
namespace {

using evidence::NamedTimes;

struct CompareCommand {
  std::string before, after;
  std::optional<int64_t> rank;
  size_t top = 50;
};

struct Side {
  uint64_t calls = 0;
  int64_t time_ns = 0;
};

struct Both {
  Side before, after;
};

struct RunTimes {
  std::vector<NamedTimes> rows;
  size_t steps = 0;
};

RunTimes TimesOfRun(Connection& connection, const std::string& run, std::optional<int64_t> rank) {
  const evidence::TraceEvents events =
      ValueOrThrow(evidence::LoadTraceEvents(connection, {run, rank}));
  return {evidence::TimesByPlace(events, evidence::TimesOf(events)),
          evidence::FindSteps(events).size()};
}

void RunCompare(const CompareCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const RunTimes before = TimesOfRun(*opened.connection, options.before, options.rank);
  const RunTimes after = TimesOfRun(*opened.connection, options.after, options.rank);
  std::map<std::tuple<std::string, std::string, std::string>, Both> rows;
  const auto add = [&](const RunTimes& times, Side Both::*side) {
    for (const NamedTimes& row : times.rows) {
      Side& sum = rows[{trace::EventKindName(row.kind), row.name, row.place}].*side;
      sum.calls += row.calls;
      sum.time_ns += row.inclusive_ns;
    }
  };
  add(before, &Both::before);
  add(after, &Both::after);
  // Runs of different length are compared by the step, where both mark steps.
  const bool by_step = before.steps > 0 && after.steps > 0;
  const auto scaled = [&](int64_t value, size_t steps) {
    return by_step ? value / static_cast<int64_t>(steps) : value;
  };
  Table table;
  const char* const unit = by_step ? "_ns_per_step" : "_ns";
  table.columns = {{"kind", "VARCHAR"},
                   {"name", "VARCHAR"},
                   {"place", "VARCHAR"},
                   {"calls_a", "BIGINT"},
                   {"calls_b", "BIGINT"},
                   {fmt::format("time_a{}", unit), "BIGINT"},
                   {fmt::format("time_b{}", unit), "BIGINT"},
                   {fmt::format("difference{}", unit), "BIGINT"},
                   {"ratio", "DOUBLE"}};
  for (const auto& [key, both] : rows) {
    const auto& [kind, name, place] = key;
    const int64_t time_a = scaled(both.before.time_ns, before.steps);
    const int64_t time_b = scaled(both.after.time_ns, after.steps);
    table.rows.push_back(
        {kind, name, place, static_cast<int64_t>(both.before.calls),
         static_cast<int64_t>(both.after.calls), time_a, time_b, time_b - time_a,
         time_a > 0 ? Cell(static_cast<double>(time_b) / static_cast<double>(time_a)) : Cell()});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::abs(std::get<int64_t>(a[7])) > std::abs(std::get<int64_t>(b[7]));
  });
  KeepTop(table, options.top, global);
  if (global.format == Format::kTable) CutTexts(table, 60);
  PrintTable(table, global, "compare/1", "compare");
}

}  // namespace

void AddCompareCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<CompareCommand>();
  CLI::App* command =
      app.add_subcommand("compare", "two runs by operator and kernel at the same place");
  command->footer(
      "\nTimes are inclusive; by the step where both runs mark steps. The place is the path of "
      "operators and\nranges above. The largest difference comes first.\n\nExample:\n  telltale "
      "ingest --run old old.pt.trace.json.gz\n  telltale ingest --run new new.pt.trace.json.gz\n"
      "  telltale compare old new");
  command->add_option("A", options->before, "name of a run")->required();
  command->add_option("B", options->after, "name of a run")->required();
  command->add_option("--rank", options->rank, "only this global rank");
  AddTopOption(*command, options->top);
  command->callback([options, &global] { RunCompare(*options, global); });
}

}  // namespace telltale::cli
