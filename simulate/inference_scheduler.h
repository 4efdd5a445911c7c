#pragma once

// Continuous batching over paged KV blocks, as engines do it: which requests compute how many
// tokens in the next step, and which are pre-empted when blocks run short (their tokens are then
// computed anew). vLLM V1 mixes prompts into the steps of running requests; vLLM V0 and SGLang run
// steps of prompts before steps of decodes.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "simulate/inference_run.h"

namespace telltale::simulate {

class Scheduler {
 public:
  // `requests` must outlive this.
  Scheduler(const InferenceOptions& options, std::vector<InferenceRequest>& requests);

  void Arrive(uint32_t request) { waiting_.push_back(request); }
  void Abort(uint32_t request, int64_t now_ns);

  // A step without entries where there is nothing to do.
  InferenceStep Decide(int64_t now_ns);

  // The step's tokens are computed and sampled: requests get on, and some finish.
  void Complete(const InferenceStep& step);

  // Requests finished or aborted so far, without those that outlast the recording.
  uint64_t ended() const { return ended_; }

 private:
  void DecideMixed(InferenceStep& step);
  void DecidePromptsFirst(InferenceStep& step);
  void AddRunning(InferenceStep& step);
  void AddWaiting(InferenceStep& step);
  void Add(InferenceStep& step, uint32_t request, uint32_t tokens);
  bool MakeRoom(InferenceStep& step, uint32_t request, uint32_t tokens);
  bool Allocate(uint32_t request, uint32_t tokens, uint64_t keep_free);
  void Release(uint32_t request);
  void End(uint32_t request, RequestEnd end, int64_t now_ns);

  const InferenceOptions& options_;
  std::vector<InferenceRequest>& requests_;
  const bool prompts_first_;
  std::deque<uint32_t> waiting_;
  std::vector<uint32_t> running_;    // in order of admission
  std::vector<uint32_t> blocks_;     // by request
  std::optional<uint32_t> partial_;  // prompts first: whose prompt is computed in part
  uint64_t free_blocks_;
  uint32_t left_ = 0;    // requests that gave blocks back since the last decision
  uint32_t budget_ = 0;  // tokens left in the step that is being decided on
  uint64_t ended_ = 0;
};

}  // namespace telltale::simulate
