#pragma once

// Numbers for trees of labels that are alike: each is a label with a list of trees, said once
// (hash-consing). Trees are recognised from below: a node starts at the state of its label, each
// child, the last one first, leads on to the next state, and the last state names the tree.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tokens/call_trees.h"
#include "tokens/transitions.h"

namespace telltale::tokens {

class SubtreeTable {
 public:
  explicit SubtreeTable(size_t labels) : states_(labels), labels_(labels) {}

  // kNone for labels that the table was not made for.
  uint32_t Start(uint32_t label) const { return label < labels_ ? label : kNone; }
  uint32_t Next(uint32_t state, uint32_t child) const { return next_.Find(state, child); }
  uint32_t TreeOf(uint32_t state) const { return states_[state].tree; }

  uint32_t NextOrAdd(uint32_t state, uint32_t child) {
    const uint32_t found = next_.Find(state, child);
    if (found != Transitions::kMissing) return found;
    const auto added = static_cast<uint32_t>(states_.size());
    next_.Add(state, child, added);
    states_.push_back({kNone, state, child});
    return added;
  }

  uint32_t TreeOrAdd(uint32_t state) {
    if (states_[state].tree != kNone) return states_[state].tree;
    const auto tree = static_cast<uint32_t>(label_.size());
    states_[state].tree = tree;
    uint64_t nodes = 1;
    uint32_t at = state;
    for (; at >= labels_; at = states_[at].before) {
      children_.push_back(states_[at].child);
      nodes += nodes_[states_[at].child];
    }
    label_.push_back(at);
    first_child_.push_back(children_.size());
    nodes_.push_back(nodes);
    return tree;
  }

  // `children` in order.
  uint32_t Add(uint32_t label, std::span<const uint32_t> children) {
    uint32_t state = label;
    for (size_t i = children.size(); i > 0; --i) state = NextOrAdd(state, children[i - 1]);
    return TreeOrAdd(state);
  }

  // Trees are numbered so that children come before their parents.
  size_t size() const { return label_.size(); }
  uint32_t Label(uint32_t tree) const { return label_[tree]; }
  uint64_t Nodes(uint32_t tree) const { return nodes_[tree]; }
  std::span<const uint32_t> Children(uint32_t tree) const {
    return std::span(children_).subspan(first_child_[tree],
                                        first_child_[tree + 1] - first_child_[tree]);
  }

 private:
  struct State {
    uint32_t tree = kNone;
    uint32_t before = kNone;  // the state and the child that lead here; none at the start
    uint32_t child = kNone;
  };
  std::vector<State> states_;  // the first are those of labels
  size_t labels_ = 0;
  Transitions next_;
  // By tree.
  std::vector<uint32_t> label_;
  std::vector<size_t> first_child_ = {0};
  std::vector<uint64_t> nodes_;
  std::vector<uint32_t> children_;
};

}  // namespace telltale::tokens
