#pragma once

// What each kind of loss of a profile does to answers. docs/traces.md describes the kinds.

#include <string_view>

namespace telltale::trace {

// Empty for a kind that is not one of profiles.
std::string_view LossEffect(std::string_view kind);

}  // namespace telltale::trace
