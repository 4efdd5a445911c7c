#include "cli/commands/tokens_output.h"

#include "base/json_text.h"
#include "cli/commands/chain.h"
#include "cli/output.h"
#include "tokens/symbol_summary.h"

namespace telltale::cli {
namespace {

using tokens::CallTrees;
using tokens::kNone;

Cell Count(uint64_t count) { return Cell(static_cast<int64_t>(count)); }
Cell OrNull(int64_t value) { return value < 0 ? Cell() : Cell(value); }

// What hangs on no call lies below the event that has no track.
evidence::UnattachedCounts CountUnattached(const CallTrees& trees) {
  evidence::UnattachedCounts counts;
  for (size_t step = 0; step < trees.Steps(); ++step) {
    const size_t first = trees.first[step];
    for (size_t node = first; node < trees.first[step + 1]; ++node) {
      const uint32_t parent = trees.parent[node];
      if (parent == kNone || trees.track[first + parent] != kNone) continue;
      ++counts[{trees.kind[node], trees.correlation[node] >= 0}];
    }
  }
  return counts;
}

void AppendNode(std::string& out, const CallTrees& trees, size_t step, size_t node) {
  const size_t first = trees.first[step];
  const uint32_t parent = trees.parent[node];
  const std::string parent_text =
      parent == kNone ? "null" : fmt::format("{}", trees.event[first + parent]);
  if (trees.track[node] == kNone) {
    out += fmt::format(
        R"({{"step":{},"id":-1,"parent":{},"kind":"unattached","name":"not attached"}})",
        trees.number[step], parent_text);
    return;
  }
  const auto number = [](int64_t value) {
    return value < 0 ? std::string("null") : fmt::format("{}", value);
  };
  out += fmt::format(R"({{"step":{},"id":{},"parent":{},"kind":"{}","name":)", trees.number[step],
                     trees.event[node], parent_text, trace::EventKindName(trees.kind[node]));
  AppendJsonString(out, trees.names[trees.name[node]]);
  out += R"(,"track":)";
  AppendJsonString(out, trees.tracks[trees.track[node]].label);
  out += fmt::format(R"(,"start_ns":{},"duration_ns":{},"correlation":{}}})", trees.start_ns[node],
                     number(trees.duration_ns[node]), number(trees.correlation[node]));
}

void PrintTreesJson(const CallTrees& trees) {
  std::string out = R"({"schema":"telltale/tokens.decode/1","nodes":[)";
  for (size_t step = 0; step < trees.Steps(); ++step) {
    for (size_t node = trees.first[step]; node < trees.first[step + 1]; ++node) {
      if (node > 0) out += ',';
      AppendNode(out, trees, step, node);
      if (out.size() < (size_t{1} << 20)) continue;
      fmt::print("{}", out);
      out.clear();
    }
  }
  fmt::print("{}],\"unattached\":[{}]}}\n", out,
             UnattachedJson(evidence::UnattachedOf(CountUnattached(trees))));
}

void AddRows(Table& table, const CallTrees& trees, size_t step) {
  const size_t first = trees.first[step];
  std::vector<int64_t> depth;
  for (size_t node = first; node < trees.first[step + 1]; ++node) {
    const uint32_t parent = trees.parent[node];
    depth.push_back(parent == kNone ? 0 : depth[parent] + 1);
    const bool is_holder = trees.track[node] == kNone;
    table.rows.push_back(
        {Count(trees.number[step]), trees.event[node],
         parent == kNone ? Cell() : Cell(trees.event[first + parent]), depth.back(),
         std::string(is_holder ? "unattached" : trace::EventKindName(trees.kind[node])),
         trees.names[trees.name[node]],
         is_holder ? Cell() : Cell(trees.tracks[trees.track[node]].label),
         is_holder ? Cell() : Cell(trees.start_ns[node]), OrNull(trees.duration_ns[node]),
         OrNull(trees.correlation[node])});
  }
}

}  // namespace

void PrintTrees(const CallTrees& trees, const GlobalOptions& global) {
  if (global.format == Format::kJson) return PrintTreesJson(trees);
  Table table;
  table.columns = {{"step", "BIGINT"},       {"id", "BIGINT"},       {"parent", "BIGINT"},
                   {"depth", "BIGINT"},      {"kind", "VARCHAR"},    {"name", "VARCHAR"},
                   {"track", "VARCHAR"},     {"start_ns", "BIGINT"}, {"duration_ns", "BIGINT"},
                   {"correlation", "BIGINT"}};
  const bool by_step = global.format == Format::kCsv;  // millions of rows need not be in memory
  for (size_t step = 0; step < trees.Steps(); ++step) {
    AddRows(table, trees, step);
    if (!by_step) continue;
    PrintCsv(table, step == 0);
    table.rows.clear();
  }
  if (by_step) return;
  if (global.format == Format::kTable) CutTexts(table, 72);
  PrintTable(table, global, "tokens.decode/1", "nodes");
}

void PrintSymbols(const tokens::Codec& codec, const tokens::EncodedSteps& steps,
                  const CallTrees& trees, size_t top, const GlobalOptions& global) {
  Table table;
  table.columns = {{"step", "BIGINT"},     {"symbol", "BIGINT"},      {"token", "BIGINT"},
                   {"kind", "VARCHAR"},    {"name", "VARCHAR"},       {"times", "BIGINT"},
                   {"parent", "BIGINT"},   {"depth", "BIGINT"},       {"events", "BIGINT"},
                   {"start_ns", "BIGINT"}, {"duration_ns", "BIGINT"}, {"expected_ns", "BIGINT"},
                   {"gpu_ns", "BIGINT"},   {"event", "BIGINT"}};
  for (size_t step = 0; step < steps.steps.size(); ++step) {
    const auto symbols = ValueOrThrow(tokens::SymbolsOf(codec, steps, step));
    const auto summaries = tokens::Summarise(codec, steps, step, trees, symbols);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const tokens::Symbol& symbol = symbols[i];
      const tokens::SymbolSummary& summary = summaries[i];
      const tokens::TokenKind kind = codec.vocabulary().tokens[symbol.token].kind;
      table.rows.push_back(
          {Count(steps.steps[step].number), Count(i), Count(symbol.token),
           std::string(tokens::TokenKindName(kind)), summary.text, Count(symbol.times),
           symbol.parent == kNone ? Cell() : Count(symbol.parent), Count(symbol.depth),
           Count(symbol.nodes), summary.start_ns, summary.duration_ns,
           summary.expected_ns ? Cell(*summary.expected_ns) : Cell(), summary.gpu_ns,
           trees.event[trees.first[step] + symbol.first_node]});
    }
  }
  KeepTop(table, top, global);
  if (global.format == Format::kTable) CutTexts(table, 60);
  PrintTable(table, global, "tokens.encode/1", "tokens");
}

void PrintStats(const tokens::TokenStats& stats, const tokens::Vocabulary& vocabulary,
                const GlobalOptions& global) {
  const auto per_step = [&](uint64_t count) {
    return static_cast<double>(count) / static_cast<double>(std::max<uint64_t>(1, stats.steps));
  };
  const auto bytes_of = [&](tokens::Column column) {
    return Count(stats.bytes[static_cast<size_t>(column)]);
  };
  const std::vector<std::pair<std::string, Cell>> figures = {
      {"steps", Count(stats.steps)},
      {"events", Count(stats.nodes)},
      {"vocabulary_size", Count(vocabulary.tokens.size())},
      {"vocabulary_labels", Count(vocabulary.labels.size())},
      {"nodes_per_step", stats.NodesPerStep()},
      {"symbols_per_step", stats.SymbolsPerStep()},
      {"spelled_labels_per_step", per_step(stats.spelled_labels)},
      {"name_corrections_per_step", per_step(stats.name_corrections)},
      {"ratio", stats.Ratio()},
      {"ratio_with_dictionary", stats.RatioWithDictionary()},
      {"dictionary_symbols", Count(stats.dictionary_symbols)},
      {"novel_share", stats.NovelShare()},
      {"structure_bytes", Count(stats.StructureBytes())},
      {"duration_bytes", bytes_of(tokens::Column::kDurations)},
      {"start_bytes", bytes_of(tokens::Column::kStarts)},
      {"id_bytes", Count(stats.bytes[static_cast<size_t>(tokens::Column::kEvents)] +
                         stats.bytes[static_cast<size_t>(tokens::Column::kCorrelations)])},
  };
  if (global.format == Format::kJson) {
    std::string out = R"({"schema":"telltale/tokens.stats/1")";
    for (const auto& [name, value] : figures) {
      out += fmt::format(R"(,"{}":{})", name, CellJson(value));
    }
    fmt::print("{}}}\n", out);
    return;
  }
  Table table;
  if (global.format == Format::kCsv) {
    table.rows.emplace_back();
    for (const auto& [name, value] : figures) {
      table.columns.push_back({name, std::holds_alternative<double>(value) ? "DOUBLE" : "BIGINT"});
      table.rows.back().push_back(value);
    }
  } else {
    table.columns = {{"figure", "VARCHAR"}, {"value", "DOUBLE"}};
    for (const auto& [name, value] : figures) table.rows.push_back({name, value});
  }
  PrintTable(table, global, "tokens.stats/1", "figures");
}

void PrintVerified(const CallTrees& trees, const std::string& difference,
                   const GlobalOptions& global) {
  if (global.format == Format::kJson) {
    fmt::print(R"({{"schema":"telltale/tokens.verify/1","lossless":{},"steps":{},"events":{}}})"
               "\n",
               difference.empty(), trees.Steps(), trees.Nodes());
    return;
  }
  Table table;
  table.columns = {{"lossless", "BOOLEAN"}, {"steps", "BIGINT"}, {"events", "BIGINT"}};
  table.rows.push_back({difference.empty(), Count(trees.Steps()), Count(trees.Nodes())});
  PrintTable(table, global, "tokens.verify/1", "verified");
}

}  // namespace telltale::cli
