// `telltale sources` and `telltale losses`: what is in the store, and what is missing.

#include <array>

#include "base/json_text.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "readers/loss_effects.h"
#include "readers/nccl_inspector/loss_kinds.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

struct LossesCommand {
  std::string run;
  std::string loss_class;
  bool detail = false;
};

std::string EffectOf(const std::string& kind) {
  for (const nccl_inspector::LossKind* known : nccl_inspector::AllLossKinds()) {
    if (kind == known->name) return known->effect;
  }
  return std::string(LossEffect(kind));
}

size_t ColumnOf(const Table& table, std::string_view name) {
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].name == name) return i;
  }
  throw std::logic_error(fmt::format("no column {}", name));
}

// Sums over sources, ranks and operations: a line for each kind in each run.
Table SumByKind(const Table& table) {
  Table sums;
  sums.columns = {{"run", "VARCHAR"},   {"class", "VARCHAR"}, {"kind", "VARCHAR"},
                  {"count", "UBIGINT"}, {"places", "BIGINT"}, {"effect", "VARCHAR"}};
  const size_t run = ColumnOf(table, "run");
  const size_t loss_class = ColumnOf(table, "class");
  const size_t kind = ColumnOf(table, "kind");
  const size_t count = ColumnOf(table, "count");
  for (const std::vector<Cell>& row : table.rows) {
    auto same = std::find_if(sums.rows.begin(), sums.rows.end(), [&](const std::vector<Cell>& sum) {
      return CellText(sum[0]) == CellText(row[run]) && CellText(sum[2]) == CellText(row[kind]);
    });
    if (same == sums.rows.end()) {
      sums.rows.push_back({row[run], row[loss_class], row[kind], uint64_t{0}, int64_t{0},
                           EffectOf(CellText(row[kind]))});
      same = sums.rows.end() - 1;
    }
    (*same)[3] = std::get<uint64_t>((*same)[3]) + std::get<uint64_t>(row[count]);
    (*same)[4] = std::get<int64_t>((*same)[4]) + 1;
  }
  return sums;
}

void RunLosses(const LossesCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const auto or_null = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
  const std::array<Cell, 2> parameters = {or_null(options.run), or_null(options.loss_class)};
  Table table =
      ValueOrThrow(opened.connection->Query(ValueOrThrow(QueryText("losses")), parameters));
  const std::string coverage = TellCoverage(*opened.connection, global, options.run);
  if (global.format != Format::kJson && !options.detail) {
    PrintTable(SumByKind(table), global, "losses/1", "losses");
    return;
  }
  const size_t kind = ColumnOf(table, "kind");
  table.columns.push_back({"effect", "VARCHAR"});
  for (std::vector<Cell>& row : table.rows) row.emplace_back(EffectOf(CellText(row[kind])));
  PrintTable(table, global, "losses/1", "losses", coverage);
}

void RunSources(const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const Table table = ValueOrThrow(opened.connection->Query(ValueOrThrow(QueryText("sources"))));
  PrintTable(table, global, "sources/1", "sources");
}

}  // namespace

void AddSourcesCommand(CLI::App& app, GlobalOptions& global) {
  CLI::App* command = app.add_subcommand("sources", "what is in the store, file by file");
  command->footer("\nExamples:\n  telltale sources\n  telltale --format csv sources > sources.csv");
  command->callback([&global] { RunSources(global); });
}

void AddLossesCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<LossesCommand>();
  CLI::App* command =
      app.add_subcommand("losses", "what is missing or odd, and what it does to answers");
  std::string kinds =
      "\nExamples:\n  telltale losses\n  telltale losses --detail --class line\n\nKinds:";
  for (const nccl_inspector::LossKind* kind : nccl_inspector::AllLossKinds()) {
    kinds += fmt::format("\n  {:<10} {:<24} {}", nccl_inspector::LossClassName(kind->loss_class),
                         kind->name, kind->effect);
  }
  command->footer(kinds);
  command->add_option("--run", options->run, "only this run");
  command->add_option("--class", options->loss_class, "line, operation or note")
      ->check(CLI::IsMember({"line", "operation", "note"}));
  command->add_flag("--detail", options->detail,
                    "every place, not the sums by kind (JSON always has it)");
  command->callback([options, &global] { RunLosses(*options, global); });
}

}  // namespace telltale::cli
