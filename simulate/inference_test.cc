#include "simulate/inference.h"

#include <algorithm>
#include <set>
#include <utility>

#include "simulate/inference_test_run.h"

namespace telltale::simulate {
namespace {

constexpr Engine kEngines[] = {Engine::kVllm, Engine::kVllmV0, Engine::kSglang};

std::string ErrorOf(const InferenceOptions& options) {
  const auto summary = SimulateInference(options);
  return summary ? "none" : summary.error().message;
}

TEST(Inference, SameOptionsGiveTheSameBytes) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "a");
  options.clock_offset_ms = 50;
  Simulate(options);
  const auto first = TreeOf(options.directory);
  EXPECT_EQ(first.size(), 7U);
  options.directory = folder / "b";
  Simulate(options);
  EXPECT_EQ(TreeOf(options.directory), first);
  EXPECT_EQ(Bytes(folder / "a.truth.json"), Bytes(folder / "b.truth.json"));
  options.directory = folder / "c";
  options.seed = 2;
  Simulate(options);
  EXPECT_NE(TreeOf(options.directory), first);
}

TEST(Inference, SummaryCountsWhatIsThere) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "run");
  options.aborted_share = 0.3;
  const InferenceSummary summary = Simulate(options);
  const auto files = TreeOf(options.directory);
  uint64_t bytes = 0;
  for (const auto& [name, content] : files) bytes += content.size();
  EXPECT_EQ(summary.files, files.size());
  EXPECT_EQ(summary.text_bytes, bytes);
  EXPECT_EQ(summary.finished + summary.aborted + summary.unfinished, options.requests);
  EXPECT_EQ(summary.unfinished, 1U);
  EXPECT_GT(summary.aborted, 0U);
  EXPECT_EQ(summary.spans, summary.finished);
  EXPECT_EQ(StepsOf(TracesOf(options.directory)[0]).size(), summary.steps);
}

// True time is the hosts' time here.
TEST(Inference, NoCollectiveEndsBeforeItsLastRankHasStarted) {
  const Folder folder;
  for (const bool with_arguments : {true, false}) {
    InferenceOptions options = SmallEngine(folder / (with_arguments ? "a" : "b"));
    options.collectives_per_step = 4;
    options.collective_args = with_arguments;
    const InferenceSummary summary = Simulate(options);
    std::vector<std::vector<TraceEvent>> kernels;
    for (const auto& events : TracesOf(options.directory)) {
      kernels.push_back(CollectiveKernelsOf(events));
      ASSERT_EQ(kernels.back().size(), 4 * summary.steps);
    }
    ASSERT_EQ(kernels.size(), 4U);
    std::set<size_t> last_ranks;
    for (size_t i = 0; i < kernels[0].size(); ++i) {
      int64_t last_start_ns = 0;
      int64_t first_end_ns = kernels[0][i].end_ns;
      size_t last_rank = 0;
      for (size_t rank = 0; rank < kernels.size(); ++rank) {
        const TraceEvent& kernel = kernels[rank][i];
        EXPECT_EQ(kernel.name, kernels[0][i].name);
        EXPECT_EQ(kernel.arguments.find("\"Collective name\"") != std::string::npos,
                  with_arguments || i % 4 == 3);
        first_end_ns = std::min(first_end_ns, kernel.end_ns);
        if (kernel.start_ns > last_start_ns) last_rank = rank;
        last_start_ns = std::max(last_start_ns, kernel.start_ns);
      }
      ASSERT_GT(first_end_ns, last_start_ns + 10'000) << i;
      last_ranks.insert(last_rank);
    }
    EXPECT_EQ(last_ranks.size(), 4U);  // each is late at some time
  }
}

TEST(Inference, HostsHaveTheClocksThatTheTruthSays) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "exact");
  options.collectives_per_step = 2;
  Simulate(options);
  const auto exact = TracesOf(options.directory);
  options.directory = folder / "off";
  options.clock_offset_ms = 50;
  options.clock_drift_ppm = 400;
  Simulate(options);
  const auto off = TracesOf(options.directory);
  const Document truth(Bytes(folder / "off.truth.json"));
  size_t rank = 0;
  for (const auto entry : simdjson::dom::array((*truth)["ranks"])) {
    const auto host = simdjson::dom::array((*truth)["hosts"]).at(uint64_t{entry["host"]}).value();
    const int64_t offset_ns = IntegerOf(host, "offset_ns");
    const double drift_ppm = host["drift_ppm"];
    EXPECT_NE(offset_ns, 0);
    ASSERT_EQ(exact[rank].size(), off[rank].size());
    for (size_t i = 0; i < exact[rank].size(); ++i) {
      const int64_t true_ns = exact[rank][i].start_ns;
      if (exact[rank][i].phase != "X") continue;
      const double drift_ns =
          static_cast<double>(true_ns - IntegerOf(host, "t0_ns")) * drift_ppm / 1e6;
      ASSERT_NEAR(static_cast<double>(off[rank][i].start_ns - true_ns - offset_ns), drift_ns, 1);
    }
    ++rank;
  }
  EXPECT_EQ(rank, 4U);
}

TEST(Inference, TracesHaveTheStepsOfTheTruth) {
  const Folder folder;
  for (const Engine engine : kEngines) {
    InferenceOptions options =
        SmallEngine(folder / std::to_string(static_cast<int>(engine)), engine);
    options.clock_offset_ms = 50;
    options.capture = true;
    Simulate(options);
    const Document truth(Bytes(options.directory + ".truth.json"));
    const auto traces = TracesOf(options.directory);
    for (size_t rank = 0; rank < traces.size(); ++rank) {
      const std::vector<TraceEvent> steps = StepsOf(traces[rank]);
      std::vector<std::string> captures;
      for (const TraceEvent& event : traces[rank]) {
        if (event.name.rfind("telltale:step ", 0) == 0) captures.push_back(event.name);
      }
      size_t i = 0;
      for (const auto step : simdjson::dom::array((*truth)["steps"])) {
        ASSERT_LT(i, steps.size());
        ASSERT_EQ(steps[i].name, TextOf(step, "name"));
        std::string capture = "telltale:step requests=";
        for (const simdjson::dom::array pair : simdjson::dom::array(step["requests"])) {
          if (capture.back() != '=') capture += ',';
          capture += std::string_view(pair.at(0));
          capture += ':' + std::to_string(uint64_t{pair.at(1)});
        }
        ASSERT_EQ(captures[i], capture);
        if (rank == 0) {
          EXPECT_EQ(steps[i].start_ns, IntegerOf(step, "local_start_ns"));
          EXPECT_EQ(steps[i].end_ns, IntegerOf(step, "local_end_ns"));
        }
        ++i;
      }
      EXPECT_EQ(i, steps.size());
      EXPECT_EQ(i, captures.size());
    }
  }
}

TEST(Inference, RanksDoOneStepAfterTheOther) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "run");
  Simulate(options);
  for (const auto& events : TracesOf(options.directory)) {
    int64_t gpu_end_ns = 0;
    int64_t range_end_ns = 0;
    for (const TraceEvent& event : events) {
      if (event.category == "kernel" || event.category == "gpu_memcpy") {
        EXPECT_GE(event.start_ns, gpu_end_ns);
        gpu_end_ns = event.end_ns;
      }
    }
    for (const TraceEvent& step : StepsOf(events)) {
      EXPECT_GE(step.start_ns, range_end_ns);
      range_end_ns = step.end_ns;
    }
    EXPECT_GT(range_end_ns, gpu_end_ns);
  }
}

TEST(Inference, TracesOfAPartOfTheTimeHaveWholeStepsWithinIt) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "run");
  options.requests = 100;
  options.trace_from = 0.4;
  options.trace_to = 0.6;
  options.trace_lag_steps = 3;
  const InferenceSummary summary = Simulate(options);
  EXPECT_GT(summary.traced_steps, 10U);
  EXPECT_LT(summary.traced_steps, summary.steps / 2);
  const auto traces = TracesOf(options.directory);
  EXPECT_EQ(StepsOf(traces[0]).size(), summary.traced_steps);
  EXPECT_EQ(StepsOf(traces[1]).size(), summary.traced_steps);
  EXPECT_EQ(StepsOf(traces[2]).size(), summary.traced_steps - 3);
  EXPECT_EQ(StepsOf(traces[2])[0].name, StepsOf(traces[0])[3].name);
  // Some requests are under way before the first traced step.
  const Document truth(Bytes(options.directory + ".truth.json"));
  std::set<std::string> before;
  for (const auto step : simdjson::dom::array((*truth)["steps"])) {
    if (bool{step["traced"]}) {
      const simdjson::dom::array first = simdjson::dom::array(step["requests"]).at(0);
      EXPECT_EQ(before.count(std::string(std::string_view(first.at(0)))), 1U);
      break;
    }
    for (const simdjson::dom::array pair : simdjson::dom::array(step["requests"])) {
      before.insert(std::string(std::string_view(pair.at(0))));
    }
  }
}

TEST(Inference, GzipChangesNoByteOfTheTraces) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "plain");
  options.requests = 3;
  const uint64_t bytes = Simulate(options).text_bytes;
  options.directory = folder / "gzip";
  options.gzip = true;
  EXPECT_EQ(Simulate(options).text_bytes, bytes);
  for (const auto& [name, content] : TreeOf(options.directory)) {
    const bool is_gzip = content.substr(0, 2) == "\x1f\x8b";
    EXPECT_EQ(is_gzip, name.find(".trace.json.gz") != std::string::npos) << name;
  }
}

TEST(Inference, OneGpuHasNoCollectives) {
  const Folder folder;
  InferenceOptions options = SmallEngine(folder / "run");
  options.hosts = 1;
  options.gpus_per_host = 1;
  Simulate(options);
  const auto traces = TracesOf(options.directory);
  ASSERT_EQ(traces.size(), 1U);
  EXPECT_TRUE(CollectiveKernelsOf(traces[0]).empty());
}

TEST(Inference, SaysWhichOptionIsWrong) {
  const Folder folder;
  const auto error_with = [&](auto change) {
    InferenceOptions options = SmallEngine(folder / "run");
    change(options);
    return ErrorOf(options);
  };
  const std::string missing = error_with([](auto& options) { options.directory = ""; });
  EXPECT_EQ(missing, "an output directory is needed");
  EXPECT_NE(error_with([](auto& options) { options.requests = 0; }).find("requests"),
            std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.rate_per_s = -1; }).find("rate"),
            std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.hosts = 0; }).find("hosts"), std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.trace_from = 1; }).find("traced"),
            std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.unfinished = 40; }).find("must finish"),
            std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.start_us = 0; }).find("start"),
            std::string::npos);
  EXPECT_NE(error_with([](auto& options) { options.client_id_prefix = "a\"b"; }).find("prefix"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder / "run"));

  InferenceOptions options = SmallEngine(folder / "run");
  options.truth_path = folder / "run/truth.json";
  EXPECT_NE(ErrorOf(options).find("truth must not lie"), std::string::npos);
  options.truth_path = folder / "elsewhere.json";
  Simulate(options);
  EXPECT_TRUE(fs::exists(folder / "elsewhere.json"));
  EXPECT_NE(ErrorOf(options).find("not empty"), std::string::npos);
  options.force = true;
  EXPECT_EQ(ErrorOf(options), "none");
}

}  // namespace
}  // namespace telltale::simulate
