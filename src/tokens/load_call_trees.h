#pragma once

// Call chains of the steps of profiles in the store, as `telltale chain --step N` lists them.

#include <optional>
#include <span>

#include "base/result.h"
#include "evidence/trace_events.h"
#include "store/store.h"
#include "tokens/call_trees.h"

namespace telltale::tokens {

// `steps`: which of the steps of the profiles, by their numbers; none: all. Fails where there is no
// profile, no step, or not the one asked for.
Result<CallTrees> LoadCallTrees(Connection& connection, const evidence::TraceFilter& filter,
                                const std::optional<std::vector<size_t>>& steps);

}  // namespace telltale::tokens
