// `telltale ranks`: who waits for whom in a job that hangs, and who holds it up.

#include <algorithm>

#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "evidence/stuck_ranks.h"

namespace telltale::cli {
namespace {

struct RanksCommand {
  std::string run;
  bool suspects = false;
  size_t top = 50;
};

std::string Listed(const std::vector<int64_t>& ranks) {
  std::string text;
  for (const int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

Cell TextCell(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

void RunRanks(const RanksCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  if (!options.run.empty()) RequireRun(*opened.connection, options.run);
  std::vector<evidence::RankState> states =
      ValueOrThrow(evidence::StuckRanks(*opened.connection, options.run));
  std::stable_sort(states.begin(), states.end(), [](const auto& a, const auto& b) {
    if (a.run != b.run) return a.run < b.run;
    return !a.reasons.empty() && b.reasons.empty();
  });
  Table table;
  table.columns = {{"run", "VARCHAR"},       {"rank", "BIGINT"},
                   {"suspect", "BOOLEAN"},   {"unfinished", "BIGINT"},
                   {"waits_for", "VARCHAR"}, {"waited_for_by", "BIGINT"},
                   {"reason", "VARCHAR"},    {"oldest_unfinished", "VARCHAR"}};
  size_t suspects = 0;
  for (const evidence::RankState& state : states) {
    suspects += state.reasons.empty() ? 0 : 1;
    if (state.dumps > 1 && !global.quiet) {
      fmt::print(stderr, "run {} has {} dumps of rank {}: what they say is mixed\n", state.run,
                 state.dumps, state.rank);
    }
    if (options.suspects && state.reasons.empty()) continue;
    std::string reasons;
    for (const std::string& reason : state.reasons)
      reasons += (reasons.empty() ? "" : "; ") + reason;
    table.rows.push_back({state.run, state.rank, !state.reasons.empty(),
                          state.has_dump ? Cell(static_cast<int64_t>(state.unfinished)) : Cell(),
                          TextCell(Listed(state.waits_for)),
                          Cell(static_cast<int64_t>(state.waited_for_by)), TextCell(reasons),
                          TextCell(state.oldest)});
  }
  if (suspects == 0 && !global.quiet) {
    fmt::print(stderr,
               "no rank stands out: where all wait in the same operation, the network or any of "
               "their GPUs may be the cause\n");
  }
  KeepTop(table, options.top, global);
  if (global.format == Format::kTable) CutTexts(table, 160);
  PrintTable(table, global, "ranks/1", "ranks");
}

}  // namespace

void AddRanksCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<RanksCommand>();
  CLI::App* command =
      app.add_subcommand("ranks", "who waits for whom in a job that hangs, and who holds it up");
  command->footer(
      "\nFrom dumps of PyTorch's NCCL flight recorder, one of each rank. A suspect has not "
      "enqueued\n"
      "what others wait for and waits for nobody itself; or has not finished what others have; or\n"
      "left no dump, or an empty one. unfinished counts its operations under way; waited_for_by "
      "the\n"
      "ranks that wait for it.\n\n"
      "Examples:\n  telltale ingest dumps/\n  telltale ranks\n  telltale ranks --suspects --format "
      "json");
  command->add_option("--run", options->run, "only this run");
  command->add_flag("--suspects", options->suspects, "suspects only");
  AddTopOption(*command, options->top);
  command->callback([options, &global] { RunRanks(*options, global); });
}

}  // namespace telltale::cli
