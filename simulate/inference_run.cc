#include "simulate/inference_run.h"

#include <iterator>

#include <fmt/format.h>

namespace telltale::simulate {
namespace {

struct Sum {
  uint32_t requests = 0;
  uint32_t tokens = 0;
};

Sum SumOf(const InferenceStep& step, bool is_context) {
  Sum sum;
  for (const StepEntry& entry : step.entries) {
    if (entry.is_context != is_context) continue;
    ++sum.requests;
    sum.tokens += entry.tokens;
  }
  return sum;
}

}  // namespace

uint32_t InferenceStep::ContextRequests() const { return SumOf(*this, true).requests; }
uint32_t InferenceStep::ContextTokens() const { return SumOf(*this, true).tokens; }
uint32_t InferenceStep::GenerationRequests() const { return SumOf(*this, false).requests; }
uint32_t InferenceStep::GenerationTokens() const { return SumOf(*this, false).tokens; }

const char* PhaseOf(const InferenceStep& step) {
  bool computes_prompts = false;
  bool decodes = false;
  for (const StepEntry& entry : step.entries) {
    // A pre-empted request computes its prompt anew, whatever the engine counts it as.
    (entry.is_context || entry.tokens > 1 || !entry.samples ? computes_prompts : decodes) = true;
  }
  if (computes_prompts && decodes) return "mixed";
  return computes_prompts ? "prefill" : "decode";
}

std::string StepName(Engine engine, const InferenceStep& step) {
  if (engine != Engine::kSglang) {
    const Sum context = SumOf(step, true);
    const Sum generation = SumOf(step, false);
    return fmt::format("execute_context_{}({})_generation_{}({})", context.requests, context.tokens,
                       generation.requests, generation.tokens);
  }
  if (!step.is_extend) return fmt::format("step[DECODE bs={}]", step.entries.size());
  return fmt::format("step[EXTEND bs={} toks={}]", step.entries.size(), step.Tokens());
}

std::string CaptureName(const InferenceStep& step, const std::vector<InferenceRequest>& requests) {
  std::string name = "telltale:step requests=";
  for (const StepEntry& entry : step.entries) {
    if (name.back() != '=') name += ',';
    fmt::format_to(std::back_inserter(name), "{}:{}", requests[entry.request].internal_id,
                   entry.tokens);
  }
  return name;
}

}  // namespace telltale::simulate
