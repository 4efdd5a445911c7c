#include <cstdio>
#include <set>
#include <string>

#include "simulate/inference_test_run.h"

namespace telltale::simulate {
namespace {

struct Case {
  Engine engine = Engine::kVllm;
  bool chunked = true;
  uint32_t kv_blocks = 4096;
};

struct Account {
  uint64_t tokens = 0;
  uint64_t first_tokens = 0;  // of its first step
};

class Scheduling : public testing::TestWithParam<Case> {
 protected:
  InferenceOptions OptionsOf(const Folder& folder) const {
    InferenceOptions options = SmallEngine(folder / "run", GetParam().engine);
    options.chunked_prefill = GetParam().chunked;
    options.kv_blocks = GetParam().kv_blocks;
    options.max_batch = 12;
    options.max_batched_tokens = 700;
    options.requests = 80;
    options.rate_per_s = 60;
    options.output_tokens = 40;
    options.aborted_share = 0.1;
    options.spans = false;
    options.trace_from = 0.9;
    options.trace_to = 0.95;
    return options;
  }
};

TEST_P(Scheduling, EveryTokenIsComputedOnceOrAsOftenAsItWasLost) {
  const Folder folder;
  const InferenceOptions options = OptionsOf(folder);
  const InferenceSummary summary = Simulate(options);
  EXPECT_EQ(summary.preemptions > 0, GetParam().kv_blocks < 1000);
  const Document truth(Bytes(options.directory + ".truth.json"));
  std::map<std::string, Account> accounts;
  for (const auto step : simdjson::dom::array((*truth)["steps"])) {
    for (const simdjson::dom::array pair : simdjson::dom::array(step["requests"])) {
      Account& account = accounts[std::string(std::string_view(pair.at(0)))];
      const uint64_t tokens = pair.at(1);
      if (account.tokens == 0) account.first_tokens = tokens;
      account.tokens += tokens;
    }
  }
  uint64_t finished = 0;
  for (const auto request : simdjson::dom::array((*truth)["requests"])) {
    const auto prompt = static_cast<uint64_t>(IntegerOf(request, "prompt_tokens"));
    const auto output = static_cast<uint64_t>(IntegerOf(request, "output_tokens"));
    const auto recomputed = static_cast<uint64_t>(IntegerOf(request, "recomputed_tokens"));
    const Account& account = accounts[TextOf(request, "internal_id")];
    if (TextOf(request, "status") != "finished") continue;
    ++finished;
    EXPECT_EQ(account.tokens, prompt + output - 1 + recomputed);
    if (!GetParam().chunked) {
      EXPECT_EQ(account.first_tokens, prompt);
    }
    EXPECT_GT(IntegerOf(request, "first_token_ns"), IntegerOf(request, "arrival_ns"));
    EXPECT_GE(IntegerOf(request, "end_ns"), IntegerOf(request, "first_token_ns"));
  }
  EXPECT_EQ(finished, summary.finished);
  EXPECT_GT(finished, 50U);
}

TEST_P(Scheduling, StepsKeepWithinTheirLimits) {
  const Folder folder;
  const InferenceOptions options = OptionsOf(folder);
  Simulate(options);
  const Document truth(Bytes(options.directory + ".truth.json"));
  std::set<std::string> phases;
  int64_t done_ns = 0;
  for (const auto step : simdjson::dom::array((*truth)["steps"])) {
    std::set<std::string> requests;
    uint64_t tokens = 0;
    for (const simdjson::dom::array pair : simdjson::dom::array(step["requests"])) {
      requests.insert(std::string(std::string_view(pair.at(0))));
      tokens += uint64_t{pair.at(1)};
    }
    const size_t entries = simdjson::dom::array(step["requests"]).size();
    EXPECT_EQ(requests.size(), entries);
    EXPECT_GT(entries, 0U);
    EXPECT_LE(entries, options.max_batch);
    EXPECT_LE(tokens, options.max_batched_tokens);
    EXPECT_GE(IntegerOf(step, "decided_ns"), done_ns);
    EXPECT_GT(IntegerOf(step, "start_ns"), IntegerOf(step, "decided_ns"));
    EXPECT_GT(IntegerOf(step, "end_ns"), IntegerOf(step, "start_ns"));
    done_ns = IntegerOf(step, "done_ns");
    EXPECT_GT(done_ns, IntegerOf(step, "end_ns"));
    const std::string phase = TextOf(step, "phase");
    phases.insert(phase);
    if (phase == "decode") {
      EXPECT_EQ(tokens, entries);
    }
    const std::string name = TextOf(step, "name");
    if (GetParam().engine != Engine::kSglang) {
      unsigned contexts = 0;
      unsigned context_tokens = 0;
      unsigned generations = 0;
      unsigned generation_tokens = 0;
      ASSERT_EQ(std::sscanf(name.c_str(), "execute_context_%u(%u)_generation_%u(%u)", &contexts,
                            &context_tokens, &generations, &generation_tokens),
                4)
          << name;
      EXPECT_EQ(contexts + generations, entries);
      EXPECT_EQ(context_tokens + generation_tokens, tokens);
    } else {
      EXPECT_EQ(name, phase == "decode" && tokens == entries && name[5] == 'D'
                          ? fmt::format("step[DECODE bs={}]", entries)
                          : fmt::format("step[EXTEND bs={} toks={}]", entries, tokens));
    }
  }
  EXPECT_EQ(phases.count("decode"), 1U);
  EXPECT_EQ(phases.count("mixed"), GetParam().engine == Engine::kVllm ? 1U : 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Engines, Scheduling,
    testing::Values(Case{Engine::kVllm, true, 4096}, Case{Engine::kVllm, true, 90},
                    Case{Engine::kVllm, false, 4096}, Case{Engine::kVllm, false, 90},
                    Case{Engine::kVllmV0, false, 4096}, Case{Engine::kVllmV0, false, 90},
                    Case{Engine::kSglang, true, 4096}, Case{Engine::kSglang, true, 90},
                    Case{Engine::kSglang, false, 4096}));

}  // namespace
}  // namespace telltale::simulate
