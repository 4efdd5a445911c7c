#include "cli/commands/findings.h"

#include <set>

#include "cli/output.h"
#include "cli/store_access.h"
#include "collectives/findings.h"
#include "collectives/findings_text.h"

namespace telltale::cli {
namespace {

using collectives::Finding;
using collectives::Findings;

template <typename T>
Cell CellOf(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}

Cell CellOf(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

Table TableOf(const Findings& findings) {
  Table table;
  table.columns = {{"kind", "VARCHAR"},
                   {"communicator", "VARCHAR"},
                   {"rank", "BIGINT"},
                   {"global_rank", "BIGINT"},
                   {"host", "VARCHAR"},
                   {"operation", "VARCHAR"},
                   {"first_sequence", "UBIGINT"},
                   {"last_sequence", "UBIGINT"},
                   {"ratio", "DOUBLE"},
                   {"added_us", "DOUBLE"},
                   {"confidence", "DOUBLE"},
                   {"operations", "UBIGINT"},
                   {"text", "VARCHAR"}};
  for (const Finding& finding : findings.findings) {
    const auto& where = finding.where;
    const std::string host = where.other_host.empty()
                                 ? where.host
                                 : fmt::format("{} - {}", where.host, where.other_host);
    const Cell added = finding.effect.added_ns ? Cell(*finding.effect.added_ns / 1000) : Cell();
    table.rows.push_back({std::string(KindName(finding.kind)), CellOf(where.communicator),
                          CellOf(where.rank), CellOf(where.global_rank), CellOf(host),
                          CellOf(where.operation), CellOf(finding.range.first_sequence),
                          CellOf(finding.range.last_sequence), CellOf(finding.effect.ratio), added,
                          finding.confidence, finding.operations, finding.text});
  }
  return table;
}

// For people: a sentence each, with where to look.
void PrintSentences(const Findings& findings, const GlobalOptions& global) {
  std::set<std::string> runs;
  for (const Finding& finding : findings.findings) runs.insert(finding.run);
  for (const auto& not_known : findings.not_known) runs.insert(not_known.run);
  const auto where = [&](const std::string& run) {
    return runs.size() > 1 && !run.empty() ? fmt::format("run {}: ", Visible(run)) : "";
  };
  for (const Finding& finding : findings.findings) {
    fmt::print("{}{}: {}\n", where(finding.run), KindName(finding.kind), Visible(finding.text));
    fmt::print("  confidence {:.2f}, {} operations", finding.confidence, finding.operations);
    for (size_t i = 0; i < finding.evidence.size() && i < 2; ++i) {
      const auto& row = finding.evidence[i];
      if (row.source.empty()) continue;
      const std::string line = row.position > 0 ? fmt::format(":{}", row.position) : "";
      fmt::print("{} {}{} ({})", i == 0 ? "; see" : ",", Visible(row.source), line, row.role);
    }
    fmt::print("\n");
  }
  if (findings.findings.empty()) {
    fmt::print("no findings in {} operations matched over ranks\n", findings.operations);
  }
  if (global.quiet) return;
  for (const auto& not_known : findings.not_known) {
    fmt::print(stderr, "{}not enough data ({}): {}\n", where(not_known.run), not_known.reason,
               Visible(not_known.text));
  }
}

}  // namespace

void RunFindings(const FindingsCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  if (!options.run.empty()) RequireRun(*opened.connection, options.run);
  const Findings findings = ValueOrThrow(collectives::FindCulprits(*opened.store, options.run));
  const std::string coverage = TellCoverage(*opened.connection, global, options.run);
  switch (global.format) {
    case Format::kJson:
      fmt::print("{}\n", collectives::FindingsJson(findings, coverage));
      break;
    case Format::kTable:
      PrintSentences(findings, global);
      break;
    default:
      PrintTable(TableOf(findings), global, "findings/1", "findings");
  }
  if (options.fail_on_finding && !findings.findings.empty()) {
    throw CommandFailure(fmt::format("{} findings", findings.findings.size()), kExitGate);
  }
}

}  // namespace telltale::cli
