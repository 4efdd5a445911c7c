#pragma once

// `telltale simulate inference`: the engine logs, PyTorch traces and OpenTelemetry spans of a
// simulated LLM serving engine, each host's files on that host's own clock, with the truth about
// them in a file beside the folder. The same options give the same bytes.
//
//   DIR/<host>/engine.log                                  the engine's log, or its workers' lines
//   DIR/<host>/<host>_<pid>.<ns>.pt.trace.json[.gz]        a Kineto trace for each rank
//   DIR/spans.jsonl                                        OTLP JSON, as a collector's file
//   exporter DIR.truth.json                                         see inference_truth.h

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "simulate/inference_options.h"

namespace telltale::simulate {

struct InferenceSummary {
  std::string directory;
  std::string truth_path;
  uint64_t files = 0;  // without the truth
  uint64_t steps = 0;
  uint64_t traced_steps = 0;
  uint64_t finished = 0;  // requests
  uint64_t aborted = 0;
  uint64_t unfinished = 0;
  uint64_t preemptions = 0;
  uint64_t spans = 0;
  uint64_t text_bytes = 0;  // before compression, without the truth
};

// `progress`, if set, is called with 0 to 1 from the calling thread.
Result<InferenceSummary> SimulateInference(const InferenceOptions& options,
                                           const std::function<void(double)>& progress = {});

}  // namespace telltale::simulate
