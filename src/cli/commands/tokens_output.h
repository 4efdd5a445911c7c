#pragma once

// The answers of `telltale tokens`.

#include <string>

#include "cli/command.h"
#include "tokens/encoded_steps.h"
#include "tokens/token_stats.h"

namespace telltale::cli {

void PrintSymbols(const tokens::Codec& codec, const tokens::EncodedSteps& steps,
                  const tokens::CallTrees& trees, size_t top, const GlobalOptions& global);
void PrintTrees(const tokens::CallTrees& trees, const GlobalOptions& global);
void PrintStats(const tokens::TokenStats& stats, const tokens::Vocabulary& vocabulary,
                const GlobalOptions& global);
// `difference`: empty where all came back.
void PrintVerified(const tokens::CallTrees& trees, const std::string& difference,
                   const GlobalOptions& global);

}  // namespace telltale::cli
