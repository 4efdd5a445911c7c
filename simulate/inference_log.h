#pragma once

// The engine's logs: on the first host the API server's and the engine core's lines (or SGLang's
// scheduler's), on the others those of their workers. As the engines write them, at a resolution of
// one second, without a zone, vLLM's without a year, and its access lines without a time.

#include <string>
#include <vector>

#include "simulate/host_clock.h"
#include "simulate/inference_run.h"

namespace telltale::simulate {

// The whole log of each host, in the order of `hosts`, on that host's clock.
std::vector<std::string> EngineLogs(const InferenceOptions& options,
                                    const std::vector<InferenceHost>& hosts,
                                    const InferenceRun& run);

}  // namespace telltale::simulate
