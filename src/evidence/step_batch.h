#pragma once

// What the name of a step says of its batch.
//   execute_context_1(888_788544)_generation_0(0)                 vLLM; numbers in brackets begin
//   execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(...)     with tokens, or say other things
//   step[DECODE bs=32], step[EXTEND bs=15 toks=15360]             SGLang
//   ProfilerStep#551, iteration 12                                training

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace telltale::evidence {

struct StepBatch {
  const char* engine = "";
  const char* phase = "";  // prefill, decode, mixed, idle, train
  std::optional<int64_t> number;
  std::optional<int64_t> context_requests, context_tokens;
  std::optional<int64_t> generation_requests, generation_tokens;

  // Requests of the step; none where the name does not say.
  std::optional<int64_t> Requests() const {
    if (!context_requests || !generation_requests) return std::nullopt;
    return *context_requests + *generation_requests;
  }
};

StepBatch BatchOf(std::string_view name);

// A range of telltale's own capture within a step names its requests:
//   telltale:step requests=cmpl-1-0-8f3a:12,cmpl-7-0-12ce:1
struct NamedRequest {
  std::string_view id;
  int64_t tokens = 0;
};
bool IsCaptureName(std::string_view name);
std::vector<NamedRequest> RequestsOfCapture(std::string_view name);

}  // namespace telltale::evidence
