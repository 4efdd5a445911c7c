// Structural tokens of real profiles: nothing is lost, whichever profile the vocabulary is from;
// and chains are as short as they are meant to be.

#include <filesystem>

#include "evidence/chain.h"
#include "tests/program.h"
#include "tests/support/random_trees.h"
#include "tests/support/token_structure.h"
#include "tests/support/trace_support.h"
#include "tokens/learn.h"
#include "tokens/load_call_trees.h"
#include "tokens/token_stats.h"

namespace telltale::tests {
namespace {

using tokens::CallTrees;
using tokens::Codec;

struct Sample {
  std::string name;  // of its file, without endings
  std::string store;
  CallTrees trees;
};

class TokenSamples : public testing::Test {
 protected:
  // All profiles that mark steps, each in a store of its own.
  static void SetUpTestSuite() {
    folder_ = new Folder;
    std::vector<std::string> paths = test::TraceSampleFiles("kineto_", ".json.gz");
    for (const std::string& path : test::TraceSampleFiles("nsys_", ".sqlite")) {
      paths.push_back(path);
    }
    for (const std::string& path : paths) {
      Sample sample;
      sample.name = std::filesystem::path(path).filename().string();
      sample.name = sample.name.substr(0, sample.name.find(".json"));
      sample.store = *folder_ / (sample.name + ".duckdb");
      const Outcome ingested =
          Telltale({"--quiet", "--store", sample.store, "ingest", path, "--threads", "1"});
      EXPECT_EQ(ingested.code, 0) << ingested.err;
      const auto store = Store::Open(sample.store, {});
      ASSERT_TRUE(store) << store.error().message;
      const auto connection = (*store)->Connect();
      ASSERT_TRUE(connection);
      auto trees = tokens::LoadCallTrees(**connection, {}, std::nullopt);
      if (!trees) continue;
      sample.trees = std::move(*trees);
      samples_.push_back(std::move(sample));
    }
  }
  static void TearDownTestSuite() {
    samples_.clear();
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (test::TraceSamples().empty()) {
      GTEST_SKIP() << "no samples ($TELLTALE_SAMPLES or ../shared/samples)";
    }
    EXPECT_GE(samples_.size(), 5U);
  }
  static Codec Learned(const Sample& sample, size_t size) {
    return *tokens::LearnVocabulary(sample.trees, {size, 1});
  }

  static inline Folder* folder_ = nullptr;
  static inline std::vector<Sample> samples_;
};

TEST_F(TokenSamples, ComeBackWithEveryVocabulary) {
  for (const Sample& learned : samples_) {
    const Codec codec = Learned(learned, 256);
    EXPECT_EQ(test::FaultOfTokens(codec), "") << learned.name;
    for (const Sample& sample : samples_) {
      SCOPED_TRACE(sample.name + " with the vocabulary of " + learned.name);
      ASSERT_TRUE(CheckTrees(sample.trees));
      EXPECT_EQ(test::LostByRoundTrip(codec, sample.trees), "");
      EXPECT_EQ(test::FaultOfSymbols(codec, sample.trees), "");
    }
  }
}

TEST_F(TokenSamples, AreShort) {
  size_t found = 0;
  for (const Sample& sample : samples_) {
    if (sample.name != "kineto_b200_vllm_tp8_rank0_eager" &&
        sample.name != "kineto_a100_ddp_rank0of2_nccl_args" &&
        sample.name != "kineto_h100_qwen05b") {
      continue;
    }
    ++found;
    const Codec codec = Learned(sample, 4096);
    EXPECT_EQ(test::LostByRoundTrip(codec, sample.trees), "") << sample.name;
    EXPECT_EQ(test::FaultOfTokens(codec), "") << sample.name;
    const tokens::TokenStats stats = StatsOf(codec, EncodeSteps(codec, sample.trees, 1));
    EXPECT_GE(stats.RatioWithDictionary(), 15.0) << sample.name;
  }
  EXPECT_EQ(found, 3U);
}

// As JSON, whatever it is.
std::string TextOf(simdjson::dom::element node, const char* key) {
  simdjson::dom::element value;
  return node[key].get(value) == simdjson::SUCCESS ? simdjson::minify(value) : "missing";
}

TEST_F(TokenSamples, AreDecodedAsChainListsThem) {
  for (const Sample& sample : samples_) {
    SCOPED_TRACE(sample.name);
    const std::string vocabulary = *folder_ / "vocab.json";
    const std::string file = *folder_ / "steps.tokens";
    const auto run = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), {"--quiet", "--json", "--store", sample.store});
      const Outcome outcome = Telltale(arguments);
      EXPECT_EQ(outcome.code, 0) << outcome.err;
      return outcome.out;
    };
    run({"tokens", "train", "--force", "--out", vocabulary});
    run({"tokens", "encode", "--vocab", vocabulary, "--out", file});
    EXPECT_NE(run({"tokens", "verify"}).find(R"("lossless":true)"), std::string::npos);
    for (size_t step = 0; step < sample.trees.Steps(); ++step) {
      SCOPED_TRACE(step);
      const std::string number = std::to_string(step);
      const Json decoded(run({"tokens", "decode", file, "--vocab", vocabulary, "--steps", number}));
      const Json chain(run({"chain", "--step", number}));
      ASSERT_TRUE(decoded.valid() && chain.valid());
      ASSERT_EQ(decoded.Size("/nodes"), chain.Size("/nodes"));
      auto expected = chain.root()["nodes"].get_array().value().begin();
      for (const simdjson::dom::element node : decoded.root()["nodes"]) {
        for (const char* key :
             {"id", "parent", "kind", "name", "track", "start_ns", "duration_ns", "correlation"}) {
          ASSERT_EQ(TextOf(node, key), TextOf(*expected, key)) << key;
        }
        ++expected;
      }
      EXPECT_EQ(TextOf(decoded.root(), "unattached"), TextOf(chain.root(), "unattached"));
    }
  }
}

}  // namespace
}  // namespace telltale::tests
