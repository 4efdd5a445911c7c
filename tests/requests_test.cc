// Which steps worked for which requests, on simulated engines whose truth is known: two hosts with
// clocks that are off, logs of whole seconds, spans present or not, requests aborted, pre-empted,
// never finished.

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "evidence/link_requests.h"
#include "simulate/inference.h"
#include "tests/support/inspector_support.h"
#include "tests/support/json_value.h"

namespace telltale::test {
namespace {

using simulate::Engine;
using simulate::InferenceOptions;

struct Score {
  uint64_t certain = 0;  // pairs called id or exact
  uint64_t right = 0;
  uint64_t windows = 0;           // steps that have windows
  uint64_t windows_complete = 0;  // whose candidates are all known requests of the step
  uint64_t steps = 0;             // in profiles, with requests in them
  uint64_t certain_steps = 0;     // whose requests are all known for certain
};

// `sources`: what of the recording is ingested, as ends of paths; empty for all.
class Job {
 public:
  explicit Job(InferenceOptions options, const std::vector<std::string>& sources = {}) {
    options.directory = folder_ / "job";
    options.truth_path = folder_ / "truth.json";
    const auto summary = simulate::SimulateInference(options);
    EXPECT_TRUE(summary) << summary.error().message;
    IngestOptions ingest;
    ingest.run = "job";
    for (const std::string& path : FilesBelow(options.directory)) {
      const bool wanted = sources.empty() ||
                          std::any_of(sources.begin(), sources.end(),
                                      [&](const std::string& end) { return path.ends_with(end); });
      if (wanted) ingest.paths.push_back(path);
    }
    for (const SourceReport& source : store_.Ingest(ingest).sources) {
      EXPECT_EQ(source.status, SourceStatus::kIngested) << source.path << source.message;
    }
    const Status linked = evidence::LinkRequests(store_.store());
    EXPECT_TRUE(linked) << linked.error().message;
    truth_ = *ParseJson(BytesOf(options.truth_path));
  }

  // Steps of a rank begin with truth's traced step number `lag`.
  Score ScoreOf(int64_t rank, size_t lag = 0) {
    std::map<std::string, std::string> external;
    for (const JsonValue& request : truth_.Find("requests")->items) {
      external[request["internal_id"]] = request["id"];
    }
    std::vector<std::set<std::string>> in_step;
    for (const JsonValue& step : truth_.Find("steps")->items) {
      if (step["traced"] != "true") continue;
      in_step.emplace_back();
      for (const JsonValue& entry : step.Find("requests")->items) {
        in_step.back().insert(external.at(entry.items[0].text));
      }
    }
    std::set<std::string> known;
    for (const std::string& name : store_.Rows("SELECT name FROM request")) known.insert(name);
    std::map<size_t, std::map<std::string, std::string>> pairs;
    for (const std::string& row : store_.Rows(
             "SELECT s.number, q.basis, r.name FROM step s JOIN step_request q USING (step) "
             "JOIN request r USING (request) WHERE s.rank = " +
             std::to_string(rank))) {
      const size_t first = row.find('|');
      const size_t second = row.find('|', first + 1);
      pairs[std::stoul(row.substr(0, first)) + lag][row.substr(second + 1)] =
          row.substr(first + 1, second - first - 1);
    }
    Score score;
    for (size_t step = lag; step < in_step.size(); ++step) {
      const std::set<std::string>& truth = in_step[step];
      if (truth.empty()) continue;
      ++score.steps;
      const auto found = pairs.find(step);
      if (found == pairs.end()) continue;
      size_t certain = 0;
      bool has_window = false;
      for (const auto& [request, basis] : found->second) {
        if (basis == "window") {
          has_window = true;
          continue;
        }
        ++certain;
        ++score.certain;
        score.right += truth.contains(request);
      }
      score.certain_steps += !has_window && certain == truth.size();
      if (!has_window) continue;
      ++score.windows;
      score.windows_complete +=
          std::all_of(truth.begin(), truth.end(), [&](const std::string& request) {
            return !known.contains(request) || found->second.contains(request);
          });
    }
    return score;
  }

  TestStore& store() { return store_; }
  const JsonValue& truth() const { return truth_; }

 private:
  static std::vector<std::string> FilesBelow(const std::string& folder) {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  TempFolder folder_;
  TestStore store_;
  JsonValue truth_;
};

InferenceOptions SmallEngine(Engine engine = Engine::kVllm, uint64_t seed = 1) {
  InferenceOptions options;
  options.engine = engine;
  options.hosts = 2;
  options.gpus_per_host = 1;
  options.requests = 120;
  options.rate_per_s = 15;
  options.output_tokens = 30;
  options.layers = 1;
  options.collectives_per_step = 2;
  options.seed = seed;
  return options;
}

void ExpectRight(const Score& score, const std::string& what) {
  EXPECT_EQ(score.right, score.certain) << what;
  EXPECT_EQ(score.windows_complete, score.windows) << what;
  EXPECT_GT(score.steps, 50U) << what;
  fmt::print("{}: {} steps, {} certain in all; {} pairs certain, {} right; {} windows\n", what,
             score.steps, score.certain_steps, score.certain, score.right, score.windows);
}

TEST(Requests, SpansAndLogsOfVllm) {
  for (const uint64_t seed : {1, 2, 3}) {
    Job job(SmallEngine(Engine::kVllm, seed));
    for (const int64_t rank : {0, 1}) {
      const Score score = job.ScoreOf(rank);
      ExpectRight(score, fmt::format("spans and logs, seed {}, rank {}", seed, rank));
      EXPECT_GT(score.certain_steps, 0U);
    }
  }
}

TEST(Requests, SpansWithoutLogs) {
  Job job(SmallEngine(), {".json", "spans.jsonl"});
  ExpectRight(job.ScoreOf(0), "spans without logs");
}

TEST(Requests, LogsOfWholeSecondsWithoutSpans) {
  InferenceOptions options = SmallEngine();
  options.spans = false;
  Job job(options);
  const Score score = job.ScoreOf(0);
  ExpectRight(score, "logs without spans");
  EXPECT_GT(score.windows, 0U);
}

TEST(Requests, RangesOfCaptureNameThem) {
  for (const bool spans : {true, false}) {
    InferenceOptions options = SmallEngine();
    options.capture = true;
    options.spans = spans;
    Job job(options);
    const Score score = job.ScoreOf(1);
    ExpectRight(score, "capture");
    EXPECT_EQ(score.certain_steps, score.steps);
    EXPECT_EQ(job.store().Rows("SELECT DISTINCT basis FROM step_request"),
              std::vector<std::string>{"id"});
    // Shares are parts of a step's tokens.
    EXPECT_EQ(job.store().Rows("SELECT count(*) FROM (SELECT step FROM step_request GROUP BY step "
                               "HAVING abs(sum(share) - 1) > 1e-9)"),
              std::vector<std::string>{"0"});
  }
}

TEST(Requests, StagesOfSglang) {
  Job job(SmallEngine(Engine::kSglang));
  for (const int64_t rank : {0, 1}) {
    const Score score = job.ScoreOf(rank);
    ExpectRight(score, fmt::format("sglang, rank {}", rank));
    EXPECT_GT(score.certain_steps * 2, score.steps);
  }
}

TEST(Requests, PreemptedAbortedUnfinishedAndClientsIds) {
  InferenceOptions options = SmallEngine();
  options.kv_blocks = 300;
  options.aborted_share = 0.2;
  options.unfinished = 5;
  options.client_id_share = 0.6;
  Job job(options);
  ExpectRight(job.ScoreOf(0), "pre-empted and aborted");
  Job without_logs(options, {".json", "spans.jsonl"});
  ExpectRight(without_logs.ScoreOf(0), "pre-empted and aborted, without logs");
}

TEST(Requests, TracesThatBeginLateAndDoNotMatchByOrder) {
  InferenceOptions options = SmallEngine();
  options.trace_from = 0.3;
  options.trace_to = 0.8;
  options.trace_lag_steps = 7;
  Job job(options);
  ExpectRight(job.ScoreOf(0), "first host of a part");
  // Collectives that cannot be matched leave the reports' own times.
  EXPECT_EQ(job.store().Rows("SELECT host, offset_ns, error_ns, basis FROM host_clock "
                             "WHERE host <> reference_host"),
            std::vector<std::string>{"gpu-node-02|0|1000000000|anchor"});
  const Score second = job.ScoreOf(1, 7);
  ExpectRight(second, "second host of a part, seven steps later");
  EXPECT_GT(second.certain_steps * 2, second.steps);
}

TEST(Requests, OldEngine) {
  Job job(SmallEngine(Engine::kVllmV0));
  ExpectRight(job.ScoreOf(0), "vLLM V0");
}

// Offsets of hosts within the error that is stated, as a store's table says it.
TEST(Requests, ClocksOfHosts) {
  uint64_t bounds = 0;
  uint64_t held = 0;
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    InferenceOptions options = SmallEngine(Engine::kVllm, seed);
    options.hosts = seed < 4 ? 2 : 4;
    options.requests = 40;
    Job job(options, {".json"});
    std::map<std::string, std::pair<double, double>> clocks;  // offset now, and drift in ppb
    double t0 = 0;
    for (const JsonValue& host : job.truth().Find("hosts")->items) {
      t0 = std::stod(host["t0_ns"]);
      clocks[host["name"]] = {std::stod(host["offset_ns"]), 1000 * std::stod(host["drift_ppm"])};
    }
    for (const std::string& row : job.store().Rows(
             "SELECT host, reference_host, reference_time_ns, offset_ns, error_ns FROM host_clock "
             "WHERE host <> reference_host")) {
      std::vector<std::string> cells;
      std::stringstream stream(row);
      for (std::string cell; std::getline(stream, cell, '|');) cells.push_back(cell);
      ASSERT_EQ(cells.size(), 5U) << row;
      const auto& [offset, drift] = clocks.at(cells[0]);
      const auto& [reference_offset, reference_drift] = clocks.at(cells[1]);
      const double seconds = (std::stod(cells[2]) - reference_offset - t0) / 1e9;
      const double truth = offset - reference_offset + seconds * (drift - reference_drift);
      ++bounds;
      // The double of the time since 1970 is good to 256 ns, which drifts turn into nothing.
      held += std::abs(truth - std::stod(cells[3])) <= std::stod(cells[4]) + 1;
      EXPECT_LT(std::stod(cells[4]), 5e6) << row;
    }
  }
  EXPECT_EQ(bounds, 6U);
  EXPECT_EQ(held, bounds);
}

}  // namespace
}  // namespace telltale::test
