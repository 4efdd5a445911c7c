#pragma once

// What a simulated LLM serving engine looks like, what it is asked, and what is recorded of it.

#include <cstdint>
#include <optional>
#include <string>

namespace telltale::simulate {

enum class Engine { kVllm, kVllmV0, kSglang };

// What traces hold of a step: the main operator and kernel of each part, or all that an eager
// engine does in it. The latter takes more time too.
enum class TraceDetail { kSteps, kOperators };

struct InferenceOptions {
  // The engine: one instance, tensor parallel over all hosts' GPUs.
  Engine engine = Engine::kVllm;
  uint32_t hosts = 2;
  uint32_t gpus_per_host = 2;
  uint32_t max_batch = 64;             // requests in a step
  uint32_t max_batched_tokens = 2048;  // of a step
  bool chunked_prefill = true;
  uint32_t kv_blocks = 4096;  // of 16 tokens each
  uint32_t layers = 2;        // transformer layers, two kernels each (kSteps)
  // The last gathers the logits, the others are all-reduces. Not given: 5, or with kOperators two
  // all-reduces a layer and the gather.
  std::optional<uint32_t> collectives_per_step;

  // The requests.
  uint32_t requests = 200;
  double rate_per_s = 8;         // Poisson arrivals
  uint32_t prompt_tokens = 256;  // medians of log-normal lengths
  uint32_t output_tokens = 64;
  double aborted_share = 0.02;   // whose client leaves before long
  uint32_t unfinished = 1;       // the last ones: so long that the recording ends before they do
  double client_id_share = 0.2;  // whose client gave an id of its own
  std::string client_id_prefix = "nightly-eval";

  // The hosts' clocks: each is off by up to so much, either way.
  double clock_offset_ms = 50;
  double clock_drift_ppm = 20;

  // What is recorded. Traces cover a part of the time in which requests arrive; up to 1 means up to
  // the end of the recording.
  double trace_from = 0;
  double trace_to = 1;
  uint32_t trace_lag_steps = 0;  // traces of hosts after the first begin so many steps later
  bool collective_args = true;   // false: all-reduces as of NCCL called directly, without arguments
  TraceDetail trace_detail = TraceDetail::kSteps;
  // kOperators: share of each rank's layers in which something happens that others do not do (the
  // allocator turns to CUDA, an event is queried, a tensor is copied).
  double structure_noise = 0.02;
  bool spans = true;
  bool capture = false;  // steps also name their requests, in telltale's own annotation
  uint64_t start_us = 1795953925000000;  // the first moment, microseconds UTC

  uint64_t seed = 1;

  // Output.
  std::string directory;
  bool force = false;      // write into a directory that holds files
  bool gzip = false;       // of traces
  std::string truth_path;  // empty: `directory` + ".truth.json", which no reader opens

  uint32_t Ranks() const { return hosts * gpus_per_host; }
  uint32_t CollectivesPerStep() const {
    return collectives_per_step.value_or(trace_detail == TraceDetail::kOperators ? 2 * layers + 1
                                                                                 : 5);
  }
};

}  // namespace telltale::simulate
