#pragma once

#include "readers/format.h"

namespace telltale::nccl_log {

// Files that NCCL writes itself (NCCL_DEBUG_FILE). Lines of NCCL among others are engine_log's.
Format NcclLogFormat();

}  // namespace telltale::nccl_log
