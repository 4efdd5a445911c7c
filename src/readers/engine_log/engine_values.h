#pragma once

// Lines in which engines report how they are: "key: value" pairs in free order, with keys that
// versions add. Metrics have the engines' own names where they have one for the same value.

#include "readers/log/clue.h"

namespace telltale::engine_log {

// vLLM: Engine 000: Avg prompt throughput: 23998.2 tokens/s, …, Running: 10 reqs, …
void ReadVllmStatistics(const log::ObservedLine& line, log::Observations& out);
// SGLang: Decode batch, #running-req: 251, #token: 2811200, token usage: 1.00, …
void ReadSglangBatch(const log::ObservedLine& line, log::Observations& out);
// torchtitan: step:  1  loss: 12.47929  grad_norm: 24.7500  memory: 160.60GiB(90.05%)  tps: 1,360
void ReadTrainStep(const log::ObservedLine& line, log::Observations& out);
// vLLM: Iteration(515): 0 context requests, 0 context tokens, 20 generation requests, …
void ReadIteration(const log::ObservedLine& line, log::Observations& out);

}  // namespace telltale::engine_log
