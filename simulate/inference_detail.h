#pragma once

// What one rank does in a step, operator by operator, as an eager engine does it: inputs copied to
// the GPU (as many as the batch has new KV blocks and places given up), the layers, and, where a
// token comes out, logits and sampling.

#include "simulate/inference_run.h"
#include "simulate/inference_script.h"

namespace telltale::simulate {

Script StepScript(const InferenceOptions& options, const InferenceStep& step, uint32_t rank);

}  // namespace telltale::simulate
