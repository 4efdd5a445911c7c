#pragma once

#include "readers/format.h"

namespace telltale::engine_log {

// Logs of inference engines (vLLM, SGLang) and of training (torchrun, torchtitan, PyTorch).
Format EngineLogFormat();

}  // namespace telltale::engine_log
