// Call chains, times, gaps and overlap of small traces whose answers are known by hand.

#include <gtest/gtest.h>

#include "evidence/chain.h"
#include "evidence/gpu_time.h"
#include "evidence/operation_times.h"
#include "evidence/perfetto.h"
#include "evidence/steps.h"
#include "tests/support/inspector_support.h"
#include "tests/support/json_value.h"

namespace telltale::evidence {
namespace {

using Strings = std::vector<std::string>;

// A trace of one process: times in microseconds.
class Evidence : public testing::Test {
 protected:
  void Host(const std::string& category, const std::string& name, int start, int duration,
            int correlation = -1, int thread = 1) {
    Add(R"("cat":")" + category + R"(","name":")" + name + R"(","pid":1,"tid":)" +
        std::to_string(thread) + Times(start, duration) + Correlation(correlation));
  }
  void Gpu(const std::string& name, int start, int duration, int correlation, int stream = 7,
           const std::string& category = "kernel") {
    Add(R"("cat":")" + category + R"(","name":")" + name + R"(","pid":0,"tid":)" +
        std::to_string(stream) + Times(start, duration) + Correlation(correlation));
  }
  TraceEvents Load() {
    store_.Ingest({folder_.Write("trace.json", R"({"traceEvents":[)" + events_ + "]}")});
    const auto connection = store_.store().Connect();
    auto events = LoadTraceEvents(**connection, {});
    EXPECT_TRUE(events) << events.error().message;
    return std::move(*events);
  }
  static uint32_t Find(const TraceEvents& events, const std::string& name) {
    for (uint32_t i = 0; i < events.size(); ++i) {
      if (events.Name(i) == name) return i;
    }
    return kNone;
  }

 private:
  static std::string Times(int start, int duration) {
    return R"(,"ts":)" + std::to_string(start) + R"(.000,"dur":)" + std::to_string(duration) +
           ".001";
  }
  static std::string Correlation(int correlation) {
    return correlation < 0 ? "" : R"(,"args":{"correlation":)" + std::to_string(correlation) + "}";
  }
  void Add(const std::string& event) {
    events_ += (events_.empty() ? "" : ",") + (R"({"ph":"X",)" + event + "}");
  }

  std::string events_;
  test::TempFolder folder_;
  test::TestStore store_;
};

TEST_F(Evidence, TimesCountEachMomentOnce) {
  Host("cpu_op", "outer", 0, 100);
  Host("cpu_op", "inner", 10, 30);
  Host("cuda_runtime", "launch_a", 15, 5, 1);
  Host("cuda_runtime", "launch_b", 50, 5, 2);
  Gpu("k", 30, 40, 1, 7);
  Gpu("k", 60, 40, 2, 8);
  const TraceEvents events = Load();
  const CallTimes times = TimesOf(events);
  EXPECT_EQ(times.gpu_ns[Find(events, "outer")], 70'001);  // 30 to 100, not 80
  EXPECT_EQ(times.gpu_ns[Find(events, "inner")], 40'001);
  EXPECT_EQ(times.exclusive_ns[Find(events, "outer")], 100'001 - 30'001 - 5'001);
  EXPECT_EQ(times.exclusive_ns[Find(events, "inner")], 30'001 - 5'001);
}

TEST_F(Evidence, RecursionCountsItsOutermostCall) {
  Host("cpu_op", "f", 0, 100);
  Host("cpu_op", "f", 10, 50);
  Host("cpu_op", "f", 200, 10);
  const TraceEvents events = Load();
  const auto rows = HostTimesByName(events, TimesOf(events), {EventKind::kOperator});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].calls, 3U);
  EXPECT_EQ(rows[0].inclusive_ns, 110'002);
  EXPECT_EQ(rows[0].exclusive_ns, 110'002);
}

TEST_F(Evidence, GapsHaveTheirCause) {
  Host("cuda_runtime", "early", 0, 5, 1);
  Gpu("first", 10, 10, 1);  // to 20
  Host("cuda_runtime", "queued", 12, 3, 2);
  Gpu("second", 120, 10, 2);  // launched long before: waited on the GPU
  Host("cuda_runtime", "cudaStreamSynchronize", 131, 80, 90);
  Host("cuda_runtime", "after_sync", 215, 5, 3);
  Gpu("third", 220, 10, 3);  // to 230
  Host("cpu_op", "busy", 231, 90);
  Host("cuda_runtime", "in_busy", 310, 5, 4);
  Gpu("fourth", 320, 10, 4);  // to 330
  Host("cuda_runtime", "after_nothing", 425, 3, 5);
  Gpu("fifth", 430, 10, 5);  // to 440
  Gpu("ncclDevKernel_AllReduce", 441, 90, 6, 20);
  Gpu("sixth", 540, 10, 77);  // no launch
  Gpu("seventh", 650, 10, 78);
  const TraceEvents events = Load();
  Strings found;
  for (const Gap& gap : GapsOf(events, 50'000)) {
    found.push_back(fmt::format("{} {} {}", GapCauseName(gap.cause), events.Name(gap.after),
                                gap.blame == kNone ? "-" : events.Name(gap.blame)));
  }
  EXPECT_EQ(found, (Strings{"dependency second queued", "host_sync third cudaStreamSynchronize",
                            "launch_bound fourth in_busy", "host fifth after_nothing",
                            "communication sixth ncclDevKernel_AllReduce", "unknown seventh -"}));
}

TEST_F(Evidence, OverlapIsOfUnions) {
  Gpu("a", 0, 100, 1, 7);
  Gpu("b", 50, 100, 2, 8);  // computation from 0 to 150
  Gpu("ncclDevKernel_AllGather", 100, 100, 3, 20);
  Gpu("Memcpy HtoD", 190, 20, 4, 7, "gpu_memcpy");
  Gpu("c", 300, 10, 5);
  const std::vector<Overlap> overlaps = OverlapOf(Load());
  ASSERT_EQ(overlaps.size(), 1U);
  EXPECT_EQ(overlaps[0].span_ns, 310'001);
  EXPECT_EQ(overlaps[0].computation_ns, 160'002);
  EXPECT_EQ(overlaps[0].communication_ns, 100'001);
  EXPECT_EQ(overlaps[0].overlapped_ns, 50'001 + 10'001);
  EXPECT_EQ(overlaps[0].exposed_ns, 40'000 - 1);
  EXPECT_EQ(overlaps[0].idle_ns, 90'000 - 1);
}

TEST_F(Evidence, ChainHoldsOtherThreadsAndWhatIsNotAttached) {
  Host("user_annotation", "ProfilerStep#3", 0, 100);
  Host("cpu_op", "op", 10, 50);
  Host("cuda_runtime", "launch", 20, 5, 1);
  Host("cpu_op", "backward", 40, 20, -1, 2);
  Host("cpu_op", "after", 200, 5);
  Gpu("k", 300, 10, 1);     // runs later, belongs here
  Gpu("loose", 50, 10, 9);  // no launch
  Gpu("later", 400, 10, 8);
  const TraceEvents events = Load();
  const std::vector<uint32_t> steps = FindSteps(events);
  ASSERT_EQ(steps.size(), 1U);
  const auto text_of = [&](const ChainOptions& options) {
    const Chain chain = ChainOf(events, TreeOf(events), TimesOf(events), steps[0], options);
    Strings rows;
    for (const ChainNode& node : chain.nodes) {
      rows.push_back(std::string(2 * node.depth, ' ') +
                     (node.event == kNone ? "(not attached)" : events.Name(node.event)));
    }
    for (const Unattached& row : chain.unattached) {
      rows.push_back(fmt::format("{} {}", row.count, row.cause));
    }
    rows.push_back(fmt::format("hidden {}", chain.hidden));
    return rows;
  };
  EXPECT_EQ(text_of({}),
            (Strings{"ProfilerStep#3", "  op", "    launch", "      k", "  backward",
                     "  (not attached)", "    loose", "1 no launch in the profile", "hidden 0"}));
  ChainOptions kernels;
  kernels.kinds = {EventKind::kKernel};
  EXPECT_EQ(text_of(kernels), (Strings{"ProfilerStep#3", "  k", "  (not attached)", "    loose",
                                       "1 no launch in the profile", "hidden 3"}));
  ChainOptions shallow;
  shallow.most_depth = 1;
  EXPECT_EQ(text_of(shallow).front(), "ProfilerStep#3");
}

TEST_F(Evidence, PlacesTellEqualNamesApart) {
  Host("cpu_op", "linear", 0, 100);
  Host("python_function", "frame", 5, 90);
  Host("cuda_runtime", "launch", 10, 5, 1);
  Host("cuda_runtime", "launch", 200, 5, 2);
  Gpu("k", 300, 10, 1);
  Gpu("k", 400, 20, 2);
  const TraceEvents events = Load();
  Strings rows;
  for (const NamedTimes& row : TimesByPlace(events, TimesOf(events))) {
    rows.push_back(fmt::format("{}|{}|{}", row.name, row.place, row.inclusive_ns));
  }
  EXPECT_EQ(rows, (Strings{"linear||100001", "k||20001", "k|linear|10001"}));
}

TEST_F(Evidence, PerfettoGetsLanesAndArrows) {
  Host("cuda_runtime", "launch", 0, 5, 1);
  Gpu("a", 10, 20, 1);
  Gpu("b", 20, 20, 1);  // overlaps a without lying in it
  Gpu("c", 30, 5, 1);
  const TraceEvents events = Load();
  EXPECT_EQ(LanesOf(events)[Find(events, "b")], 1U);
  EXPECT_EQ(LanesOf(events)[Find(events, "c")], 1U);
  std::string text;
  ASSERT_TRUE(WritePerfetto(events, [&](std::string_view piece) -> Status {
    text += piece;
    return {};
  }));
  const auto json = test::ParseJson(text);
  ASSERT_TRUE(json) << text;
  std::map<std::string, int> phases;
  // On one thread slices nest.
  std::map<std::string, std::vector<std::pair<double, double>>> slices;
  for (const test::JsonValue& event : json->Find("traceEvents")->items) {
    ++phases[event["ph"]];
    if (event["ph"] != "X") continue;
    slices[event["pid"] + "/" + event["tid"]].emplace_back(
        std::stod(event["ts"]), std::stod(event["ts"]) + std::stod(event["dur"]));
  }
  EXPECT_EQ(phases["X"], 4);
  EXPECT_EQ(phases["s"], 3);
  EXPECT_EQ(phases["f"], 3);
  for (const auto& [thread, intervals] : slices) {
    for (const auto& a : intervals) {
      for (const auto& b : intervals) {
        const bool apart = a.second <= b.first || b.second <= a.first;
        const bool nested = (a.first <= b.first && b.second <= a.second) ||
                            (b.first <= a.first && a.second <= b.second);
        EXPECT_TRUE(apart || nested) << thread;
      }
    }
  }
}

TEST(Steps, AreKnownByTheirNames) {
  for (const char* name :
       {"ProfilerStep#551", "step[DECODE bs=32]", "execute_context_1(888_788544)_generation_0(0)",
        "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(x)", "iteration 12", "Step_7",
        "iter:3"}) {
    EXPECT_TRUE(IsStepName(name)) << name;
  }
  for (const char* name :
       {"aten::step", "Optimizer.step#Adam.step", "step", "steps 3 to 4", "execute_model"}) {
    EXPECT_FALSE(IsStepName(name)) << name;
  }
}

}  // namespace
}  // namespace telltale::evidence
