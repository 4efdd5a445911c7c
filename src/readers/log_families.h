#pragma once

// The kinds of logs, and what lines of any of them may tell of: one list, since engines write
// NCCL's and PyTorch's lines, and a journal may hold those of all programs of a host.
//
// To read another kind of log, add its family here and a Format beside its prefixes.

#include "readers/log/log_family.h"

namespace telltale {

const log::LogFamily& EngineLogFamily();
const log::LogFamily& NcclLogFamily();
const log::LogFamily& KernelLogFamily();

}  // namespace telltale
