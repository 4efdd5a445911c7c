#pragma once

// What happens in a simulated serving engine: requests, steps, and which requests share which step.
// All times are true nanoseconds since 1970; files are written on a host's clock (host_clock.h).

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "simulate/inference_options.h"

namespace telltale::simulate {

enum class RequestEnd { kUnfinished, kFinished, kAborted };

struct InferenceRequest {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

  std::string external_id;  // what the API server and spans call it
  std::string internal_id;  // what the engine core calls it
  uint32_t prompt_tokens = 0;
  uint32_t output_limit = 0;  // tokens after which it stops
  int64_t arrival_ns = 0;     // at the API server
  int64_t queued_ns = 0;      // tokenised, and known to the scheduler
  int64_t abort_ns = kNever;  // when its client leaves, if it is not finished then
  bool outlasts_recording = false;

  // What became of it.
  RequestEnd end = RequestEnd::kUnfinished;
  int64_t scheduled_ns = 0;  // first step decided on; 0: never, as with the next
  int64_t first_token_ns = 0;
  int64_t last_token_ns = 0;
  int64_t end_ns = 0;
  uint32_t output_tokens = 0;
  uint32_t computed_tokens = 0;    // whose keys and values are in the KV cache
  uint32_t recomputed_tokens = 0;  // computed, then lost by pre-emption
  uint32_t preemptions = 0;

  // Tokens of the next steps until one is sampled: 1 once the prompt is computed.
  uint32_t MissingTokens() const { return prompt_tokens + output_tokens - computed_tokens; }
};

struct StepEntry {
  uint32_t request = 0;  // index
  uint32_t tokens = 0;
  bool is_context = false;  // no output token before this step, as vLLM counts
  bool samples = false;     // a token comes out
  uint32_t kv_tokens = 0;   // read by attention, its own among them
  uint32_t new_blocks = 0;  // of the KV cache that its tokens begin
};

struct InferenceStep {
  uint64_t number = 0;
  std::vector<StepEntry> entries;
  bool traced = false;
  bool is_extend = false;  // SGLang: prompts only
  uint64_t kv_tokens = 0;  // read by attention
  uint32_t left = 0;       // requests that have given up their place since the step before
  int64_t decided_ns = 0;
  int64_t start_ns = 0;  // of rank 0's range
  int64_t end_ns = 0;
  int64_t done_ns = 0;  // the engine has the sampled tokens

  // The scheduler when the step was decided on.
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint32_t used_blocks = 0;
  std::vector<uint32_t> preempted;  // requests

  // Sums over entries, as vLLM names steps by.
  uint32_t ContextRequests() const;
  uint32_t ContextTokens() const;
  uint32_t GenerationRequests() const;
  uint32_t GenerationTokens() const;
  uint32_t Tokens() const { return ContextTokens() + GenerationTokens(); }
};

// "prefill", "decode" or "mixed".
const char* PhaseOf(const InferenceStep& step);

// The name of a step's range in traces: vLLM's `execute_context_N(T)_generation_M(T)`, or SGLang's
// `step[DECODE bs=N]` and `step[EXTEND bs=N toks=T]`.
std::string StepName(Engine engine, const InferenceStep& step);

// `telltale:step requests=<internal id>:<tokens>,...`: the annotation of telltale's own capture.
std::string CaptureName(const InferenceStep& step, const std::vector<InferenceRequest>& requests);

struct InferenceRun {
  std::vector<InferenceRequest> requests;  // by arrival
  std::vector<InferenceStep> steps;
  int64_t start_ns = 0;
  int64_t end_ns = 0;  // of the recording
};

}  // namespace telltale::simulate
