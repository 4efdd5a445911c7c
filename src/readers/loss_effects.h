#pragma once

// What each kind of loss does to answers, but for those of NCCL Inspector logs
// (nccl_inspector/loss_kinds.h). docs/traces.md, logs.md and flight_recorder.md describe the kinds.

#include <string_view>

namespace telltale {

// Empty for a kind that is not known.
std::string_view LossEffect(std::string_view kind);

}  // namespace telltale
