#pragma once

// `telltale simulate training`: a folder of NCCL Inspector logs of a simulated training job, one
// file a process, with the truth about it in a file beside the folder. The same options give the
// same bytes, whatever the number of threads.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "simulate/training_options.h"

namespace telltale::simulate {

struct TrainingSummary {
  std::string directory;
  std::string truth_path;
  uint32_t steps = 0;
  uint64_t files = 0;
  uint64_t records = 0;     // operation lines written
  uint64_t dump_stats = 0;  // marker lines written
  uint64_t text_bytes = 0;  // before compression
  uint64_t lost = 0;        // operations without a line, whatever the cause
};

// `progress`, if set, is called with 0 to 1 from the calling thread.
Result<TrainingSummary> SimulateTraining(TrainingOptions options,
                                         const std::function<void(double)>& progress = {});

}  // namespace telltale::simulate
