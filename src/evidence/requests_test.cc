// Steps and requests: names, ids, and the relation by time.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "evidence/request_ids.h"
#include "evidence/step_batch.h"
#include "evidence/step_requests.h"
#include "evidence/watchdog.h"

namespace telltale::evidence {
namespace {

using Strings = std::vector<std::string>;
using Ranks = std::vector<int64_t>;

std::string BatchText(std::string_view name) {
  const StepBatch batch = BatchOf(name);
  const auto text = [](std::optional<int64_t> number) {
    return number ? std::to_string(*number) : "-";
  };
  return fmt::format("{} {} {}: {}({}) {}({})", batch.engine, batch.phase, text(batch.number),
                     text(batch.context_requests), text(batch.context_tokens),
                     text(batch.generation_requests), text(batch.generation_tokens));
}

TEST(StepBatch, Names) {
  EXPECT_EQ(BatchText("execute_context_1(888_788544)_generation_0(0)"),
            "vllm prefill -: 1(888) 0(0)");
  EXPECT_EQ(BatchText("execute_context_2(70)_generation_31(31)"), "vllm mixed -: 2(70) 31(31)");
  EXPECT_EQ(BatchText("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq1sk9)"),
            "vllm decode -: 0(0) 32(-)");
  EXPECT_EQ(BatchText("step[DECODE bs=32]"), "sglang decode -: 0(0) 32(32)");
  EXPECT_EQ(BatchText("step[EXTEND bs=15 toks=15360]"), "sglang prefill -: 15(15360) 0(0)");
  EXPECT_EQ(BatchText("step[MIXED EXTEND bs=3]"), "sglang  -: -(-) -(-)");
  EXPECT_EQ(BatchText("ProfilerStep#551"), "pytorch train 551: -(-) -(-)");
}

TEST(StepBatch, Captures) {
  const std::vector<NamedRequest> requests =
      RequestsOfCapture("telltale:step requests=cmpl-1-0-8f3a:12,a:b:1,:3,x:,y");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].id, "cmpl-1-0-8f3a");
  EXPECT_EQ(requests[0].tokens, 12);
  EXPECT_EQ(requests[1].id, "a:b");
  EXPECT_TRUE(RequestsOfCapture("telltale:step requests=").empty());
  EXPECT_TRUE(RequestsOfCapture("step").empty());
}

Strings Found(const RequestIds& ids, std::string_view id) {
  Strings names;
  for (const uint32_t number : ids.Find(id)) names.push_back(ids.ids()[number]);
  return names;
}

TEST(RequestIds, EnginesAddParts) {
  RequestIds ids;
  for (const char* id : {"cmpl-8001a336c290d04c", "chatcmpl-77aa", "eval-1", "eval-12", "eval-1-7"})
    ids.Add(id);
  EXPECT_EQ(Found(ids, "cmpl-8001a336c290d04c-0-b958a13d"), Strings{"cmpl-8001a336c290d04c"});
  EXPECT_EQ(Found(ids, "cmpl-8001a336c290d04c"), Strings{"cmpl-8001a336c290d04c"});
  EXPECT_EQ(Found(ids, "2_chatcmpl-77aa"), Strings{"chatcmpl-77aa"});
  EXPECT_EQ(Found(ids, "eval-12-b958a13d"), Strings{"eval-12"});
  // It may be prompt 7 of eval-1, or the request that a client called so.
  EXPECT_EQ(Found(ids, "eval-1-7"), (Strings{"eval-1-7", "eval-1"}));
  EXPECT_EQ(Found(ids, "eval-1x"), Strings{});
  EXPECT_EQ(Found(ids, "eval-1-not-hex"), Strings{});
  EXPECT_EQ(Found(ids, ""), Strings{});
}

EngineStep StepAt(int64_t start_ns, int64_t context, int64_t generation) {
  EngineStep step;
  step.start_ns = start_ns;
  step.duration_ns = 10;
  step.batch.context_requests = context;
  step.batch.context_tokens = 100 * context;
  step.batch.generation_requests = generation;
  step.batch.generation_tokens = generation;
  return step;
}

RequestWindow Between(int64_t from_ns, int64_t first_token_ns, int64_t to_ns) {
  RequestWindow window;
  window.active = {from_ns, to_ns};
  window.prefill = {from_ns, first_token_ns};
  window.generation = {first_token_ns, to_ns};
  window.certain = {first_token_ns, to_ns};
  return window;
}

Strings PairsOf(const std::vector<EngineStep>& steps, const std::vector<RequestWindow>& requests,
                const RelateOptions& options = {}) {
  Strings pairs;
  for (const StepRequest& pair : RelateByTime(steps, requests, options).pairs) {
    pairs.push_back(fmt::format("{}:{} {} {:.3g}", pair.step, pair.request,
                                RelationBasisName(pair.basis), pair.share));
  }
  return pairs;
}

TEST(StepRequests, AsManyAsTheStepHadAreExact) {
  EXPECT_EQ(PairsOf({StepAt(100, 1, 0), StepAt(200, 1, 1), StepAt(300, 0, 2)},
                    {Between(90, 150, 400), Between(190, 250, 400)}),
            (Strings{"0:0 exact 1", "1:0 exact 0.0099", "1:1 exact 0.99", "2:0 exact 0.5",
                     "2:1 exact 0.5"}));
}

TEST(StepRequests, MoreThanTheStepHadAreAWindow) {
  EXPECT_EQ(PairsOf({StepAt(100, 1, 0)}, {Between(90, 150, 400), Between(95, 150, 400)}),
            (Strings{"0:0 window 0.5", "0:1 window 0.5"}));
  // Clocks that may be off let more requests in.
  RelateOptions off;
  off.error_ns = 50;
  EXPECT_EQ(PairsOf({StepAt(100, 0, 1)}, {Between(10, 20, 400), Between(140, 145, 400)}),
            Strings{"0:0 exact 1"});
  EXPECT_EQ(
      PairsOf({StepAt(100, 0, 1)}, {Between(10, 20, 400), Between(140, 145, 400)}, off).size(), 2U);
}

TEST(StepRequests, UnknownRequestsMakeOnlyCertainOnesExact) {
  // Step 1 had two requests, but one is known: another may be in step 0 too, in place of one that
  // is there only by time.
  RequestWindow loose = Between(10, 20, 400);
  loose.certain = {1, 0};
  EXPECT_EQ(PairsOf({StepAt(100, 0, 1), StepAt(500, 0, 1)}, {loose}), (Strings{"0:0 window 1"}));
  EXPECT_EQ(PairsOf({StepAt(100, 0, 1), StepAt(500, 0, 1)}, {Between(10, 20, 400)}),
            (Strings{"0:0 exact 1"}));
}

TEST(StepRequests, WithoutPreemptionThoseAtWorkWereInTheStep) {
  // Three may have been in the step, but two were at work for certain, and it had two.
  RequestWindow loose = Between(10, 20, 400);
  loose.certain = {1, 0};
  const std::vector<RequestWindow> requests = {Between(10, 20, 400), loose, Between(10, 20, 400)};
  EXPECT_EQ(PairsOf({StepAt(100, 0, 2)}, requests).size(), 3U);
  RelateOptions options;
  options.may_preempt = false;
  EXPECT_EQ(PairsOf({StepAt(100, 0, 2)}, requests, options),
            (Strings{"0:0 exact 0.5", "0:2 exact 0.5"}));
  // A step that only computes prompts may leave all out that generate.
  EXPECT_EQ(PairsOf({StepAt(100, 1, 0)}, requests, options), Strings{});
  EXPECT_EQ(PairsOf({StepAt(15, 1, 0)}, requests, options).size(), 3U);
}

TEST(StepRequests, SequencesOfARequestEndByThemselves) {
  RequestWindow two = Between(10, 20, 400);
  two.sequences = 2;
  const RequestWindow one = Between(10, 20, 400);
  // Both sequences of the first, or one and the second request.
  EXPECT_EQ(PairsOf({StepAt(100, 0, 2)}, {two, one}).front().substr(0, 10), "0:0 window");
  EXPECT_EQ(PairsOf({StepAt(100, 0, 3)}, {two, one}).size(), 2U);
  EXPECT_EQ(PairsOf({StepAt(100, 0, 3)}, {two, one}).front().substr(0, 9), "0:0 exact");
}

TEST(StepRequests, NothingIsExactWhereTimesContradict) {
  RelateOptions options;
  options.may_preempt = false;
  // Two were at work for certain, but the second step had one.
  const std::vector<RequestWindow> requests = {Between(10, 20, 400), Between(10, 20, 400)};
  EXPECT_EQ(PairsOf({StepAt(100, 0, 2), StepAt(200, 0, 1)}, requests, options),
            (Strings{"0:0 window 1", "0:1 window 1", "1:0 window 0.5", "1:1 window 0.5"}));
}

TEST(StepRequests, RequestsOfOtherEnginesAreNotCertain) {
  // One at work for certain, perhaps elsewhere; one that may have been there.
  RequestWindow loose = Between(10, 20, 400);
  loose.certain = {1, 0};
  RelateOptions options;
  options.may_preempt = false;
  EXPECT_EQ(PairsOf({StepAt(100, 0, 1)}, {Between(10, 20, 400), loose}, options).size(), 1U);
  options.has_other_engines = true;
  EXPECT_EQ(PairsOf({StepAt(100, 0, 1)}, {Between(10, 20, 400), loose}, options).size(), 2U);
}

TEST(StepRequests, TooManyCandidatesAreNotNamed) {
  std::vector<RequestWindow> requests(300, Between(10, 20, 400));
  const Relation relation = RelateByTime({StepAt(100, 0, 7)}, requests, {});
  EXPECT_TRUE(relation.pairs.empty());
  EXPECT_EQ(relation.steps_open, 1U);
}

TEST(StepRequests, ExtremeTimes) {
  RequestWindow any;
  any.active = any.generation = {-kOpenEnd, kOpenEnd};
  RelateOptions options;
  options.error_ns = kOpenEnd;
  EXPECT_EQ(PairsOf({StepAt(kOpenEnd - 5, 0, 1), StepAt(kOpenEnd, 0, 1)}, {any}, options).size(),
            2U);
  EXPECT_TRUE(PairsOf({}, {any}).empty());
  EXPECT_TRUE(PairsOf({StepAt(1, 0, 0)}, {any}).empty());
}

WatchdogStatus Status(int64_t rank, int64_t enqueued, int64_t completed) {
  return {rank, enqueued, enqueued, completed};
}

TEST(Watchdog, WhoLagsBehind) {
  const Laggards enqueued =
      FindLaggards({Status(0, 9, 8), Status(1, 8, 8), Status(2, 9, 8)}, {0, 1, 2});
  EXPECT_EQ(enqueued.ranks, Ranks{1});
  EXPECT_EQ(enqueued.reason, "rank 1 enqueued less than the others");
  EXPECT_EQ(FindLaggards({Status(0, 9, 8), Status(1, 9, 7)}, {0, 1}).ranks, Ranks{1});
  EXPECT_EQ(FindLaggards({Status(0, 9, 8), Status(1, 9, 8)}, {0, 1, 2}).ranks, Ranks{2});
  EXPECT_TRUE(FindLaggards({Status(0, 9, 8), Status(1, 9, 8)}, {0, 1}).ranks.empty());
  const Laggards alone = FindLaggards({Status(0, 9, 8)}, {0});
  EXPECT_TRUE(alone.ranks.empty());
  EXPECT_EQ(alone.reason, "only rank 0 wrote a status: who lags behind is not in these logs");
  EXPECT_TRUE(FindLaggards({}, {0}).reason.empty());
}

}  // namespace
}  // namespace telltale::evidence
