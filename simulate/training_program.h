#pragma once

// The communication of one training step, as a list of operations for each pipeline stage: a
// transformer with Megatron-style tensor and sequence parallelism, the 1F1B pipeline schedule, a
// distributed optimiser, and optionally experts.

#include <cstdint>
#include <vector>

#include "simulate/inspector_line.h"
#include "simulate/training_layout.h"
#include "simulate/training_options.h"

namespace telltale::simulate {

struct ProgramOperation {
  Group group;
  Function function;       // kSendRecv stands for an all-to-all made of Send and Recv
  int32_t peer_step = 0;   // Send and Recv: the peer's stage minus this one's
  uint32_t period = 1;     // runs in every period-th step
  uint64_t message_bytes;  // as NCCL counts it: per-rank send (AllGather) or receive
                           // (ReduceScatter) size
  int64_t compute_ns;      // computation before it
};

std::vector<ProgramOperation> StageProgram(const TrainingOptions& options, const Layout& layout,
                                           uint32_t stage);

}  // namespace telltale::simulate
