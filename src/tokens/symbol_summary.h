#pragma once

// What people ask of a token in a step: what it stands for and what it took.

#include <optional>
#include <string>
#include <vector>

#include "tokens/encoded_steps.h"

namespace telltale::tokens {

struct SymbolSummary {
  std::string text;         // "aten::linear", "aten::empty … aten::copy_"
  int64_t start_ns = 0;     // of its first event
  int64_t duration_ns = 0;  // of its topmost events together; the unfinished count as nothing
  int64_t gpu_ns = 0;       // of its kernels, copies and memsets, one after another
  // What its topmost events normally take; none where the vocabulary does not know its label.
  std::optional<int64_t> expected_ns;
};

// By symbol of a step. `trees` are the steps that were encoded or decoded.
std::vector<SymbolSummary> Summarise(const Codec& codec, const EncodedSteps& steps, size_t step,
                                     const CallTrees& trees, const std::vector<Symbol>& symbols);

}  // namespace telltale::tokens
