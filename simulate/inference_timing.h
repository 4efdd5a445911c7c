#pragma once

// When what happens in a step on each rank: the range on the host, operators, the calls that launch
// kernels, and kernels on the GPU. Launches run ahead of the GPU; a collective ends on no rank
// before the last rank has started it, and its transfer has taken its time after that.

#include <cstdint>
#include <vector>

#include "simulate/inference_run.h"

namespace telltale::simulate {

enum class GpuWork : uint8_t {
  kEmbedding,
  kAttention,
  kFeedForward,
  kAllReduce,
  kAllGather,
  kSampling,
  kCopyOut,  // of sampled tokens; the host waits for it
};

inline bool IsCollective(GpuWork work) {
  return work == GpuWork::kAllReduce || work == GpuWork::kAllGather;
}

// One operator with its launch and its work on the GPU, on one rank. True nanoseconds.
struct WorkTimes {
  GpuWork work = GpuWork::kEmbedding;
  int64_t operator_ns = 0;
  int64_t operator_end_ns = 0;
  int64_t call_ns = 0;
  int64_t call_end_ns = 0;
  int64_t gpu_ns = 0;
  int64_t gpu_end_ns = 0;
  uint64_t in_elements = 0;  // of a collective; bytes of a copy
  uint64_t out_elements = 0;
  uint64_t sequence = 0;  // of a collective, among its communicator's
};

struct RankTimes {
  int64_t start_ns = 0;  // of the step's range on the host
  int64_t end_ns = 0;
  int64_t wait_ns = 0;  // for the GPU, at the end of the range
  int64_t wait_end_ns = 0;
  std::vector<WorkTimes> work;
};

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
  // What one rank is ready for.
  struct RankState {
    int64_t host_ns = 0;
    int64_t gpu_ns = 0;
  };

  void FillProgram(const InferenceStep& step);
  Item Collective(GpuWork work, uint64_t in_elements) const;
  void Launch(uint64_t step, uint32_t item, uint32_t rank);
  void EndTogether(uint64_t step, uint32_t item);
  void Finish(uint64_t step, uint32_t rank);
  uint64_t Jitter(uint64_t step, uint64_t item, uint64_t rank, uint64_t bound) const;

  const InferenceOptions& options_;
  std::vector<Item> program_;
  std::vector<RankState> ranks_;
  std::vector<RankTimes> times_;
  uint64_t sequence_ = 0;
};

}  // namespace telltale::simulate
