// Every token is one connected subtree or one run of siblings, and lies in one place.

#include <gtest/gtest.h>

#include "tests/support/random_trees.h"
#include "tests/support/token_structure.h"
#include "tokens/learn.h"
#include "tokens/symbol_summary.h"
#include "tokens/token_stats.h"

namespace telltale::tokens {
namespace {

using test::FaultOfSymbols;
using test::FaultOfTokens;
using test::RandomTrees;

TEST(TokenStructure, HoldsForRandomTrees) {
  size_t subtrees = 0, siblings = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const CallTrees trees = RandomTrees(seed, 100);
    const auto codec = LearnVocabulary(trees, {seed % 2 == 0 ? size_t{100} : size_t{2000}, 1});
    ASSERT_TRUE(codec) << codec.error().message;
    EXPECT_EQ(FaultOfTokens(*codec), "");
    EXPECT_EQ(FaultOfSymbols(*codec, trees), "");
    EXPECT_EQ(FaultOfSymbols(*codec, RandomTrees(seed + 1, 100)), "") << "of other trees";
    for (const Token& token : codec->vocabulary().tokens) {
      subtrees += token.kind == TokenKind::kSubtree;
      siblings += token.kind == TokenKind::kSiblings;
    }
  }
  EXPECT_GT(subtrees, 100U);
  EXPECT_GT(siblings, 100U);
}

// A step with `layers` alike: an operator that calls, and what it launches.
CallTrees Layers(uint32_t layers) {
  CallTrees trees;
  trees.names = {"step", "aten::linear", "cudaLaunchKernel", "gemm", "aten::add"};
  trees.tracks = {
      {"thread 1", false}, {"thread 2", false}, {"GPU 0 stream 7", true}, {"GPU 0 stream 8", true}};
  trees.communicators = {"0xa", "0xb"};
  const auto add = [&](uint32_t parent, uint32_t name, EventKind kind, uint32_t track) {
    trees.parent.push_back(parent);
    trees.name.push_back(name);
    trees.track.push_back(track);
    trees.communicator.push_back(kNone);
    trees.kind.push_back(kind);
    trees.basis.push_back(ParentBasis::kNesting);
    trees.event.push_back(static_cast<int64_t>(trees.event.size()));
    trees.start_ns.push_back(static_cast<int64_t>(trees.event.size()) * 1000);
    trees.duration_ns.push_back(500);
    trees.correlation.push_back(-1);
    return static_cast<uint32_t>(trees.parent.size() - 1 - trees.first.back());
  };
  for (uint64_t step = 0; step < 2; ++step) {
    add(kNone, 0, EventKind::kRange, 0);
    for (uint32_t i = 0; i < layers; ++i) {
      const uint32_t linear = add(0, 1, EventKind::kOperator, 0);
      add(add(linear, 2, EventKind::kRuntime, 0), 3, EventKind::kKernel, 2);
      add(0, 4, EventKind::kOperator, 0);
    }
    trees.first.push_back(trees.parent.size());
    trees.number.push_back(step);
  }
  return trees;
}

// Symbols of the first step, with a vocabulary that was learned from these steps.
std::vector<Symbol> SymbolsOfFirst(const CallTrees& trees) {
  const auto codec = LearnVocabulary(trees, {256, 1});
  EXPECT_TRUE(codec);
  EXPECT_EQ(FaultOfSymbols(*codec, trees), "");
  return *SymbolsOf(*codec, EncodeSteps(*codec, trees, 1), 0);
}

TEST(TokenStructure, AStepThatComesAgainIsOneToken) {
  EXPECT_EQ(SymbolsOfFirst(Layers(32)).size(), 1U);
}

TEST(TokenStructure, PlacesPartTokens) {
  const auto of_layer = [](CallTrees& trees, uint32_t layer, uint32_t event) {
    return trees.first[0] + 1 + size_t{4} * layer + event;
  };
  // One layer's kernel on another stream, its events on another thread, or two of them in other
  // communicators: the step is no token any longer.
  CallTrees trees = Layers(8);
  trees.track[of_layer(trees, 3, 2)] = 3;
  EXPECT_GT(SymbolsOfFirst(trees).size(), 2U);
  trees = Layers(8);
  for (uint32_t event = 0; event < 4; ++event) {
    if (event != 2) trees.track[of_layer(trees, 3, event)] = 1;
  }
  EXPECT_GT(SymbolsOfFirst(trees).size(), 2U);
  trees = Layers(8);
  trees.communicator[of_layer(trees, 3, 2)] = 0;
  trees.communicator[of_layer(trees, 4, 2)] = 1;
  EXPECT_GT(SymbolsOfFirst(trees).size(), 1U);
  // In the same one it still is.
  trees.communicator[of_layer(trees, 4, 2)] = 0;
  EXPECT_EQ(SymbolsOfFirst(trees).size(), 1U);
}

TEST(TokenStructure, StatsCountWhatIsThere) {
  const CallTrees trees = Layers(16);
  const auto codec = LearnVocabulary(trees, {256, 1});
  ASSERT_TRUE(codec);
  const TokenStats stats = StatsOf(*codec, EncodeSteps(*codec, trees, 1));
  EXPECT_EQ(stats.steps, 2U);
  EXPECT_EQ(stats.nodes, 2U * 65U);
  EXPECT_EQ(stats.symbols, 2U);
  EXPECT_EQ(stats.spelled_labels, 0U);
  EXPECT_EQ(stats.name_corrections, 0U);
  EXPECT_EQ(stats.Ratio(), 65.0);
  EXPECT_EQ(stats.NovelShare(), 0.0);
  EXPECT_EQ(stats.dictionary_symbols, codec->vocabulary().DictionarySymbols());
  EXPECT_LT(stats.RatioWithDictionary(), 65.0);
  // A vocabulary of other steps: every label is spelled.
  const auto other = LearnVocabulary(RandomTrees(1, 10), {kSmallestVocabulary, 1});
  ASSERT_TRUE(other);
  const TokenStats foreign = StatsOf(*other, EncodeSteps(*other, trees, 1));
  EXPECT_EQ(foreign.nodes, 2U * 65U);
  EXPECT_EQ(foreign.spelled_labels, 2U * 65U);
  EXPECT_EQ(foreign.NovelShare(), 1.0);
}

TEST(TokenStructure, SummariesTellWhatTokensTook) {
  const CallTrees trees = Layers(4);
  const auto codec = LearnVocabulary(trees, {256, 1});
  ASSERT_TRUE(codec);
  const EncodedSteps encoded = EncodeSteps(*codec, trees, 1);
  const auto symbols = SymbolsOf(*codec, encoded, 1);
  ASSERT_TRUE(symbols);
  const auto summaries = Summarise(*codec, encoded, 1, trees, *symbols);
  ASSERT_EQ(summaries.size(), 1U);
  EXPECT_EQ(summaries[0].text, "step");
  EXPECT_EQ(summaries[0].start_ns, trees.start_ns[trees.first[1]]);
  EXPECT_EQ(summaries[0].duration_ns, 500);
  EXPECT_EQ(summaries[0].expected_ns, 500);
  EXPECT_EQ(summaries[0].gpu_ns, 4 * 500);
}

}  // namespace
}  // namespace telltale::tokens
