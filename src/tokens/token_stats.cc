#include "tokens/token_stats.h"

#include <string>

#include <zstd.h>

namespace telltale::tokens {
namespace {

double Divided(uint64_t part, uint64_t by) {
  return by == 0 ? 0 : static_cast<double>(part) / static_cast<double>(by);
}

uint64_t CompressedBytes(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 6);
  return ZSTD_isError(size) != 0 ? text.size() : size;
}

}  // namespace

double TokenStats::Ratio() const { return Divided(nodes, symbols + name_corrections); }
double TokenStats::RatioWithDictionary() const {
  return Divided(nodes, symbols + name_corrections + dictionary_symbols);
}
double TokenStats::SymbolsPerStep() const { return Divided(symbols, steps); }
double TokenStats::NodesPerStep() const { return Divided(nodes, steps); }
double TokenStats::NovelShare() const { return Divided(novel_nodes, nodes); }

uint64_t TokenStats::StructureBytes() const {
  return bytes[static_cast<size_t>(Column::kSymbols)] +
         bytes[static_cast<size_t>(Column::kTracks)] + bytes[static_cast<size_t>(Column::kNames)];
}
uint64_t TokenStats::ValueBytes() const {
  uint64_t all = 0;
  for (const uint64_t column : bytes) all += column;
  return all - StructureBytes();
}

TokenStats StatsOf(const Codec& codec, const EncodedSteps& steps) {
  TokenStats stats;
  stats.steps = steps.steps.size();
  stats.dictionary_symbols = codec.vocabulary().DictionarySymbols();
  for (const EncodedStep& step : steps.steps) {
    stats.nodes += step.nodes;
    stats.symbols += step.StructureSymbols();
    stats.spelled_labels += step.spelled_labels;
    stats.name_corrections += step.name_corrections;
    stats.novel_nodes += step.novel_nodes;
  }
  for (size_t i = 0; i < kColumns; ++i) {
    std::string column;
    for (const EncodedStep& step : steps.steps) column += step.columns[i];
    stats.bytes[i] = CompressedBytes(column);
  }
  return stats;
}

}  // namespace telltale::tokens
