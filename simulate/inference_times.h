#pragma once

// When what happened in a step, on each rank.

#include <cstdint>
#include <vector>

#include "simulate/inference_costs.h"
#include "simulate/inference_script.h"

namespace telltale::simulate {

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

struct SpanTimes {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t gpu_ns = 0;  // of what it launches
  int64_t gpu_end_ns = 0;
  uint64_t sequence = 0;  // of a collective and its operators
};

struct RankTimes {
  int64_t start_ns = 0;  // of the step's range on the host
  int64_t end_ns = 0;
  int64_t wait_ns = 0;  // for the GPU, at the end of the range
  int64_t wait_end_ns = 0;
  int64_t gpu_ns = 0;  // of the first work on the GPU
  int64_t gpu_end_ns = 0;
  std::vector<WorkTimes> work;  // TraceDetail::kSteps

  // TraceDetail::kOperators: what is done, and when, by span.
  Script script;
  std::vector<SpanTimes> spans;
};

// What one rank is ready for: the next call, and work on the GPU.
struct RankState {
  int64_t host_ns = 0;
  int64_t gpu_ns = 0;
};

}  // namespace telltale::simulate
