#pragma once

// What an engine reports of itself every so many seconds.

#include <vector>

#include "simulate/inference_run.h"

namespace telltale::simulate {

struct EngineStatistics {
  int64_t at_ns = 0;
  double prompt_tokens_per_s = 0;  // of prompts computed since the report before
  double output_tokens_per_s = 0;
  uint32_t running = 0;
  uint32_t waiting = 0;
  uint32_t preemptions = 0;  // since the report before
  double kv_used = 0;        // 0 to 1
};

// A report each `interval_ns` after the start. Two idle intervals after each other have only one,
// as vLLM leaves the rest out.
std::vector<EngineStatistics> StatisticsOf(const InferenceOptions& options, const InferenceRun& run,
                                           int64_t interval_ns);

}  // namespace telltale::simulate
