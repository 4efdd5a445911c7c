#pragma once

// Trace Pair Encoding (TPE) as its authors released it: the baseline that structural tokens are
// compared with.
//
// Published, and kept:
// - A step is a string of two symbols a node, in depth-first order: its tag and its name. Of a
//   kernel's name what is before the first template argument stays, 128 characters at most.
// - The most frequent pair of neighbours becomes a token until the vocabulary (8 special tokens,
//   names, merges) has the target's size or no pair comes twice. Of equally frequent pairs the one
//   that is seen first. "x x x" counts as two pairs, and is merged from the left. More names than
//   the target are all kept, without merges.
// - Neighbours merge whatever they are in the tree: siblings, cousins, half nodes. The token has
//   parent and depth of its first symbol and the sum of the durations: of an operator and the
//   kernels below it both are counted. Individual durations and the second's parent are lost.
// - A name that training did not see is the token "unknown".
// Its rule that a pair is not merged if a token has its text already is left out: that cannot be,
// because merging the same text always takes the same way.
//
// Where we had to decide, in its favour if it makes a difference:
// - The released configuration spells four of its six tags in another way than its parser, so that
//   four special tokens are wasted; here tags are the special tokens.
// - It knows trees of five fixed levels; here a tag follows from the kind of the event, at any
//   depth, and what is neither step, operator, call nor work of a GPU is a front end's.
// - It leaves a return type, parameters of a kernel without template arguments, and a name that is
//   not mangled as they are; here they are removed from all alike.
// - An unfinished event lasts 0.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tokens/call_trees.h"

namespace telltale::bench {

enum TpeSpecial : uint32_t {
  kTpePad,
  kTpeUnknown,
  kTpeStep,
  kTpeFrontEnd,
  kTpeBackEnd,
  kTpeRuntime,
  kTpeKernel,
  kTpeDriver,
};
constexpr uint32_t kTpeSpecials = kTpeDriver + 1;

// Tokens are numbered: special ones, then names, then merges.
struct TpeVocabulary {
  std::vector<std::string> names;                     // sorted
  std::vector<std::pair<uint32_t, uint32_t>> merges;  // in the order in which they were learned
  std::unordered_map<std::string, uint32_t> name_tokens;
  std::unordered_map<uint64_t, uint32_t> pair_tokens;  // by TpePairKey of what was merged

  size_t Size() const { return kTpeSpecials + names.size() + merges.size(); }
  uint32_t FirstMerged() const { return static_cast<uint32_t>(kTpeSpecials + names.size()); }
};

constexpr uint64_t TpePairKey(uint32_t left, uint32_t right) {
  return uint64_t{left} << 32 | right;
}

// "void at::native::copy_kernel<float>(float*)", or the same mangled: "at::native::copy_kernel".
std::string TpeKernelName(std::string_view name);

// Learns from these steps. Fewer than 2^31 nodes.
TpeVocabulary TrainTpe(const tokens::CallTrees& trees, std::span<const size_t> steps, size_t size);

struct TpeToken {
  uint32_t token = 0;
  uint32_t parent = tokens::kNone;  // place in the sequence
  uint32_t depth = 0;               // of the step: 0
  int64_t duration_ns = 0;
  bool operator==(const TpeToken&) const = default;
};
std::vector<TpeToken> EncodeTpe(const TpeVocabulary& vocabulary, const tokens::CallTrees& trees,
                                size_t step);

// Of the merges that encoding these steps uses, also on the way to longer ones, and that reach over
// more than one node: how many there are, and how many cover one connected subtree wherever they
// are used. A node belongs to a token as soon as one of its two symbols does.
struct TpeStructure {
  uint64_t merged_tokens = 0;
  uint64_t connected = 0;
  bool operator==(const TpeStructure&) const = default;
};
TpeStructure StructureOfTpe(const TpeVocabulary& vocabulary, const tokens::CallTrees& trees,
                            std::span<const size_t> steps);

}  // namespace telltale::bench
