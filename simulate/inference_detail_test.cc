#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "simulate/inference_test_run.h"

namespace telltale::simulate {
namespace {

InferenceOptions Detailed(const std::string& directory, Engine engine = Engine::kVllm) {
  InferenceOptions options = SmallEngine(directory, engine);
  options.requests = 12;
  options.trace_detail = TraceDetail::kOperators;
  return options;
}

bool IsOnGpu(const TraceEvent& event) {
  return event.category == "kernel" || event.category == "gpu_memcpy" ||
         event.category == "gpu_memset";
}

bool IsOnHost(const TraceEvent& event) {
  return event.phase == "X" && !IsOnGpu(event) && event.category != "gpu_user_annotation";
}

bool IsStep(const TraceEvent& event) { return !StepsOf({event}).empty(); }

// 0: none.
uint64_t CorrelationOf(const TraceEvent& event) {
  const std::string key = "\"correlation\":";
  const size_t at = event.arguments.find(key);
  if (at == std::string::npos) return 0;
  return std::stoull(event.arguments.substr(at + key.size()));
}

// A trace's events by step, as they are written: each step begins with its range.
std::vector<std::vector<TraceEvent>> ByStep(const std::vector<TraceEvent>& events) {
  std::vector<std::vector<TraceEvent>> steps;
  for (const TraceEvent& event : events) {
    if (event.phase != "X") continue;
    if (IsStep(event)) steps.emplace_back();
    steps.back().push_back(event);
  }
  return steps;
}

bool Has(const std::vector<TraceEvent>& events, const std::string& part) {
  return std::any_of(events.begin(), events.end(), [&](const TraceEvent& event) {
    return event.name.find(part) != std::string::npos;
  });
}

std::vector<TraceEvent> FirstTraceOf(const InferenceOptions& options) {
  Simulate(options);
  return TracesOf(options.directory).at(0);
}

void ExpectNested(std::vector<TraceEvent> events) {
  std::erase_if(events, [](const TraceEvent& event) { return !IsOnHost(event); });
  std::stable_sort(events.begin(), events.end(), [](const TraceEvent& a, const TraceEvent& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns > b.end_ns;
  });
  std::vector<int64_t> open_until_ns;
  for (const TraceEvent& event : events) {
    ASSERT_LE(event.start_ns, event.end_ns);
    while (!open_until_ns.empty() && open_until_ns.back() <= event.start_ns) {
      open_until_ns.pop_back();
    }
    if (!open_until_ns.empty()) {
      ASSERT_LE(event.end_ns, open_until_ns.back()) << event.name;
    } else {
      ASSERT_TRUE(IsStep(event)) << event.name;
    }
    open_until_ns.push_back(event.end_ns);
  }
}

TEST(InferenceDetail, HostEventsNestAndTheGpuWorksInOrder) {
  const Folder folder;
  for (const Engine engine : {Engine::kVllm, Engine::kVllmV0, Engine::kSglang}) {
    for (const bool with_arguments : {true, false}) {
      InferenceOptions options =
          Detailed(folder / fmt::format("{}{}", static_cast<int>(engine), with_arguments), engine);
      options.collective_args = with_arguments;
      options.structure_noise = 0.3;
      options.clock_drift_ppm = 300;
      options.capture = true;
      Simulate(options);
      for (const auto& events : TracesOf(options.directory)) {
        ExpectNested(events);
        std::map<uint64_t, int64_t> calls;  // correlation to start
        int64_t gpu_end_ns = 0;
        for (const TraceEvent& event : events) {
          const uint64_t correlation = CorrelationOf(event);
          if (!IsOnGpu(event)) {
            if (correlation > 0) {
              EXPECT_TRUE(calls.emplace(correlation, event.start_ns).second);
            }
            continue;
          }
          ASSERT_EQ(calls.count(correlation), 1U) << event.name;
          EXPECT_GT(event.start_ns, calls[correlation]);
          EXPECT_GE(event.start_ns, gpu_end_ns);
          EXPECT_GT(event.end_ns, event.start_ns);
          gpu_end_ns = event.end_ns;
        }
      }
    }
  }
}

TEST(InferenceDetail, StepsOf32LayersHaveAsManyEventsAsRealOnes) {
  const Folder folder;
  InferenceOptions options;
  options.directory = folder / "run";
  options.layers = 32;
  options.trace_detail = TraceDetail::kOperators;
  options.trace_from = 0.3;
  options.trace_to = 0.32;
  const InferenceSummary summary = Simulate(options);
  ASSERT_GT(summary.traced_steps, 10U);
  const Document truth(Bytes(options.directory + ".truth.json"));
  const auto rank = simdjson::dom::array((*truth)["ranks"]).at(0).value();
  const auto steps = ByStep(EventsOf(Bytes(options.directory + "/" + TextOf(rank, "file"))));
  ASSERT_EQ(steps.size(), summary.traced_steps);
  double events = 0;
  for (const auto& step : steps) events += static_cast<double>(step.size());
  constexpr double kPublishedMean = 2242;
  EXPECT_NEAR(events / static_cast<double>(steps.size()), kPublishedMean, 0.02 * kPublishedMean);
}

TEST(InferenceDetail, SameOptionsGiveTheSameBytes) {
  const Folder folder;
  InferenceOptions options = Detailed(folder / "a");
  Simulate(options);
  const auto first = TreeOf(options.directory);
  options.directory = folder / "b";
  Simulate(options);
  EXPECT_EQ(TreeOf(options.directory), first);
  options.directory = folder / "c";
  options.structure_noise = 0.5;
  Simulate(options);
  EXPECT_NE(TreeOf(options.directory), first);
}

TEST(InferenceDetail, WithoutItStepsAreAsTheyWere) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "a");
  const auto steps = ByStep(FirstTraceOf(options));
  // The range and its twin, three events each of embedding, 2 x 2 parts of layers, sampling and
  // copy, four each of five collectives, and the wait.
  for (const auto& step : steps) ASSERT_EQ(step.size(), 2 + 7 * 3 + 5 * 4 + 1);
  const auto first = TreeOf(options.directory);
  options.directory = folder / "b";
  options.structure_noise = 1;
  Simulate(options);
  EXPECT_EQ(TreeOf(options.directory), first);
}

TEST(InferenceDetail, StepsDifferByWhatTheyCompute) {
  const Folder folder;
  InferenceOptions options = Detailed(folder / "run");
  options.max_batched_tokens = 128;  // most prompts take several steps
  const auto steps = ByStep(FirstTraceOf(options));
  const Document truth(Bytes(options.directory + ".truth.json"));
  std::map<std::string, int> phases;
  std::set<std::string> matrix_kernels;
  bool has_step_without_token = false;
  size_t i = 0;
  for (const auto step : simdjson::dom::array((*truth)["steps"])) {
    const std::string phase = TextOf(step, "phase");
    const auto& events = steps.at(i++);
    ++phases[phase];
    EXPECT_EQ(Has(events, "flash::flash_fwd_kernel"), phase != "decode");
    EXPECT_EQ(Has(events, "flash_fwd_splitkv_combine_kernel"), phase != "prefill");
    EXPECT_EQ(Has(events, "aten::argmax"), Has(events, "ncclDevKernel_AllGather"));
    if (!Has(events, "aten::argmax")) {
      EXPECT_EQ(phase, "prefill");
      has_step_without_token = true;
    }
    for (const TraceEvent& event : events) {
      if (event.name.rfind("nvjet_", 0) == 0) matrix_kernels.insert(event.name);
    }
  }
  EXPECT_EQ(i, steps.size());
  EXPECT_EQ(phases.size(), 3U);
  EXPECT_TRUE(has_step_without_token);
  EXPECT_GT(matrix_kernels.size(), 5U);  // of as many operators
}

TEST(InferenceDetail, NoiseIsOfSingleRanks) {
  const Folder folder;
  InferenceOptions options = Detailed(folder / "none");
  options.structure_noise = 0;
  Simulate(options);
  const auto names = [](const std::vector<TraceEvent>& events) {
    std::vector<std::string> list;
    for (const TraceEvent& event : events) {
      if (event.phase == "X") list.push_back(event.name);
    }
    return list;
  };
  auto traces = TracesOf(options.directory);
  for (const auto& events : traces) EXPECT_EQ(names(events), names(traces[0]));
  for (const char* name : {"cudaMalloc", "cudaFree", "cudaEventQuery", "aten::contiguous"}) {
    EXPECT_FALSE(Has(traces[0], name)) << name;
  }
  options.directory = folder / "some";
  options.structure_noise = 0.5;
  Simulate(options);
  traces = TracesOf(options.directory);
  EXPECT_NE(names(traces[1]), names(traces[0]));
  for (const char* name : {"cudaMalloc", "cudaFree", "cudaEventQuery", "aten::contiguous"}) {
    EXPECT_TRUE(Has(traces[0], name)) << name;
  }
}

TEST(InferenceDetail, CollectivesEndTogether) {
  const Folder folder;
  const InferenceOptions options = Detailed(folder / "run");
  const InferenceSummary summary = Simulate(options);
  std::vector<std::vector<TraceEvent>> kernels;
  for (const auto& events : TracesOf(options.directory)) {
    kernels.push_back(CollectiveKernelsOf(events));
    ASSERT_EQ(kernels.back().size(), kernels[0].size());
  }
  // Two all-reduces in each of two layers, and the gather where a token comes out.
  EXPECT_GT(kernels[0].size(), 4 * summary.steps);
  EXPECT_LE(kernels[0].size(), 5 * summary.steps);
  for (size_t i = 0; i < kernels[0].size(); ++i) {
    int64_t last_start_ns = 0;
    int64_t first_end_ns = kernels[0][i].end_ns;
    for (const auto& rank : kernels) {
      last_start_ns = std::max(last_start_ns, rank[i].start_ns);
      first_end_ns = std::min(first_end_ns, rank[i].end_ns);
    }
    ASSERT_GT(first_end_ns, last_start_ns + 10'000) << i;
  }
}

TEST(InferenceDetail, NoiseIsAShare) {
  const Folder folder;
  InferenceOptions options = Detailed(folder / "run");
  options.structure_noise = 1.5;
  const auto summary = SimulateInference(options);
  ASSERT_FALSE(summary);
  EXPECT_NE(summary.error().message.find("noise"), std::string::npos);
}

}  // namespace
}  // namespace telltale::simulate
