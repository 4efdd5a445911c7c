#pragma once

// What engines and training write: memory that ran out, engines that died, watchdogs, requests,
// pre-emption, processes that failed, and the values that they report.

#include <span>

#include "readers/log/clue.h"

namespace telltale::engine_log {

std::span<const log::Clue> EngineClues();

}  // namespace telltale::engine_log
