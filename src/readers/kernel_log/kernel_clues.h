#pragma once

// What the kernel, Nvidia's driver and the fabric manager report: Xid and SXid, GPUs that are lost,
// NVLink, processes killed for memory.

#include <span>

#include "readers/log/clue.h"

namespace telltale::kernel_log {

std::span<const log::Clue> KernelClues();

}  // namespace telltale::kernel_log
