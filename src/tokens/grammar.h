#pragma once

// A vocabulary ready for use: which trees and runs of siblings are tokens, and what they stand for.

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "tokens/fold.h"
#include "tokens/subtree_table.h"
#include "tokens/vocabulary.h"

namespace telltale::tokens {

// What all tokens together may stand for: some 200 MB.
constexpr uint64_t kMostExpandedEvents = uint64_t{1} << 24;
// Of a token of siblings.
constexpr size_t kMostSiblings = 256;

// What a token stands for, event by event in the order of a walk.
struct Expansion {
  std::vector<uint32_t> label;
  std::vector<uint32_t> parent;  // event of the token; kNone at its top
  std::vector<uint32_t> slot;
  size_t size() const { return label.size(); }
};

// Tokens in terms of trees.
struct TokenShape {
  TokenKind kind = TokenKind::kFallback;
  uint32_t label = kNone;       // of a label
  std::vector<uint32_t> trees;  // of a subtree: one; of siblings: their trees
};

// One after another they cover a list of siblings.
struct Piece {
  uint32_t token = kNone;  // kNone: an event whose children are written one by one
  uint32_t times = 1;
  uint32_t first = 0;  // item of the list
  uint32_t items = 1;  // with all times
};

class Grammar {
 public:
  // The shapes' trees are of `table`.
  Grammar(SubtreeTable table, std::vector<TokenShape> shapes, size_t labels);
  // Fails where definitions make no sense, or stand for more events than fit into memory.
  static Result<Grammar> Make(const Vocabulary& vocabulary);

  const SubtreeTable& table() const { return table_; }
  uint32_t TokenOfLabel(uint32_t label) const {
    return label < token_of_label_.size() ? token_of_label_[label] : kNone;
  }
  // Also of leaves: then a label's. kNone: it is no token.
  uint32_t TokenOfTree(uint32_t tree) const { return token_of_tree_[tree]; }
  // Symbols that it takes to write the tree.
  uint32_t CostOfTree(uint32_t tree) const { return cost_of_tree_[tree]; }
  // Empty for labels and fallbacks but for their own event, and until Make().
  const Expansion& ExpansionOf(uint32_t token) const { return expansions_[token]; }
  uint64_t expanded_events() const { return expanded_events_; }

  // Work space of Parse().
  struct Scratch {
    struct Found {
      uint32_t token;
      uint32_t times;  // one after another
    };
    std::vector<uint32_t> cost, run;
    std::vector<Found> found;         // runs of siblings that are tokens, the last item's first
    std::vector<size_t> first_found;  // by item
    std::vector<Piece> best;
  };
  // The least symbols for a list of siblings, of tokens below `below` only. Items of tree kNone are
  // written one by one.
  void Parse(std::span<const uint32_t> trees, std::span<const Places> places, uint32_t below,
             Scratch& scratch, std::vector<Piece>& pieces) const;
  // How a subtree or a run of siblings is said by tokens below it.
  std::vector<Item> Define(const TokenShape& shape, uint32_t below) const;

 private:
  void AddSiblings(uint32_t token, std::span<const uint32_t> trees);
  void FindCosts();

  SubtreeTable table_;
  std::vector<TokenShape> shapes_;
  std::vector<uint32_t> token_of_label_, token_of_tree_, cost_of_tree_;
  Transitions siblings_;                               // from 0 on
  std::vector<uint32_t> token_of_siblings_ = {kNone};  // by state
  std::vector<Expansion> expansions_;
  uint64_t expanded_events_ = 0;
};

}  // namespace telltale::tokens
