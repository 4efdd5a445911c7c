#pragma once

// Prefixes of engines and of training: vLLM, SGLang, torchrun, torchtitan, PyTorch.
//   (EngineCore_DP0 pid=11727) INFO 02-20 23:41:49 [parallel_state.py:1234]     vLLM V1
//   INFO 01-22 18:25:07 engine.py:267]                                          vLLM V0
//   (APIServer pid=11446) INFO:                                                 uvicorn
//   [2025-11-11 04:27:58 TP0]                                                   SGLang
//   [rank0]:[titan] 2026-05-19 19:31:29,955 - root - INFO -                     torchtitan
//   W0519 19:31:02.761000 119689 torch/distributed/run.py:874]                  PyTorch, Python
//   [E520 06:31:05.050097785 ProcessGroupNCCL.cpp:757]                          PyTorch, C++

#include <span>

#include "readers/log/line_prefix.h"

namespace telltale::engine_log {

// Those above, and NCCL's: engines write both to one stream.
std::span<const log::Peel> EnginePeels();

}  // namespace telltale::engine_log
