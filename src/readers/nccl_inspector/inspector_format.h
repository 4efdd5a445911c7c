#pragma once

// The entry of NCCL Inspector JSON lines in the list of formats.

#include "readers/format.h"

namespace telltale::nccl_inspector {

Format InspectorFormat();

}  // namespace telltale::nccl_inspector
