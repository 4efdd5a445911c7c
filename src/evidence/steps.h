#pragma once

// Steps of a profile: the iterations that frameworks and engines mark with a range.
//   PyTorch       ProfilerStep#551
//   vLLM          execute_context_1(888)_generation_0(0), execute_new_…, and its older forms
//   SGLang        step[DECODE bs=32]
//   NVTX          iteration 12, step 12, …

#include <cstdint>
#include <string_view>
#include <vector>

#include "evidence/trace_events.h"

namespace telltale::evidence {

bool IsStepName(std::string_view name);

// Events that are steps, by process and start. A step within a step is none.
std::vector<uint32_t> FindSteps(const TraceEvents& events);

}  // namespace telltale::evidence
