// Files of encoded steps: damage is an error, or changes values, but never more than that.

#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include "tests/support/random_trees.h"
#include "tokens/learn.h"

namespace telltale::tokens {
namespace {

using test::RandomTrees;
using test::StepFileContent;

class EncodedFiles : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    trees_ = new CallTrees(RandomTrees(11, 12));
    // Of some steps only, so that there are labels that the vocabulary does not know.
    codec_ = new Codec(*LearnVocabulary(RandomTrees(11, 5), {100, 1}));
    steps_ = new EncodedSteps(EncodeSteps(*codec_, *trees_, 1));
    content_ = StepFileContent(*EncodedFile(*steps_));
  }
  static void TearDownTestSuite() {
    delete trees_;
    delete codec_;
    delete steps_;
  }

  // All but the digest at its end, and with one again.
  static std::string Body() { return content_.substr(0, content_.size() - 8); }
  static std::string WithDigest(std::string body) {
    const uint64_t digest = XXH3_64bits(body.data(), body.size());
    for (int i = 0; i < 8; ++i) body += static_cast<char>(digest >> (8 * i));
    return body;
  }
  // What the frame would hold, decoded; nothing where that fails.
  static std::optional<CallTrees> Decoded(const std::string& content) {
    auto steps = ParseEncoded(content);
    if (!steps) return std::nullopt;
    auto trees = DecodeSteps(*codec_, *steps);
    if (!trees) return std::nullopt;
    return std::move(*trees);
  }
  static std::string FaultOf(const std::string& content) {
    const auto steps = ParseEncoded(content);
    return steps ? "" : steps.error().message;
  }
  static std::string DecodingFaultOf(const EncodedSteps& steps) {
    const auto trees = DecodeSteps(*codec_, steps);
    return trees ? "" : trees.error().message;
  }
  static std::string DamagedStep(size_t step) {
    return fmt::format("step {} is damaged", steps_->steps[step].number);
  }
  static bool Tells(const std::string& message, const std::string& what) {
    return message.find(what) != message.npos;
  }
  static void ExpectSound(const CallTrees& trees) {
    EXPECT_TRUE(CheckTrees(trees));
    ASSERT_EQ(trees.parent.size(), trees.Nodes());
    ASSERT_EQ(trees.start_ns.size(), trees.Nodes());
    for (size_t node = 0; node < trees.Nodes(); ++node) {
      ASSERT_LT(trees.name[node], trees.names.size());
      ASSERT_TRUE(trees.track[node] == kNone || trees.track[node] < trees.tracks.size());
    }
  }

  static inline CallTrees* trees_ = nullptr;
  static inline Codec* codec_ = nullptr;
  static inline EncodedSteps* steps_ = nullptr;
  static inline std::string content_;
};

TEST_F(EncodedFiles, HoldAllThatWasEncoded) {
  const auto read = ParseEncoded(content_);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->vocabulary_digest, codec_->digest());
  EXPECT_EQ(read->names, trees_->names);
  EXPECT_EQ(read->tracks, trees_->tracks);
  EXPECT_EQ(read->other_labels, steps_->other_labels);
  EXPECT_FALSE(read->other_labels.empty());
  ASSERT_EQ(read->steps.size(), steps_->steps.size());
  for (size_t i = 0; i < read->steps.size(); ++i) {
    const EncodedStep &step = read->steps[i], &written = steps_->steps[i];
    EXPECT_EQ(step.columns, written.columns);
    EXPECT_EQ(step.number, written.number);
    EXPECT_EQ(step.nodes, written.nodes);
    EXPECT_EQ(step.StructureSymbols(), written.StructureSymbols());
    EXPECT_EQ(step.name_corrections, written.name_corrections);
    EXPECT_EQ(step.novel_nodes, written.novel_nodes);
  }
  const auto decoded = Decoded(content_);
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(DifferenceOf(*trees_, decoded.value()), "");
}

TEST_F(EncodedFiles, StepsMayBeLeftOut) {
  EncodedSteps some = *steps_;
  some.steps.erase(some.steps.begin() + 1, some.steps.begin() + 5);
  const auto decoded = DecodeSteps(*codec_, some);
  ASSERT_TRUE(decoded) << decoded.error().message;
  ASSERT_EQ(decoded->Steps(), trees_->Steps() - 4);
  EXPECT_EQ(decoded->number[1], trees_->number[5]);
  for (size_t node = decoded->first[1], at = trees_->first[5]; at < trees_->Nodes(); ++at, ++node) {
    EXPECT_EQ(decoded->start_ns[node], trees_->start_ns[at]);
    EXPECT_EQ(decoded->name[node], trees_->name[at]);
  }
  some.steps.clear();
  EXPECT_EQ(DecodeSteps(*codec_, some)->Steps(), 0U);
}

TEST_F(EncodedFiles, AnotherVocabularyIsRefused) {
  const auto other = LearnVocabulary(RandomTrees(12, 5), {100, 1});
  ASSERT_TRUE(other);
  const auto decoded = DecodeSteps(*other, *steps_);
  ASSERT_FALSE(decoded);
  EXPECT_TRUE(Tells(decoded.error().message, codec_->digest())) << decoded.error().message;
  EXPECT_TRUE(Tells(decoded.error().message, other->digest())) << decoded.error().message;
  EXPECT_FALSE(SymbolsOf(*other, *steps_, 0));
}

TEST_F(EncodedFiles, OtherFilesAreNone) {
  EXPECT_TRUE(Tells(FaultOf(""), "no encoded steps"));
  EXPECT_TRUE(Tells(FaultOf("telltale stepd\n\x01"), "no encoded steps"));
  std::string newer = content_;
  newer[std::string_view("telltale steps\n").size()] = 2;
  EXPECT_TRUE(Tells(FaultOf(newer), "version 2")) << FaultOf(newer);
  EXPECT_TRUE(Tells(FaultOf(content_ + "x"), "damaged"));
}

TEST_F(EncodedFiles, CutOffAnywhereIsAnError) {
  for (size_t i = 0; i < content_.size(); ++i) {
    EXPECT_NE(FaultOf(content_.substr(0, i)), "") << "after " << i << " bytes";
  }
}

TEST_F(EncodedFiles, FlippedBitsAreAnError) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = content_;
    char& byte = damaged[random() % damaged.size()];
    byte = static_cast<char>(byte ^ (1 << random() % 8));
    ASSERT_NE(FaultOf(damaged), "");
  }
}

TEST_F(EncodedFiles, ForgedBitsAreAnErrorOrOtherValues) {
  std::mt19937_64 random(3);
  size_t decoded_all = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = Body();
    for (size_t flips = 1 + random() % 3; flips > 0; --flips) {
      char& byte = damaged[random() % damaged.size()];
      byte = static_cast<char>(byte ^ (1 << random() % 8));
    }
    const auto trees = Decoded(WithDigest(damaged));
    if (!trees) continue;
    ++decoded_all;
    ASSERT_EQ(trees->Nodes(), trees_->Nodes());
    ExpectSound(*trees);
  }
  EXPECT_GT(decoded_all, 0U);
}

TEST_F(EncodedFiles, ForgedNumbersAreAnErrorOrOtherValues) {
  // Numbers at the edges instead of some bytes, as one who wants to do harm would write them.
  constexpr std::array<uint64_t, 8> kEdges = {
      0, 1, 127, 0x7fffffff, 0xfffffffe, 0xffffffff, uint64_t{1} << 63, ~uint64_t{0}};
  std::mt19937_64 random(4);
  for (int i = 0; i < 2000; ++i) {
    std::string number;
    AppendNumber(number, kEdges[random() % kEdges.size()]);
    std::string damaged = Body();
    damaged.replace(random() % damaged.size(), random() % 3, number);
    if (const auto trees = Decoded(WithDigest(damaged))) ExpectSound(*trees);
  }
}

TEST_F(EncodedFiles, DamagedColumnsAreAnErrorOrOtherValues) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 3000; ++i) {
    EncodedSteps damaged = *steps_;
    EncodedStep& step = damaged.steps[random() % damaged.steps.size()];
    std::string& column = step.columns[random() % kColumns];
    const size_t at = column.empty() ? 0 : random() % column.size();
    switch (random() % 3) {
      case 0:
        column.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        column.erase(at, 1);
        break;
      default:
        column.replace(at, 1, 1, static_cast<char>(random() % 64));
        break;
    }
    const auto trees = DecodeSteps(*codec_, damaged);
    if (trees) ExpectSound(*trees);
  }
}

TEST_F(EncodedFiles, ColumnsMustFit) {
  for (size_t column = 0; column < kColumns; ++column) {
    EncodedSteps damaged = *steps_;
    damaged.steps[0].columns[column] += '\0';
    EXPECT_TRUE(Tells(DecodingFaultOf(damaged), DamagedStep(0))) << column;
  }
  EncodedSteps damaged = *steps_;
  ++damaged.steps[2].nodes;
  EXPECT_TRUE(Tells(DecodingFaultOf(damaged), DamagedStep(2)));
  damaged = *steps_;
  damaged.tracks.clear();
  damaged.names.clear();
  EXPECT_NE(DecodingFaultOf(damaged), "");
  damaged = *steps_;
  damaged.other_labels.clear();
  EXPECT_NE(DecodingFaultOf(damaged), "");
  for (TreeTrack& track : (damaged = *steps_).tracks) track.is_stream = !track.is_stream;
  EXPECT_NE(DecodingFaultOf(damaged), "");
}

}  // namespace
}  // namespace telltale::tokens
