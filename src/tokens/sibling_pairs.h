#pragma once

// Runs of siblings that come often, found as RePair finds them: the most frequent pair of
// neighbours becomes a symbol, until none comes twice. Equal neighbours are put together first,
// with their number. Pairs never join what lies in several places.

#include <cstdint>
#include <span>
#include <vector>

#include "tokens/fold.h"

namespace telltale::tokens {

// A list of siblings under one parent, by trees; kNone where a child is no tree.
struct SiblingList {
  std::vector<uint32_t> symbols;
  std::vector<Places> places;  // empty: all in the same
  uint64_t weight = 1;         // so often it counts
};

// Symbols behind those of trees.
struct PairSymbol {
  uint32_t left = kNone;
  uint32_t right = kNone;  // kNone: `left` so many times
  uint32_t times = 1;
};

// Replaces what is in `lists` by the symbols found, which are numbered from `trees` on.
std::vector<PairSymbol> FindPairs(std::vector<SiblingList>& lists, uint32_t trees, size_t most);

}  // namespace telltale::tokens
