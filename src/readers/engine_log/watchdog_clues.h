#pragma once

// What the watchdog of PyTorch's NCCL process groups writes. The rank that writes is mostly one
// that waits: how far each got says who holds the others up (src/evidence/watchdog.h).

#include <span>

#include "readers/log/clue.h"

namespace telltale::engine_log {

std::span<const log::Clue> WatchdogClues();

}  // namespace telltale::engine_log
