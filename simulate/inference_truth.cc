#include "simulate/inference_truth.h"

#include "base/json_text.h"
#include "simulate/json_list.h"

namespace telltale::simulate {
namespace {

const char* EngineName(Engine engine) {
  switch (engine) {
    case Engine::kVllm:
      return "vllm";
    case Engine::kVllmV0:
      return "vllm-v0";
    case Engine::kSglang:
      break;
  }
  return "sglang";
}

const char* StatusOf(RequestEnd end) {
  switch (end) {
    case RequestEnd::kFinished:
      return "finished";
    case RequestEnd::kAborted:
      return "aborted";
    case RequestEnd::kUnfinished:
      break;
  }
  return "unfinished";
}

std::string TimeOrNull(int64_t ns) { return ns == 0 ? "null" : fmt::format("{}", ns); }

std::string HostsJson(const std::vector<InferenceHost>& hosts) {
  JsonList list;
  for (const InferenceHost& host : hosts) {
    list.Add(R"({{"name":{},"offset_ns":{},"drift_ppm":{},"t0_ns":{}}})", JsonString(host.name),
             host.clock.offset_ns, host.clock.drift_ppm, host.clock.reference_ns);
  }
  return list.text();
}

std::string RanksJson(const InferenceOptions& options, const std::vector<InferenceHost>& hosts,
                      const std::vector<std::string>& trace_files) {
  JsonList list;
  for (uint32_t rank = 0; rank < options.Ranks(); ++rank) {
    const uint32_t host = rank / options.gpus_per_host;
    list.Add(R"({{"rank":{},"host":{},"pid":{},"file":{}}})", rank, host,
             hosts[host].worker_pids[rank % options.gpus_per_host], JsonString(trace_files[rank]));
  }
  return list.text();
}

std::string RequestsJson(const InferenceOptions& options, const InferenceRun& run) {
  JsonList list;
  for (const InferenceRequest& request : run.requests) {
    list.Add(
        "\n"
        R"({{"id":{},"internal_id":{},"arrival_ns":{},"first_token_ns":{},"end_ns":{},)"
        R"("status":"{}","prompt_tokens":{},"output_tokens":{},"recomputed_tokens":{},)"
        R"("preemptions":{},"has_span":{}}})",
        JsonString(request.external_id), JsonString(request.internal_id), request.arrival_ns,
        TimeOrNull(request.first_token_ns), TimeOrNull(request.end_ns), StatusOf(request.end),
        request.prompt_tokens, request.output_tokens, request.recomputed_tokens,
        request.preemptions, options.spans && request.end == RequestEnd::kFinished);
  }
  return list.text();
}

std::string StepsJson(const InferenceOptions& options, const HostClock& clock,
                      const InferenceRun& run) {
  JsonList list;
  for (const InferenceStep& step : run.steps) {
    JsonList entries;
    for (const StepEntry& entry : step.entries) {
      entries.Add("[{},{}]", JsonString(run.requests[entry.request].internal_id), entry.tokens);
    }
    list.Add(
        "\n"
        R"({{"step":{},"name":"{}","phase":"{}","traced":{},"decided_ns":{},"start_ns":{},)"
        R"("end_ns":{},"local_start_ns":{},"local_end_ns":{},"done_ns":{},"requests":[{}]}})",
        step.number, StepName(options.engine, step), PhaseOf(step), step.traced, step.decided_ns,
        step.start_ns, step.end_ns, clock.Local(step.start_ns), clock.Local(step.end_ns),
        step.done_ns, entries.text());
  }
  return list.text();
}

}  // namespace

std::string InferenceTruthJson(const InferenceOptions& options,
                               const std::vector<InferenceHost>& hosts,
                               const std::vector<std::string>& trace_files,
                               const InferenceRun& run) {
  return fmt::format(
      "{{\"schema\":\"telltale/simulate-inference-truth/1\",\n\"seed\":{},\n\"engine\":\"{}\",\n"
      "\"tensor_parallel\":{},\n\"t0_ns\":{},\n\"end_ns\":{},\n\"hosts\":[{}],\n\"ranks\":[{}],\n"
      "\"requests\":[{}],\n\"steps\":[{}]}}\n",
      options.seed, EngineName(options.engine), options.Ranks(), run.start_ns, run.end_ns,
      HostsJson(hosts), RanksJson(options, hosts, trace_files), RequestsJson(options, run),
      StepsJson(options, hosts[0].clock, run));
}

}  // namespace telltale::simulate
