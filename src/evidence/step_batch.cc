#include "evidence/step_batch.h"

#include "base/text.h"

namespace telltale::evidence {
namespace {

constexpr std::string_view kCapture = "telltale:step requests=";

std::optional<int64_t> DigitsAfter(std::string_view text, std::string_view before) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + before.size());
  return NumberOf<int64_t>(text.substr(0, text.find_first_not_of("0123456789")));
}

// "context_1(888_788544)": how many, and the tokens where digits come first in the brackets.
void ReadPart(std::string_view name, std::string_view word, std::optional<int64_t>& requests,
              std::optional<int64_t>& tokens) {
  requests = DigitsAfter(name, word);
  const size_t at = name.find(word);
  if (!requests || at == std::string_view::npos) return;
  std::string_view rest = name.substr(at + word.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of("0123456789")));
  if (rest.starts_with('(')) tokens = DigitsAfter(rest, "(");
  if (*requests == 0) tokens = 0;
}

const char* PhaseOf(const StepBatch& batch) {
  if (!batch.context_requests || !batch.generation_requests) return "";
  if (*batch.context_requests > 0) return *batch.generation_requests > 0 ? "mixed" : "prefill";
  return *batch.generation_requests > 0 ? "decode" : "idle";
}

}  // namespace

StepBatch BatchOf(std::string_view name) {
  StepBatch batch;
  if (name.starts_with("execute_")) {
    batch.engine = "vllm";
    ReadPart(name, "context_", batch.context_requests, batch.context_tokens);
    ReadPart(name, "generation_", batch.generation_requests, batch.generation_tokens);
    batch.phase = PhaseOf(batch);
    return batch;
  }
  if (name.starts_with("step[")) {
    batch.engine = "sglang";
    const auto requests = DigitsAfter(name, "bs=");
    const bool is_decode = name.find("DECODE") != std::string_view::npos;
    const bool is_extend = name.find("EXTEND") != std::string_view::npos;
    if (requests && is_decode) {
      batch.context_requests = batch.context_tokens = 0;
      batch.generation_requests = batch.generation_tokens = requests;
    } else if (requests && is_extend && name.find("MIXED") == std::string_view::npos) {
      batch.context_requests = requests;
      batch.context_tokens = DigitsAfter(name, "toks=");
      batch.generation_requests = batch.generation_tokens = 0;
    }
    batch.phase = PhaseOf(batch);
    return batch;
  }
  const size_t digits = name.find_last_not_of("0123456789");
  if (digits != std::string_view::npos) batch.number = NumberOf<int64_t>(name.substr(digits + 1));
  batch.engine = name.starts_with("ProfilerStep") ? "pytorch" : "";
  batch.phase = "train";
  return batch;
}

bool IsCaptureName(std::string_view name) { return name.starts_with(kCapture); }

std::vector<NamedRequest> RequestsOfCapture(std::string_view name) {
  std::vector<NamedRequest> requests;
  if (!IsCaptureName(name)) return requests;
  name.remove_prefix(kCapture.size());
  while (!name.empty()) {
    const std::string_view part = name.substr(0, name.find(','));
    name.remove_prefix(std::min(name.size(), part.size() + 1));
    const size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon == 0) continue;
    const auto tokens = NumberOf<int64_t>(part.substr(colon + 1));
    if (tokens) requests.push_back({part.substr(0, colon), *tokens});
  }
  return requests;
}

}  // namespace telltale::evidence
