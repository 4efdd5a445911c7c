#pragma once

// The steps that a run's profiles and logs tell of, by process.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/step_batch.h"
#include "evidence/step_requests.h"
#include "store/database.h"

namespace telltale::evidence {

// A request as a step's capture range names it.
struct NamedShare {
  uint32_t step = 0;  // index in StepsOfProcess::steps
  std::string id;
  int64_t tokens = 0;
};

struct StepsOfProcess {
  int64_t trace_process = -1;
  int64_t source = -1;
  std::string host;  // as HostsOfSources names it
  std::optional<int64_t> rank;
  std::vector<EngineStep> steps;  // by start
  std::vector<int64_t> events;    // of each step
  std::vector<NamedShare> named;
};

// Ranges of profiles that are steps, outermost ones only. By process.
Result<std::vector<StepsOfProcess>> LoadSteps(Connection& connection, int64_t run);

// Steps of which only a log tells: training steps, and vLLM's details of iterations.
struct LoggedStep {
  int64_t source = -1;
  int64_t line = 0;
  std::string host;
  std::optional<int64_t> rank;
  std::optional<int64_t> time_ns;  // when the line was written: at the end of the step
  std::optional<int64_t> duration_ns;
  StepBatch batch;
};
Result<std::vector<LoggedStep>> LoadLoggedSteps(Connection& connection, int64_t run);

}  // namespace telltale::evidence
