#include "collectives/coverage.h"

#include <array>
#include <cmath>
#include <map>

#include "base/text.h"
#include "store/query.h"

namespace telltale::collectives {
namespace {

double Number(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&cell)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<double>(&cell)) return *value;
  return 0;
}

// Never 100 % while something is missing, and never 0 % while something is there.
std::string Percent(double part) {
  double percent = 100 * part;
  if (percent > 99 && percent < 100) percent = std::min(percent, 99.9);
  if (percent > 0 && percent < 1) percent = std::max(percent, 0.1);
  const bool whole = percent == std::floor(percent) || (percent >= 1 && percent <= 99);
  return fmt::format("{:.{}f} %", percent, whole ? 0 : 1);
}

}  // namespace

Result<std::vector<std::string>> CoverageLines(Connection& connection, const std::string& run) {
  // Mostly nothing is missing, and then there is nothing to sum up.
  TELLTALE_ASSIGN(const int64_t losses,
                  connection.QueryInteger(
                      "SELECT count(*) FROM ingest_loss WHERE class <> 'note' AND kind NOT IN "
                      "('blank_line', 'sequence_gap_filtered') OR kind = 'empty_file'"));
  if (losses == 0) return std::vector<std::string>();
  TELLTALE_ASSIGN(const std::string sql, QueryText("collectives/coverage"));
  const std::array<Cell, 1> parameters = {run.empty() ? Cell() : Cell(run)};
  TELLTALE_ASSIGN(const Table table, connection.Query(sql, parameters));
  std::vector<std::string> lines;
  for (const std::vector<Cell>& row : table.rows) {
    std::map<std::string, double> value;
    for (size_t i = 1; i < row.size(); ++i) value[table.columns[i].name] = Number(row[i]);
    std::string causes;
    const auto add = [&](double count, const std::string& text) {
      if (count <= 0) return;
      causes += (causes.empty() ? "" : "; ") + text;
    };
    const auto count = [&](const char* name) {
      return CountText(static_cast<uint64_t>(value[name]));
    };
    const auto plural = [&](const char* name, const char* word) {
      return fmt::format("{} {}{}", count(name), word, value[name] == 1 ? "" : "s");
    };
    add(value["ring_overwrite"],
        fmt::format("ring overwrote {} on {}", plural("ring_overwrite", "operation"),
                    plural("ring_overwrite_ranks", "rank")));
    add(value["sampled"],
        fmt::format("the producer (NCCL before 2.30) sampled and left out {} on {}",
                    plural("sampled", "operation"), plural("sampled_ranks", "rank")));
    add(value["gaps_lost"],
        fmt::format("{} missing on {} but recorded by other ranks",
                    plural("gaps_lost", "operation"), plural("gaps_lost_ranks", "rank")));
    add(value["last_interval"],
        fmt::format("the last {} of {} not written", plural("last_interval", "operation"),
                    plural("last_interval_ranks", "rank")));
    add(value["missing_ranks"],
        fmt::format("no file of {} (about {} records)",
                    plural("missing_ranks", "communicator rank"), count("missing_rank_records")));
    add(value["lines_lost"], fmt::format("{} could not be read", plural("lines_lost", "line")));
    add(value["empty_files"], plural("empty_files", "empty file"));
    if (causes.empty()) continue;
    const double coverage = value["coverage"];
    lines.push_back(coverage >= 1 ? fmt::format("run {}: {}", CellText(row[0]), causes)
                                  : fmt::format("run {}: coverage {}: {}", CellText(row[0]),
                                                Percent(coverage), causes));
  }
  return lines;
}

}  // namespace telltale::collectives
