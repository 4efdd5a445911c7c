#include "tokens/sibling_pairs.h"

#include <random>

#include <gtest/gtest.h>

namespace telltale::tokens {
namespace {

constexpr uint32_t kTrees = 100;  // symbols below are trees
constexpr size_t kAnyNumber = 1000;

Places Thread(uint32_t thread) { return {thread, kNone, kNone}; }

std::vector<uint32_t> TreesOf(uint32_t symbol, const std::vector<PairSymbol>& pairs) {
  if (symbol == kNone || symbol < kTrees) return {symbol};
  const PairSymbol& pair = pairs.at(symbol - kTrees);
  std::vector<uint32_t> trees;
  for (uint32_t i = 0; i < pair.times; ++i) {
    for (const uint32_t tree : TreesOf(pair.left, pairs)) trees.push_back(tree);
  }
  if (pair.right == kNone) return trees;
  for (const uint32_t tree : TreesOf(pair.right, pairs)) trees.push_back(tree);
  return trees;
}

TEST(SiblingPairs, JoinsTheMostFrequentNeighbours) {
  std::vector<SiblingList> lists = {{{1, 2, 3}, {}, 1}, {{4, 1, 2}, {}, 1}};
  const std::vector<PairSymbol> pairs = FindPairs(lists, kTrees, kAnyNumber);
  ASSERT_EQ(pairs.size(), 1U) << "what comes once stays as it is";
  EXPECT_EQ(pairs[0].left, 1U);
  EXPECT_EQ(pairs[0].right, 2U);
  EXPECT_EQ(pairs[0].times, 1U);
  EXPECT_EQ(lists[0].symbols, (std::vector<uint32_t>{kTrees, 3}));
  EXPECT_EQ(lists[1].symbols, (std::vector<uint32_t>{4, kTrees}));
}

TEST(SiblingPairs, CountsListsByTheirWeight) {
  std::vector<SiblingList> lists = {{{1, 2}, {}, 5}, {{2, 3}, {}, 1}};
  EXPECT_EQ(FindPairs(lists, kTrees, kAnyNumber).size(), 1U);
  EXPECT_EQ(lists[0].symbols.size(), 1U);
  EXPECT_EQ(lists[1].symbols.size(), 2U);
}

TEST(SiblingPairs, EqualNeighboursAreARun) {
  std::vector<SiblingList> lists = {{{7, 7, 7, 8, 7, 7}, {}, 1}};
  const std::vector<PairSymbol> pairs = FindPairs(lists, kTrees, kAnyNumber);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].left, 7U);
  EXPECT_EQ(pairs[0].right, kNone);
  EXPECT_EQ(pairs[0].times, 3U);
  EXPECT_EQ(pairs[1].times, 2U);
  EXPECT_EQ(lists[0].symbols, (std::vector<uint32_t>{kTrees, 8, kTrees + 1}));
}

TEST(SiblingPairs, RunsOfPairsArePutTogether) {
  std::vector<SiblingList> lists = {{{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}, {}, 1}};
  const std::vector<PairSymbol> pairs = FindPairs(lists, kTrees, kAnyNumber);
  ASSERT_EQ(lists[0].symbols.size(), 1U);
  const PairSymbol& run = pairs.at(lists[0].symbols[0] - kTrees);
  EXPECT_EQ(run.right, kNone);
  EXPECT_EQ(run.times, 5U);
  EXPECT_EQ(TreesOf(run.left, pairs), (std::vector<uint32_t>{1, 2}));
}

TEST(SiblingPairs, NeverJoinsSeveralPlaces) {
  std::vector<SiblingList> lists = {
      {{1, 2}, {Thread(0), Thread(1)}, 100},
      {{3, 3}, {Thread(0), Thread(1)}, 100},
      {{4, 5}, {Thread(kMany), Thread(kMany)}, 100},
      {{6, 7, 8}, {{0, kNone, kNone}, {kNone, 4, kNone}, {0, 5, kNone}}, 100}};
  const std::vector<PairSymbol> pairs = FindPairs(lists, kTrees, kAnyNumber);
  EXPECT_EQ(lists[0].symbols, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(lists[1].symbols, (std::vector<uint32_t>{3, 3}));
  EXPECT_EQ(lists[2].symbols, (std::vector<uint32_t>{4, 5}));
  // A thread and what it launched on a stream may be one; another stream's is not.
  ASSERT_EQ(lists[3].symbols.size(), 2U);
  EXPECT_EQ(pairs.size(), 1U);
}

TEST(SiblingPairs, NeverJoinsWhatIsNoTree) {
  std::vector<SiblingList> lists = {{{1, kNone, kNone, 2}, {}, 100}};
  EXPECT_TRUE(FindPairs(lists, kTrees, kAnyNumber).empty());
  EXPECT_EQ(lists[0].symbols, (std::vector<uint32_t>{1, kNone, kNone, 2}));
}

TEST(SiblingPairs, KeepsToItsNumber) {
  std::vector<SiblingList> lists = {{{1, 2, 3, 4, 1, 2, 3, 4, 5, 1, 2}, {}, 1}};
  EXPECT_EQ(FindPairs(lists, kTrees, 1).size(), 1U);
  EXPECT_TRUE(FindPairs(lists = {}, kTrees, kAnyNumber).empty());
  lists = {{{}, {}, 1}, {{1}, {}, 1}, {{}, {}, 1}};
  EXPECT_TRUE(FindPairs(lists, kTrees, kAnyNumber).empty());
  EXPECT_EQ(lists[1].symbols, std::vector<uint32_t>{1});
}

TEST(SiblingPairs, ListsStayWhatTheyWere) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<SiblingList> lists(1 + random() % 6);
    for (SiblingList& list : lists) {
      list.weight = 1 + random() % 3;
      const bool has_places = random() % 2 == 0;
      for (size_t i = random() % 40; i > 0; --i) {
        list.symbols.push_back(random() % 15 == 0 ? kNone : static_cast<uint32_t>(random() % 4));
        if (has_places) list.places.push_back(Thread(static_cast<uint32_t>(random() % 8 == 0)));
      }
    }
    const std::vector<SiblingList> before = lists;
    const std::vector<PairSymbol> pairs = FindPairs(lists, kTrees, kAnyNumber);
    for (size_t i = 0; i < lists.size(); ++i) {
      std::vector<uint32_t> trees;
      for (const uint32_t symbol : lists[i].symbols) {
        const std::vector<uint32_t> part = TreesOf(symbol, pairs);
        Places places;
        for (size_t k = 0; k < part.size() && !before[i].places.empty(); ++k) {
          places.Join(before[i].places.at(trees.size() + k));
        }
        EXPECT_FALSE(places.AreMany());
        trees.insert(trees.end(), part.begin(), part.end());
      }
      EXPECT_EQ(trees, before[i].symbols);
    }
  }
}

}  // namespace
}  // namespace telltale::tokens
