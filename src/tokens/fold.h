#pragma once

// What follows from below for each node of a step: how many nodes it has, which tree it is, and
// whether a token may hold it. No token crosses a thread, a stream or a communicator: it holds
// nodes of one thread at most, with the GPU work that they launched, of one stream at most.

#include <cstdint>
#include <type_traits>
#include <vector>

#include "tokens/label.h"
#include "tokens/subtree_table.h"

namespace telltale::tokens {

constexpr uint32_t kMany = kNone - 1;

// Where a node and all below it lie: kNone nowhere, kMany in several.
struct Places {
  uint32_t thread = kNone;
  uint32_t stream = kNone;
  uint32_t communicator = kNone;

  bool AreMany() const { return thread == kMany || stream == kMany || communicator == kMany; }
  void Join(const Places& other) {
    JoinOne(thread, other.thread);
    JoinOne(stream, other.stream);
    JoinOne(communicator, other.communicator);
  }
  bool operator==(const Places&) const = default;

 private:
  static void JoinOne(uint32_t& one, uint32_t other) {
    if (one == other || other == kNone) return;
    one = one == kNone ? other : kMany;
  }
};

// By node of a step, counted from its first.
struct FoldedStep {
  std::vector<uint32_t> nodes;  // with itself
  std::vector<uint32_t> tree;   // kNone: not in the table, or in several places
  std::vector<Places> places;
  std::vector<uint32_t> state;  // work space

  size_t size() const { return nodes.size(); }
};

// `labels`: of all nodes of `trees`. `table` is a SubtreeTable, which is added to if it is not
// const.
template <typename Table>
void FoldStep(const CallTrees& trees, const std::vector<uint32_t>& labels, size_t step,
              Table& table, FoldedStep& folded) {
  const size_t first = trees.first[step];
  const size_t count = trees.first[step + 1] - first;
  folded.nodes.assign(count, 1);
  folded.tree.resize(count);
  folded.places.resize(count);
  folded.state.resize(count);
  for (size_t i = 0; i < count; ++i) {
    folded.state[i] = table.Start(labels[first + i]);
    const uint32_t track = trees.track[first + i];
    const bool is_stream = trees.IsStream(track);
    folded.places[i] = {is_stream ? kNone : track, is_stream ? track : kNone,
                        trees.communicator[first + i]};
  }
  for (size_t i = count; i > 0;) {
    --i;
    uint32_t tree = kNone;
    if (folded.state[i] != kNone && !folded.places[i].AreMany()) {
      if constexpr (std::is_const_v<Table>) {
        tree = table.TreeOf(folded.state[i]);
      } else {
        tree = table.TreeOrAdd(folded.state[i]);
      }
    }
    folded.tree[i] = tree;
    const uint32_t parent = trees.parent[first + i];
    if (parent == kNone) continue;
    folded.nodes[parent] += folded.nodes[i];
    folded.places[parent].Join(folded.places[i]);
    uint32_t& state = folded.state[parent];
    if (state == kNone) continue;
    if constexpr (std::is_const_v<Table>) {
      state = tree == kNone ? kNone : table.Next(state, tree);
    } else {
      state = tree == kNone ? kNone : table.NextOrAdd(state, tree);
    }
  }
}

}  // namespace telltale::tokens
