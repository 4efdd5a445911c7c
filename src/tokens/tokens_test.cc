// What must hold of structural tokens for any call chains: nothing is lost, with any vocabulary,
// and the same comes out for the same input.

#include <gtest/gtest.h>

#include "tests/support/random_trees.h"
#include "tokens/learn.h"

namespace telltale::tokens {
namespace {

using test::LostByRoundTrip;
using test::RandomTrees;

constexpr uint64_t kGroups = 100;
constexpr size_t kStepsOfGroup = 100;

Codec Learn(const CallTrees& trees, size_t size, unsigned threads = 1) {
  auto codec = LearnVocabulary(trees, {size, threads});
  if (!codec) {
    ADD_FAILURE() << codec.error().message;
    return *Codec::Make({{}, std::vector<Token>(kFallbacks), {}, 0, 0});
  }
  return std::move(*codec);
}

TEST(Tokens, TenThousandRandomTreesComeBack) {
  constexpr std::array<size_t, 3> kSizes = {kSmallestVocabulary, 256, 4096};
  Codec other = Learn(RandomTrees(kGroups, kStepsOfGroup), 256);
  for (uint64_t seed = 0; seed < kGroups; ++seed) {
    SCOPED_TRACE(seed);
    const CallTrees trees = RandomTrees(seed, kStepsOfGroup);
    ASSERT_TRUE(CheckTrees(trees)) << CheckTrees(trees).error().message;
    EXPECT_EQ(LostByRoundTrip(other, trees), "") << "with the vocabulary of other trees";
    Codec codec = Learn(trees, kSizes[seed % kSizes.size()]);
    EXPECT_EQ(LostByRoundTrip(codec, trees), "");
    if (testing::Test::HasFailure()) return;
    other = std::move(codec);
  }
}

TEST(Tokens, ThreadsMakeNoDifference) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const CallTrees trees = RandomTrees(seed, kStepsOfGroup);
    const Codec one = Learn(trees, 256, 1);
    const Codec two = Learn(trees, 256, 2);
    EXPECT_EQ(VocabularyText(one.vocabulary()), VocabularyText(two.vocabulary()));
    const auto by_one = EncodedFile(EncodeSteps(one, trees, 1));
    const auto by_two = EncodedFile(EncodeSteps(one, trees, 2));
    ASSERT_TRUE(by_one && by_two);
    EXPECT_EQ(*by_one, *by_two) << seed;
  }
}

TEST(Tokens, LearningIsDeterministic) {
  for (const size_t size : {kSmallestVocabulary, size_t{300}}) {
    const std::string text = VocabularyText(Learn(RandomTrees(5, 200), size).vocabulary());
    EXPECT_EQ(VocabularyText(Learn(RandomTrees(5, 200), size).vocabulary()), text);
    EXPECT_NE(VocabularyText(Learn(RandomTrees(6, 200), size).vocabulary()), text);
  }
}

TEST(Tokens, VocabularyIsTheSameAfterItsFile) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const CallTrees trees = RandomTrees(seed, kStepsOfGroup);
    const Codec codec = Learn(trees, 400);
    EXPECT_LE(codec.vocabulary().tokens.size(), 400U);
    auto vocabulary = ParseVocabulary(VocabularyText(codec.vocabulary()));
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    EXPECT_EQ(vocabulary->labels, codec.vocabulary().labels);
    EXPECT_EQ(vocabulary->tokens, codec.vocabulary().tokens);
    EXPECT_EQ(vocabulary->slots, codec.vocabulary().slots);
    EXPECT_EQ(vocabulary->nodes, trees.Nodes());
    const auto read = Codec::Make(std::move(*vocabulary));
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->digest(), codec.digest());
    // Encoded by one, decoded by the other.
    const auto decoded = DecodeSteps(*read, EncodeSteps(codec, trees, 1));
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_EQ(DifferenceOf(trees, *decoded), "");
  }
}

TEST(Tokens, DeepAndWideStepsComeBack) {
  for (const bool is_deep : {true, false}) {
    CallTrees trees;
    trees.names = {"step", "even", "odd"};
    trees.tracks = {{"thread 1", false}};
    for (uint64_t step = 0; step < 2; ++step) {
      constexpr uint32_t kEvents = 4'001;
      for (uint32_t i = 0; i < kEvents; ++i) {
        trees.parent.push_back(i == 0 ? kNone : is_deep ? i - 1 : 0);
        trees.name.push_back(i == 0 ? 0 : 1 + i % 2);
        trees.track.push_back(0);
        trees.communicator.push_back(kNone);
        trees.kind.push_back(EventKind::kOperator);
        trees.basis.push_back(ParentBasis::kNesting);
        trees.event.push_back(i);
        trees.start_ns.push_back(i);
        trees.duration_ns.push_back(kEvents - i);
        trees.correlation.push_back(-1);
      }
      trees.first.push_back(trees.Nodes() + kEvents);
      trees.number.push_back(step);
    }
    const Codec codec = Learn(trees, 4096);
    EXPECT_EQ(LostByRoundTrip(codec, trees), "") << (is_deep ? "deep" : "wide");
  }
}

TEST(Tokens, NamesNeedNotBeUtf8) {
  CallTrees trees = RandomTrees(2, 5);
  trees.names.assign(trees.names.size(), "same");
  // They look the same in a vocabulary, which is JSON.
  trees.names[0] = "\xff";
  trees.names[1] = "\xfe";
  for (size_t node = 0; node < trees.Nodes(); ++node) {
    trees.name[node] = node % 2;
    trees.kind[node] = EventKind::kOperator;
    trees.basis[node] = ParentBasis::kNesting;
  }
  const Codec codec = Learn(trees, 100);
  EXPECT_EQ(LostByRoundTrip(codec, trees), "");
}

TEST(Tokens, DifferencesAreNamed) {
  const CallTrees trees = RandomTrees(1, 20);
  CallTrees other = trees;
  ++other.duration_ns[5];
  EXPECT_EQ(DifferenceOf(trees, other), "the duration of event 5");
  other = trees;
  ++other.number[3];
  EXPECT_EQ(DifferenceOf(trees, other), "steps have other events");
  other = trees;
  other.names[0] += 'x';
  EXPECT_EQ(DifferenceOf(trees, other), "names");
  other = trees;
  other.communicator.assign(other.communicator.size(), kNone);
  EXPECT_EQ(DifferenceOf(trees, other), "");
}

TEST(Tokens, NodesMustFollowTheirParents) {
  CallTrees trees;
  trees.names = {"a"};
  for (const uint32_t parent : {kNone, 0U, 1U, 0U}) {
    trees.parent.push_back(parent);
  }
  trees.first = {0, 4};
  trees.number = {0};
  EXPECT_TRUE(CheckTrees(trees));
  trees.parent[3] = 2;  // what is below the last node
  EXPECT_TRUE(CheckTrees(trees));
  for (const auto& [node, parent] : std::vector<std::pair<size_t, uint32_t>>{
           {0, 0}, {1, kNone}, {1, 1}, {3, 3}, {2, 3}, {1, 17}}) {
    CallTrees broken = trees;
    broken.parent[node] = parent;
    EXPECT_FALSE(CheckTrees(broken)) << node << " below " << parent;
  }
  // A subtree that was left is not gone back to.
  trees.parent = {kNone, 0, 0, 1};
  EXPECT_FALSE(CheckTrees(trees));
  trees.first = {0, 0, 4};
  trees.number = {0, 1};
  EXPECT_FALSE(CheckTrees(trees)) << "a step without events";
}

TEST(Tokens, LearningSaysWhatIsWrong) {
  EXPECT_FALSE(LearnVocabulary({}, {}));
  const CallTrees trees = RandomTrees(1, 1);
  EXPECT_FALSE(LearnVocabulary(trees, {kSmallestVocabulary - 1, 1}));
  EXPECT_FALSE(LearnVocabulary(trees, {kLargestVocabulary + 1, 1}));
  EXPECT_TRUE(LearnVocabulary(trees, {kLargestVocabulary, 1}));
}

}  // namespace
}  // namespace telltale::tokens
