#include "simulate/inference_log.h"

#include <algorithm>

#include <fmt/format.h>

#include "simulate/inference_log_lines.h"
#include "simulate/inference_log_statistics.h"
#include "simulate/inference_setup.h"

namespace telltale::simulate {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr int64_t kStatisticsNs = 10 * kSecondNs;
constexpr uint64_t kDecodeLogInterval = 40;  // SGLang's default
constexpr const char* kVllmTime = "%m-%d %H:%M:%S";
constexpr const char* kSglangTime = "%Y-%m-%d %H:%M:%S";

uint32_t ClientPort(uint32_t request) { return 34'000 + request % 20'000; }

std::string AccessText(uint32_t request, const char* path) {
  return fmt::format("INFO:     127.0.0.1:{} - \"POST {} HTTP/1.1\" 200 OK", ClientPort(request),
                     path);
}

// vLLM of both engine versions. V1 names processes in front, and files in brackets.
class VllmLog {
 public:
  VllmLog(const InferenceOptions& options, const InferenceHost& host, const InferenceRun& run)
      : options_(options), host_(host), run_(run), lines_(host.clock) {}

  std::string Engine() {
    Start();
    Requests();
    Statistics();
    if (!IsV1()) Preemptions();
    return lines_.Text();
  }

  std::string Workers(uint32_t first_rank) {
    WorkersStart(first_rank);
    return lines_.Text();
  }

 private:
  bool IsV1() const { return options_.engine == Engine::kVllm; }

  void Add(int64_t at_ns, const std::string& process, const char* level, const char* file, int line,
           const std::string& message) {
    const std::string time = lines_.Time(at_ns, kVllmTime);
    if (IsV1()) {
      lines_.Add(at_ns,
                 fmt::format("({}) {} {} [{}:{}] {}", process, level, time, file, line, message));
    } else {
      const std::string front = process.empty() ? "" : fmt::format("({}) ", process);
      lines_.Add(at_ns, fmt::format("{}{} {} {}:{}] {}", front, level, time, file, line, message));
    }
  }
  std::string Api() const { return IsV1() ? fmt::format("APIServer pid={}", host_.api_pid) : ""; }
  std::string Core() const {
    return IsV1() ? fmt::format("EngineCore_DP0 pid={}", host_.core_pid) : "";
  }

  void WorkersStart(uint32_t first_rank) {
    for (uint32_t gpu = 0; gpu < host_.worker_pids.size(); ++gpu) {
      const std::string process =
          IsV1() ? fmt::format("Worker_TP{} pid={}", first_rank + gpu, host_.worker_pids[gpu])
                 : fmt::format("VllmWorkerProcess pid={}", host_.worker_pids[gpu]);
      Add(run_.start_ns - 20 * kSecondNs, process, "INFO",
          IsV1() ? "gpu_model_runner.py" : "model_runner.py", IsV1() ? 3549 : 1110,
          fmt::format("Model loading took {:.4f} GiB memory and {:.6f} seconds",
                      14.99 / options_.Ranks(), 8.41 + 0.07 * gpu));
    }
  }

  void Start() {
    if (IsV1()) {
      Add(run_.start_ns - 41 * kSecondNs, Api(), "INFO", "api_server.py", 1351,
          "vLLM API server version 0.14.0");
      if (options_.chunked_prefill) {
        Add(run_.start_ns - 40 * kSecondNs, Api(), "INFO", "scheduler.py", 224,
            fmt::format("Chunked prefill is enabled with max_num_batched_tokens={}.",
                        options_.max_batched_tokens));
      }
    }
    WorkersStart(0);
    const uint64_t tokens = uint64_t{options_.kv_blocks} * kTokensPerBlock;
    if (IsV1()) {
      Add(run_.start_ns - 18 * kSecondNs, Core(), "INFO", "kv_cache_utils.py", 1305,
          fmt::format("GPU KV cache size: {} tokens", tokens));
    } else {
      Add(run_.start_ns - 18 * kSecondNs, "", "INFO", "executor_base.py", 111,
          fmt::format("# cuda blocks: {}, # CPU blocks: 0", options_.kv_blocks));
    }
  }

  void Requests() {
    for (uint32_t i = 0; i < run_.requests.size(); ++i) {
      const InferenceRequest& request = run_.requests[i];
      if (request.queued_ns > run_.end_ns) continue;
      Add(request.queued_ns, Api(), "INFO", IsV1() ? "async_llm.py" : "engine.py",
          IsV1() ? 228 : 267, fmt::format("Added request {}.", request.external_id));
      if (request.end == RequestEnd::kFinished) {
        const std::string access = AccessText(i, "/v1/chat/completions");
        lines_.Add(request.end_ns, IsV1() ? fmt::format("({}) {}", Api(), access) : access);
      } else if (request.end == RequestEnd::kAborted) {
        Add(request.end_ns, Api(), "INFO", IsV1() ? "async_llm.py" : "engine.py",
            IsV1() ? 438 : 300,
            IsV1() ? fmt::format("Request {} aborted.", request.external_id)
                   : fmt::format("Aborted request {}.", request.external_id));
      }
    }
  }

  void Statistics() {
    for (const EngineStatistics& report : StatisticsOf(options_, run_, kStatisticsNs)) {
      const std::string throughput = fmt::format(
          "Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, "
          "Running: {} reqs",
          report.prompt_tokens_per_s, report.output_tokens_per_s, report.running);
      const double usage = 100 * report.kv_used;
      if (!IsV1()) {
        Add(report.at_ns, "", "INFO", "metrics.py", 449,
            fmt::format("{}, Swapped: 0 reqs, Pending: {} reqs, GPU KV cache usage: {:.1f}%, CPU "
                        "KV cache usage: 0.0%.",
                        throughput, report.waiting, usage));
        continue;
      }
      const std::string preemptions =
          report.preemptions > 0 ? fmt::format("Preemptions: {}, ", report.preemptions) : "";
      Add(report.at_ns, Core(), "INFO", "loggers.py", 259,
          fmt::format("Engine 000: {}, Waiting: {} reqs, {}GPU KV cache usage: {:.1f}%, Prefix "
                      "cache hit rate: 0.0%",
                      throughput, report.waiting, preemptions, usage));
    }
  }

  // V0 warns of the first and of every 50th.
  void Preemptions() {
    uint64_t number = 0;
    for (const InferenceStep& step : run_.steps) {
      for (const uint32_t request : step.preempted) {
        if (number++ % 50 != 0) continue;
        Add(step.decided_ns, "", "WARNING", "scheduler.py", 1057,
            fmt::format("Sequence group {} is preempted by PreemptionMode.RECOMPUTE mode because "
                        "there is not enough KV cache space. This can affect the end-to-end "
                        "performance. total_cumulative_preemption_cnt={}",
                        run_.requests[request].internal_id, number));
      }
    }
  }

  const InferenceOptions& options_;
  const InferenceHost& host_;
  const InferenceRun& run_;
  LogLines lines_;
};

class SglangLog {
 public:
  SglangLog(const InferenceOptions& options, const InferenceHost& host, const InferenceRun& run)
      : options_(options), run_(run), lines_(host.clock) {}

  std::string Engine() {
    WorkersStart(0);
    Steps();
    for (uint32_t i = 0; i < run_.requests.size(); ++i) {
      const InferenceRequest& request = run_.requests[i];
      if (request.end != RequestEnd::kFinished) continue;
      lines_.Add(request.end_ns, fmt::format("[{}] {}", lines_.Time(request.end_ns, kSglangTime),
                                             AccessText(i, "/v1/chat/completions")));
    }
    return lines_.Text();
  }

  std::string Workers(uint32_t first_rank) {
    WorkersStart(first_rank);
    return lines_.Text();
  }

 private:
  void Add(int64_t at_ns, uint32_t rank, const std::string& message) {
    lines_.Add(at_ns, fmt::format("[{} TP{}] {}", lines_.Time(at_ns, kSglangTime), rank, message));
  }

  void WorkersStart(uint32_t first_rank) {
    for (uint32_t gpu = 0; gpu < options_.gpus_per_host; ++gpu) {
      Add(run_.start_ns - 20 * kSecondNs, first_rank + gpu,
          fmt::format("Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail "
                      "mem=70.12 GB, mem usage={:.2f} GB.",
                      14.99 / options_.Ranks()));
    }
  }

  void Steps() {
    uint64_t decodes = 0;
    uint64_t tokens = 0;
    int64_t last_ns = run_.start_ns;
    for (const InferenceStep& step : run_.steps) {
      if (!step.preempted.empty()) {
        Add(step.decided_ns, 0,
            fmt::format("KV cache pool is full. Retract requests. #retracted_reqs: {}, "
                        "#new_token_ratio: 0.7000 -> 1.0000",
                        step.preempted.size()));
      }
      if (step.is_extend) {
        Prefill(step);
        continue;
      }
      tokens += step.entries.size();
      if (++decodes % kDecodeLogInterval != 0) continue;
      const double seconds = static_cast<double>(step.done_ns - last_ns) / 1e9;
      Add(step.done_ns, 0,
          fmt::format("Decode batch, #running-req: {}, #token: {}, token usage: {:.2f}, cuda "
                      "graph: True, gen throughput (token/s): {:.2f}, #queue-req: {}, ",
                      step.running, step.used_blocks * kTokensPerBlock, Usage(step),
                      static_cast<double>(tokens) / seconds, step.waiting));
      tokens = 0;
      last_ns = step.done_ns;
    }
  }

  void Prefill(const InferenceStep& step) {
    Add(step.decided_ns, 0,
        fmt::format("Prefill batch, #new-seq: {}, #new-token: {}, #cached-token: 0, token usage: "
                    "{:.2f}, #running-req: {}, #queue-req: {}, ",
                    step.entries.size(), step.Tokens(), Usage(step),
                    step.running - std::min<size_t>(step.running, step.entries.size()),
                    step.waiting));
  }

  double Usage(const InferenceStep& step) const {
    return static_cast<double>(step.used_blocks) / options_.kv_blocks;
  }

  const InferenceOptions& options_;
  const InferenceRun& run_;
  LogLines lines_;
};

template <typename Log>
std::vector<std::string> LogsOf(const InferenceOptions& options,
                                const std::vector<InferenceHost>& hosts, const InferenceRun& run) {
  std::vector<std::string> logs;
  for (uint32_t host = 0; host < hosts.size(); ++host) {
    Log log(options, hosts[host], run);
    logs.push_back(host == 0 ? log.Engine() : log.Workers(host * options.gpus_per_host));
  }
  return logs;
}

}  // namespace

std::vector<std::string> EngineLogs(const InferenceOptions& options,
                                    const std::vector<InferenceHost>& hosts,
                                    const InferenceRun& run) {
  return options.engine == Engine::kSglang ? LogsOf<SglangLog>(options, hosts, run)
                                           : LogsOf<VllmLog>(options, hosts, run);
}

}  // namespace telltale::simulate
