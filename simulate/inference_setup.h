#pragma once

// What is drawn before a simulated engine starts: its hosts with their clocks, and the requests
// that it will get.

#include <vector>

#include "base/result.h"
#include "simulate/host_clock.h"
#include "simulate/inference_run.h"

namespace telltale::simulate {

inline constexpr uint32_t kTokensPerBlock = 16;
inline constexpr uint32_t kMostTokens = 8192;  // prompt and output of a request together

// Says which option is out of range, with what it may be.
Status CheckOptions(const InferenceOptions& options);

std::vector<InferenceHost> MakeHosts(const InferenceOptions& options);

// By arrival. Every request fits into the KV cache, and into one step where prompts are not
// chunked.
std::vector<InferenceRequest> MakeRequests(const InferenceOptions& options);

}  // namespace telltale::simulate
