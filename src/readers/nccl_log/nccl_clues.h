#pragma once

// What NCCL writes: versions, communicators that begin, warnings, network faults.

#include <span>

#include "readers/log/clue.h"

namespace telltale::nccl_log {

std::span<const log::Clue> NcclClues();

}  // namespace telltale::nccl_log
