#pragma once

// When what happens in a step on each rank: the range on the host, operators, the calls that launch
// kernels, and kernels on the GPU. Launches run ahead of the GPU; a collective ends on no rank
// before the last rank has started it, and its transfer has taken its time after that.

#include <cstdint>
#include <vector>

#include "simulate/inference_run.h"
#include "simulate/inference_script_timing.h"
#include "simulate/inference_times.h"

namespace telltale::simulate {

class StepTimer {
 public:
  explicit StepTimer(const InferenceOptions& options);

  // Sets the step's start, end and done times. The times by rank are valid until the next call.
  const std::vector<RankTimes>& Time(InferenceStep& step);

 private:
  struct Item {
    GpuWork work = GpuWork::kEmbedding;
    double gpu_ns = 0;  // of kernels; of a collective: from the last start on
    uint64_t in_elements = 0;
    uint64_t out_elements = 0;
  };
  void RunProgram(const InferenceStep& step);
  void FillProgram(const InferenceStep& step);
  void AddCollective(GpuWork work, uint64_t in_elements);
  void Launch(uint64_t step, uint32_t item, uint32_t rank);
  void EndTogether(uint64_t step, uint32_t item);
  void Finish(uint64_t step, uint32_t rank);
  uint64_t Jitter(uint64_t step, uint64_t item, uint64_t rank, uint64_t bound) const;

  const InferenceOptions& options_;
  std::vector<Item> program_;
  std::vector<RankState> ranks_;
  std::vector<RankTimes> times_;
  ScriptTimer script_timer_;  // TraceDetail::kOperators
  uint64_t sequence_ = 0;
};

}  // namespace telltale::simulate
