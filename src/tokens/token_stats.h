#pragma once

// How short steps become as tokens.

#include <array>
#include <cstdint>

#include "tokens/encoded_steps.h"

namespace telltale::tokens {

struct TokenStats {
  uint64_t steps = 0;
  uint64_t nodes = 0;
  uint64_t symbols = 0;  // with spelled labels
  uint64_t spelled_labels = 0;
  uint64_t name_corrections = 0;
  uint64_t dictionary_symbols = 0;
  uint64_t novel_nodes = 0;
  std::array<uint64_t, kColumns> bytes = {};  // each column by itself, compressed

  // Names and structure: events by symbol, where a name that is not the expected one is a symbol.
  double Ratio() const;
  double RatioWithDictionary() const;  // with the whole vocabulary's definitions
  double SymbolsPerStep() const;
  double NodesPerStep() const;
  double NovelShare() const;  // of events written one by one, but for leaves that have a token
  uint64_t StructureBytes() const;  // tokens, tracks and names
  uint64_t ValueBytes() const;      // starts, durations, numbers of events, correlation ids
};

TokenStats StatsOf(const Codec& codec, const EncodedSteps& steps);

}  // namespace telltale::tokens
