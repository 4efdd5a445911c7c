#pragma once

// Which of many candidates become tokens: those that save the most symbols (learn.h).

#include <cstddef>
#include <cstdint>
#include <vector>

namespace telltale::tokens {

// Symbols that stand for each other: trees, and behind them pairs and runs. A symbol is written as
// its label, if it is a tree, and what it consists of.
struct SymbolGraph {
  // By symbol.
  std::vector<uint32_t> label;      // kNone: of a pair or run
  std::vector<uint32_t> times;      // of a run: so often its only part; else 1
  std::vector<size_t> first = {0};  // where its parts are
  std::vector<bool> may_be_token;   // false also for leaves, which are their label
  std::vector<uint32_t> parts;
  std::vector<uint32_t> order;   // symbols, parts before what consists of them
  std::vector<double> exposure;  // so often the steps have it outside of any other symbol
  // By label: events of the steps outside of any symbol.
  std::vector<double> label_exposure;

  size_t size() const { return label.size(); }
};

struct TokenChoice {
  std::vector<uint32_t> labels, symbols;
};
// At most `most` of both together.
TokenChoice ChooseTokens(const SymbolGraph& graph, size_t most);

}  // namespace telltale::tokens
