#include "simulate/inference_scheduler.h"

#include <algorithm>

#include "simulate/inference_setup.h"

namespace telltale::simulate {
namespace {

uint32_t BlocksFor(uint32_t tokens) { return (tokens + kTokensPerBlock - 1) / kTokensPerBlock; }

}  // namespace

Scheduler::Scheduler(const InferenceOptions& options, std::vector<InferenceRequest>& requests)
    : options_(options),
      requests_(requests),
      prompts_first_(options.engine != Engine::kVllm),
      blocks_(requests.size()),
      free_blocks_(options.kv_blocks) {}

void Scheduler::Abort(uint32_t request, int64_t now_ns) {
  if (requests_[request].end != RequestEnd::kUnfinished) return;
  std::erase(waiting_, request);
  std::erase(running_, request);
  if (partial_ == request) partial_.reset();
  End(request, RequestEnd::kAborted, now_ns);
}

InferenceStep Scheduler::Decide(int64_t now_ns) {
  InferenceStep step;
  step.decided_ns = now_ns;
  budget_ = options_.max_batched_tokens;
  if (prompts_first_) {
    DecidePromptsFirst(step);
  } else {
    DecideMixed(step);
  }
  for (StepEntry& entry : step.entries) {
    InferenceRequest& request = requests_[entry.request];
    if (request.scheduled_ns == 0) request.scheduled_ns = now_ns;
    entry.kv_tokens = request.computed_tokens + entry.tokens;
    entry.new_blocks = BlocksFor(entry.kv_tokens) - BlocksFor(request.computed_tokens);
    step.kv_tokens += entry.kv_tokens;
  }
  step.left = left_;
  left_ = 0;
  step.running = static_cast<uint32_t>(running_.size());
  step.waiting = static_cast<uint32_t>(waiting_.size());
  step.used_blocks = static_cast<uint32_t>(options_.kv_blocks - free_blocks_);
  return step;
}

void Scheduler::DecideMixed(InferenceStep& step) {
  AddRunning(step);
  if (step.preempted.empty()) AddWaiting(step);
}

void Scheduler::DecidePromptsFirst(InferenceStep& step) {
  if (partial_) Add(step, *partial_, std::min(budget_, requests_[*partial_].MissingTokens()));
  AddWaiting(step);
  step.is_extend = !step.entries.empty();
  if (!step.is_extend) AddRunning(step);
}

void Scheduler::AddRunning(InferenceStep& step) {
  for (size_t i = 0; i < running_.size() && budget_ > 0; ++i) {
    const uint32_t request = running_[i];
    const uint32_t tokens = std::min(budget_, requests_[request].MissingTokens());
    if (!MakeRoom(step, request, tokens)) return;
    Add(step, request, tokens);
  }
}

void Scheduler::AddWaiting(InferenceStep& step) {
  while (budget_ > 0 && !waiting_.empty() && running_.size() < options_.max_batch) {
    const uint32_t request = waiting_.front();
    const uint32_t missing = requests_[request].MissingTokens();
    if (!options_.chunked_prefill && missing > budget_) return;
    const uint32_t tokens = std::min(budget_, missing);
    // Engines that run prompts first set blocks for the whole prompt aside, and keep some free for
    // running requests to grow into: too few where answers are long.
    const bool fits = prompts_first_ ? Allocate(request, missing, running_.size() / 4)
                                     : Allocate(request, tokens, 0);
    if (!fits) return;
    waiting_.pop_front();
    running_.push_back(request);
    Add(step, request, tokens);
  }
}

void Scheduler::Add(InferenceStep& step, uint32_t request, uint32_t tokens) {
  const InferenceRequest& state = requests_[request];
  budget_ -= tokens;
  const bool samples = tokens == state.MissingTokens();
  step.entries.push_back({request, tokens, state.output_tokens == 0, samples});
  if (!prompts_first_) return;
  if (!samples) {
    partial_ = request;
  } else if (partial_ == request) {
    partial_.reset();
  }
}

// False if the request was itself the last one, and is now pre-empted.
bool Scheduler::MakeRoom(InferenceStep& step, uint32_t request, uint32_t tokens) {
  while (!Allocate(request, tokens, 0)) {
    const uint32_t last = running_.back();
    running_.pop_back();
    Release(last);
    InferenceRequest& state = requests_[last];
    state.recomputed_tokens += state.computed_tokens;
    state.computed_tokens = 0;
    ++state.preemptions;
    waiting_.push_front(last);
    step.preempted.push_back(last);
    if (last == request) return false;
  }
  return true;
}

bool Scheduler::Allocate(uint32_t request, uint32_t tokens, uint64_t keep_free) {
  const uint32_t wanted = BlocksFor(requests_[request].computed_tokens + tokens);
  const uint32_t held = blocks_[request];
  if (wanted <= held) return true;
  if (free_blocks_ < wanted - held + keep_free) return false;
  free_blocks_ -= wanted - held;
  blocks_[request] = wanted;
  return true;
}

void Scheduler::Release(uint32_t request) {
  if (blocks_[request] > 0) ++left_;
  free_blocks_ += blocks_[request];
  blocks_[request] = 0;
}

void Scheduler::Complete(const InferenceStep& step) {
  for (const StepEntry& entry : step.entries) {
    InferenceRequest& request = requests_[entry.request];
    request.computed_tokens += entry.tokens;
    if (!entry.samples) continue;
    if (++request.output_tokens == 1) request.first_token_ns = step.done_ns;
    request.last_token_ns = step.done_ns;
    if (request.output_tokens < request.output_limit) continue;
    std::erase(running_, entry.request);
    End(entry.request, RequestEnd::kFinished, step.done_ns);
  }
}

void Scheduler::End(uint32_t request, RequestEnd end, int64_t now_ns) {
  Release(request);
  InferenceRequest& state = requests_[request];
  state.end = end;
  state.end_ns = now_ns;
  if (!state.outlasts_recording) ++ended_;
}

}  // namespace telltale::simulate
