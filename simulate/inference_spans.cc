#include "simulate/inference_spans.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/json_text.h"
#include "simulate/json_list.h"
#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr int64_t kVllmExportNs = 5'000'000'000;  // the SDK's default
constexpr size_t kVllmExportSpans = 512;
constexpr int64_t kSglangExportNs = 500'000'000;
constexpr size_t kSglangExportSpans = 64;

enum SpanKind { kInternal = 1, kServer = 2 };

// Numbers spans of one request: an id is a function of the request and of these.
enum SpanNumber : uint64_t { kBootstrap = 1, kRequest, kTokenizer, kScheduler, kFirstStage };

class Attributes {
 public:
  Attributes& Text(std::string_view key, std::string_view value) {
    list_.Add(R"({{"key":"{}","value":{{"stringValue":{}}}}})", key, JsonString(value));
    return *this;
  }
  // OTLP's JSON writes integers of 64 bits as text.
  Attributes& Integer(std::string_view key, uint64_t value) {
    list_.Add(R"({{"key":"{}","value":{{"intValue":"{}"}}}})", key, value);
    return *this;
  }
  Attributes& Real(std::string_view key, double value) {
    list_.Add(R"({{"key":"{}","value":{{"doubleValue":{}}}}})", key, value);
    return *this;
  }
  Attributes& Seconds(std::string_view key, int64_t from_ns, int64_t to_ns) {
    return Real(key, static_cast<double>(to_ns - from_ns) / 1e9);
  }
  const std::string& text() const { return list_.text(); }

 private:
  JsonList list_;
};

class SpanList {
 public:
  SpanList(const InferenceOptions& options, const InferenceHost& host)
      : options_(options), host_(host) {}

  void Add(uint32_t request, uint64_t number, uint64_t parent, std::string_view name, SpanKind kind,
           int64_t start_ns, int64_t end_ns, const Attributes& attributes) {
    spans_.push_back(
        {end_ns,
         fmt::format(R"({{"traceId":"{}","spanId":"{}","parentSpanId":"{}","flags":256,"name":{},)"
                     R"("kind":{},"startTimeUnixNano":"{}","endTimeUnixNano":"{}",)"
                     R"("attributes":[{}],"status":{{}}}})",
                     TraceId(request), SpanId(request, number),
                     parent == 0 ? "" : SpanId(request, parent), JsonString(name),
                     static_cast<int>(kind), host_.clock.Local(start_ns), host_.clock.Local(end_ns),
                     attributes.text())});
  }

  // In batches, as the SDK exports spans that have ended.
  SpanLines Lines() {
    const bool is_sglang = options_.engine == Engine::kSglang;
    const int64_t interval_ns = is_sglang ? kSglangExportNs : kVllmExportNs;
    const size_t most = is_sglang ? kSglangExportSpans : kVllmExportSpans;
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.end_ns < b.end_ns; });
    SpanLines lines;
    lines.spans = spans_.size();
    for (size_t begin = 0; begin < spans_.size();) {
      const int64_t interval = spans_[begin].end_ns / interval_ns;
      size_t end = begin;
      JsonList batch;
      for (; end < spans_.size() && end - begin < most &&
             spans_[end].end_ns / interval_ns == interval;
           ++end) {
        batch.Add("{}", spans_[end].json);
      }
      AppendLine(batch.text(), lines.text);
      begin = end;
    }
    return lines;
  }

 private:
  struct Span {
    int64_t end_ns = 0;
    std::string json;
  };

  // SGLang's own generator makes ids of 64 bits.
  std::string TraceId(uint32_t request) const {
    const bool is_short = options_.engine == Engine::kSglang;
    return fmt::format("{:016x}{:016x}", is_short ? 0 : RandomBits(options_.seed, 0x400, request),
                       RandomBits(options_.seed, 0x401, request));
  }
  std::string SpanId(uint32_t request, uint64_t number) const {
    return fmt::format("{:016x}", RandomBits(options_.seed, 0x402, request, number));
  }

  void AppendLine(const std::string& spans, std::string& out) const {
    const bool is_sglang = options_.engine == Engine::kSglang;
    Attributes resource;
    resource.Text("telemetry.sdk.language", "python")
        .Text("telemetry.sdk.name", "opentelemetry")
        .Text("telemetry.sdk.version", "1.36.0")
        .Text("service.name", is_sglang ? "sglang" : "vllm-server");
    fmt::format_to(std::back_inserter(out),
                   R"({{"resourceSpans":[{{"resource":{{"attributes":[{}]}},"scopeSpans":[{{)"
                   R"("scope":{{"name":"{}"}},"spans":[{}]}}]}}]}})"
                   "\n",
                   resource.text(), is_sglang ? "sglang server" : "vllm.llm_engine", spans);
  }

  const InferenceOptions& options_;
  const InferenceHost& host_;
  std::vector<Span> spans_;
};

void AddVllm(const InferenceRun& run, SpanList& spans) {
  for (uint32_t i = 0; i < run.requests.size(); ++i) {
    const InferenceRequest& request = run.requests[i];
    if (request.end != RequestEnd::kFinished) continue;
    Attributes attributes;
    attributes
        .Seconds("gen_ai.latency.time_to_first_token", request.arrival_ns, request.first_token_ns)
        .Seconds("gen_ai.latency.e2e", request.arrival_ns, request.end_ns)
        .Seconds("gen_ai.latency.time_in_queue", request.queued_ns, request.scheduled_ns)
        .Integer("gen_ai.usage.prompt_tokens", request.prompt_tokens)
        .Integer("gen_ai.usage.completion_tokens", request.output_tokens)
        .Seconds("gen_ai.latency.time_in_model_prefill", request.scheduled_ns,
                 request.first_token_ns)
        .Seconds("gen_ai.latency.time_in_model_decode", request.first_token_ns,
                 request.last_token_ns)
        .Seconds("gen_ai.latency.time_in_model_inference", request.scheduled_ns,
                 request.last_token_ns)
        .Text("gen_ai.response.model", "meta-llama/Llama-3.1-8B-Instruct")
        .Text("gen_ai.request.id", request.external_id)
        .Real("gen_ai.request.top_p", 0.95)
        .Integer("gen_ai.request.max_tokens", request.output_limit)
        .Real("gen_ai.request.temperature", 0.7)
        .Integer("gen_ai.request.n", 1);
    spans.Add(i, kRequest, 0, "llm_request", kServer, request.arrival_ns, request.end_ns + 80'000,
              attributes);
  }
}

std::string ThreadName(std::string_view label, const InferenceHost& host, uint32_t pid) {
  return fmt::format("{}(host:{} | pid:{})", label, host.machine_id.substr(0, 8), pid);
}

void AddSglangRequest(uint32_t index, const InferenceRequest& request, const InferenceHost& host,
                      SpanList& spans) {
  const auto stage = [&](uint64_t number, uint64_t parent, const char* name, int64_t start_ns,
                         int64_t end_ns) {
    spans.Add(index, kFirstStage + number, parent, name, kInternal, start_ns, end_ns, {});
  };
  const int64_t dispatched_ns = request.queued_ns - 120'000;
  stage(0, kTokenizer, "tokenize", request.arrival_ns + 90'000, dispatched_ns);
  stage(1, kTokenizer, "dispatch", dispatched_ns, request.queued_ns - 60'000);
  stage(2, kScheduler, "request_process", request.queued_ns - 40'000, request.queued_ns);
  if (request.scheduled_ns > 0) {
    stage(3, kScheduler, "prefill_waiting", request.queued_ns, request.scheduled_ns);
  }
  if (request.end != RequestEnd::kFinished) return;
  const int64_t end_ns = request.end_ns + 150'000;
  const auto thread = [&](SpanNumber number, std::string_view label, std::string_view plain_label,
                          uint32_t pid, int64_t start_ns, int64_t thread_end_ns) {
    Attributes attributes;
    if (number == kScheduler) attributes.Integer("tp_rank", 0);
    attributes.Text("host_id", host.machine_id)
        .Integer("pid", pid)
        .Text("thread_label", plain_label);
    spans.Add(index, number, kRequest, ThreadName(label, host, pid), kInternal, start_ns,
              thread_end_ns, attributes);
  };
  thread(kScheduler, "Scheduler [TP 0] ", "Scheduler", host.worker_pids[0],
         request.queued_ns - 50'000, request.end_ns + 20'000);
  thread(kTokenizer, "Tokenizer", "Tokenizer", host.api_pid, request.arrival_ns, end_ns);
  Attributes root;
  root.Text("rid", request.external_id);
  spans.Add(index, kRequest, kBootstrap,
            fmt::format(" Req {}", std::string_view(request.external_id).substr(0, 8)), kInternal,
            request.arrival_ns, end_ns, root);
  Attributes room;
  room.Text("bootstrap_room", "0x0");
  spans.Add(index, kBootstrap, 0, "Bootstrap Room 0x0", kInternal, request.arrival_ns, end_ns,
            room);
}

void AddSglang(const InferenceHost& host, const InferenceRun& run, SpanList& spans) {
  for (uint32_t i = 0; i < run.requests.size(); ++i) {
    const InferenceRequest& request = run.requests[i];
    if (request.queued_ns <= run.end_ns) AddSglangRequest(i, request, host, spans);
  }
  constexpr uint64_t kFirstStep = 16;  // after the stages before
  for (const InferenceStep& step : run.steps) {
    for (const StepEntry& entry : step.entries) {
      const char* name = !step.is_extend ? "decode_loop"
                         : entry.samples ? "prefill_forward"
                                         : "chunked_prefill";
      spans.Add(entry.request, kFirstStep + step.number, kScheduler, name, kInternal,
                step.decided_ns, step.done_ns, {});
    }
  }
}

}  // namespace

SpanLines Spans(const InferenceOptions& options, const InferenceHost& host,
                const InferenceRun& run) {
  SpanList spans(options, host);
  if (options.engine == Engine::kSglang) {
    AddSglang(host, run, spans);
  } else {
    AddVllm(run, spans);
  }
  return spans.Lines();
}

}  // namespace telltale::simulate
