// Forms of logs and spans.

#include <regex>
#include <set>

#include "simulate/inference_test_run.h"

namespace telltale::simulate {
namespace {

// How many lines match each form; every line must match one.
std::vector<uint64_t> CountForms(const std::string& log, const std::vector<std::string>& forms) {
  std::vector<std::regex> patterns;
  patterns.reserve(forms.size());
  for (const std::string& form : forms) patterns.emplace_back(form);
  std::vector<uint64_t> counts(forms.size());
  for (const std::string& line : TextLines(log)) {
    bool known = false;
    for (size_t i = 0; i < patterns.size() && !known; ++i) {
      known = std::regex_match(line, patterns[i]);
      if (known) ++counts[i];
    }
    EXPECT_TRUE(known) << line;
  }
  return counts;
}

InferenceOptions BusyEngine(const Folder& folder, Engine engine) {
  InferenceOptions options = SmallEngine(folder / "run", engine);
  options.requests = 100;
  options.rate_per_s = 12;
  options.kv_blocks = 100;
  options.output_tokens = 64;
  options.aborted_share = 0.1;
  options.client_id_share = 0.5;
  options.trace_from = 0.9;
  options.trace_to = 0.95;
  options.clock_offset_ms = 50;
  return options;
}

TEST(InferenceLog, VllmV1) {
  const Folder folder;
  const InferenceOptions options = BusyEngine(folder, Engine::kVllm);
  const InferenceSummary summary = Simulate(options);
  const std::string time = R"(\d\d-\d\d \d\d:\d\d:\d\d )";
  const std::string api = R"(\(APIServer pid=\d+\) )";
  const std::string core = R"(\(EngineCore_DP0 pid=\d+\) INFO )" + time;
  const std::string worker = R"(\(Worker_TP\d pid=\d+\) INFO )" + time + R"(\[gpu_model.*)";
  const auto files = TreeOf(options.directory);
  const auto counts = CountForms(
      files.at("gpu-node-01/engine.log"),
      {api + "INFO " + time +
           R"(\[async_llm.py:228\] Added request chatcmpl-([0-9a-f]{32}|nightly-eval-\d+)\.)",
       api + R"(INFO:     127.0.0.1:\d+ - "POST /v1/chat/completions HTTP/1.1" 200 OK)",
       api + "INFO " + time + R"(\[async_llm.py:438\] Request chatcmpl-\S+ aborted\.)",
       core +
           R"(\[loggers.py:259\] Engine 000: Avg prompt throughput: \d+\.\d tokens/s, )"
           R"(Avg generation throughput: \d+\.\d tokens/s, Running: \d+ reqs, Waiting: \d+ reqs, )"
           R"((Preemptions: \d+, )?GPU KV cache usage: \d+\.\d%, Prefix cache hit rate: 0\.0%)",
       worker, api + "INFO " + time + R"(\[(api_server|scheduler).*)",
       core + R"(\[kv_cache_utils.*)"});
  EXPECT_EQ(counts[0], options.requests);  // the unfinished one was added, too
  EXPECT_EQ(counts[1], summary.finished);
  EXPECT_EQ(counts[2], summary.aborted);
  EXPECT_GE(counts[3], 1U);
  EXPECT_EQ(counts[4], 2U);
  EXPECT_EQ(CountForms(files.at("gpu-node-02/engine.log"), {worker})[0], 2U);
}

TEST(InferenceLog, VllmV0) {
  const Folder folder;
  const InferenceOptions options = BusyEngine(folder, Engine::kVllmV0);
  const InferenceSummary summary = Simulate(options);
  ASSERT_GT(summary.preemptions, 0U);
  const std::string info = R"(INFO \d\d-\d\d \d\d:\d\d:\d\d )";
  const auto counts = CountForms(
      TreeOf(options.directory).at("gpu-node-01/engine.log"),
      {info + R"(engine.py:267\] Added request chatcmpl-\S+\.)",
       R"(INFO:     127.0.0.1:\d+ - "POST /v1/chat/completions HTTP/1.1" 200 OK)",
       info + R"(engine.py:300\] Aborted request chatcmpl-\S+\.)",
       info + R"(metrics.py:449\] Avg prompt throughput: \d+\.\d tokens/s, Avg generation )"
              R"(throughput: \d+\.\d tokens/s, Running: \d+ reqs, Swapped: 0 reqs, Pending: \d+ )"
              R"(reqs, GPU KV cache usage: \d+\.\d%, CPU KV cache usage: 0\.0%\.)",
       // One form.
       std::string(
           R"(WARNING \d\d-\d\d \d\d:\d\d:\d\d scheduler.py:1057\] Sequence group chatcmpl-)") +
           R"(\S+ is preempted by PreemptionMode.RECOMPUTE mode .* total_cumulative_preemption_cnt=\d*1)",
       R"(\(VllmWorkerProcess pid=\d+\) )" + info + ".*", info + "executor_base.*"});
  EXPECT_EQ(counts[0], options.requests);
  EXPECT_EQ(counts[1], summary.finished);
  EXPECT_EQ(counts[2], summary.aborted);
  EXPECT_GE(counts[3], 1U);
  EXPECT_EQ(counts[4], (summary.preemptions + 49) / 50);
}

TEST(InferenceLog, Sglang) {
  const Folder folder;
  const InferenceOptions options = BusyEngine(folder, Engine::kSglang);
  const InferenceSummary summary = Simulate(options);
  ASSERT_GT(summary.preemptions, 0U);
  const std::string time = R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)";
  const auto counts = CountForms(
      TreeOf(options.directory).at("gpu-node-01/engine.log"),
      {time + R"( TP0\] Prefill batch, #new-seq: \d+, #new-token: \d+, #cached-token: 0, token )"
              R"(usage: \d\.\d\d, #running-req: \d+, #queue-req: \d+, )",
       time + R"( TP0\] Decode batch, #running-req: \d+, #token: \d+, token usage: \d\.\d\d, cuda )"
              R"(graph: True, gen throughput \(token/s\): \d+\.\d\d, #queue-req: \d+, )",
       time + R"( TP0\] KV cache pool is full. Retract requests. #retracted_reqs: \d+, )"
              R"(#new_token_ratio: 0.7000 -> 1.0000)",
       time + R"(\] INFO:     127.0.0.1:\d+ - "POST /v1/chat/completions HTTP/1.1" 200 OK)",
       time + R"( TP[01]\] Load weight end.*)"});
  const Document truth(Bytes(options.directory + ".truth.json"));
  uint64_t extends = 0;
  for (const auto step : simdjson::dom::array((*truth)["steps"])) {
    extends += TextOf(step, "name").rfind("step[EXTEND", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(counts[0], extends);
  EXPECT_EQ(counts[1], (summary.steps - extends) / 40);
  EXPECT_GE(counts[2], 1U);
  EXPECT_EQ(counts[3], summary.finished);
}

struct Span {
  std::string name;
  std::string parent;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  std::map<std::string, std::string> attributes;  // values as JSON
};

std::map<std::string, Span> SpansOf(const std::string& text) {
  std::map<std::string, Span> spans;
  for (const std::string& line : TextLines(text)) {
    const Document document(line);
    for (const auto resource : simdjson::dom::array((*document)["resourceSpans"])) {
      for (const auto scope : simdjson::dom::array(resource["scopeSpans"])) {
        for (const auto element : simdjson::dom::array(scope["spans"])) {
          Span span;
          span.name = TextOf(element, "name");
          span.parent = TextOf(element, "parentSpanId");
          span.start_ns = std::stoll(TextOf(element, "startTimeUnixNano"));
          span.end_ns = std::stoll(TextOf(element, "endTimeUnixNano"));
          EXPECT_GE(span.end_ns, span.start_ns) << span.name;
          EXPECT_EQ(TextOf(element, "traceId").size(), 32U);
          for (const auto attribute : simdjson::dom::array(element["attributes"])) {
            span.attributes[TextOf(attribute, "key")] = simdjson::minify(attribute["value"]);
          }
          EXPECT_TRUE(spans.emplace(TextOf(element, "spanId"), span).second);
        }
      }
    }
  }
  return spans;
}

TEST(InferenceSpans, VllmHasOneForEachFinishedRequest) {
  const Folder folder;
  const InferenceOptions options = BusyEngine(folder, Engine::kVllm);
  const InferenceSummary summary = Simulate(options);
  const Document truth(Bytes(options.directory + ".truth.json"));
  const int64_t offset_ns =
      IntegerOf(simdjson::dom::array((*truth)["hosts"]).at(0).value(), "offset_ns");
  std::map<std::string, Span> by_id;
  for (const auto& [id, span] : SpansOf(Bytes(options.directory + "/spans.jsonl"))) {
    EXPECT_EQ(span.name, "llm_request");
    by_id[span.attributes.at("gen_ai.request.id")] = span;
  }
  EXPECT_EQ(by_id.size(), summary.finished);
  EXPECT_EQ(summary.spans, summary.finished);
  for (const auto request : simdjson::dom::array((*truth)["requests"])) {
    const auto found = by_id.find("{\"stringValue\":\"" + TextOf(request, "id") + "\"}");
    ASSERT_EQ(found != by_id.end(), bool{request["has_span"]});
    EXPECT_EQ(TextOf(request, "internal_id").rfind(TextOf(request, "id") + "-", 0), 0U);
    if (found == by_id.end()) continue;
    const Span& span = found->second;
    EXPECT_NEAR(static_cast<double>(span.start_ns),
                static_cast<double>(IntegerOf(request, "arrival_ns") + offset_ns), 2e6);
    EXPECT_EQ(span.attributes.at("gen_ai.usage.completion_tokens"),
              "{\"intValue\":\"" + std::to_string(IntegerOf(request, "output_tokens")) + "\"}");
  }
}

TEST(InferenceSpans, SglangHasATreeForEachFinishedRequest) {
  const Folder folder;
  const InferenceOptions options = BusyEngine(folder, Engine::kSglang);
  const InferenceSummary summary = Simulate(options);
  const auto spans = SpansOf(Bytes(options.directory + "/spans.jsonl"));
  EXPECT_EQ(spans.size(), summary.spans);
  uint64_t roots = 0;
  uint64_t requests = 0;
  uint64_t orphans = 0;
  for (const auto& [id, span] : spans) {
    roots += span.name == "Bootstrap Room 0x0" ? 1 : 0;
    EXPECT_EQ(span.parent.empty(), span.name == "Bootstrap Room 0x0");
    const auto parent = spans.find(span.parent);
    if (span.parent.empty()) continue;
    if (parent == spans.end()) {
      ++orphans;
      continue;
    }
    EXPECT_GE(span.start_ns, parent->second.start_ns) << span.name;
    EXPECT_LE(span.end_ns, parent->second.end_ns) << span.name;
    if (span.name.rfind(" Req ", 0) == 0) {
      ++requests;
      EXPECT_EQ(parent->second.name, "Bootstrap Room 0x0");
      EXPECT_EQ(span.name.substr(5), span.attributes.at("rid").substr(16, 8));
    } else if (span.name == "decode_loop") {
      EXPECT_EQ(parent->second.name.rfind("Scheduler [TP 0] (host:", 0), 0U);
    }
  }
  EXPECT_EQ(roots, summary.finished);
  EXPECT_EQ(requests, summary.finished);
  EXPECT_GT(orphans, 0U);  // of aborted requests and of the unfinished one
}

}  // namespace
}  // namespace telltale::simulate
