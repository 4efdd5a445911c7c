#pragma once

// What a structural token must be, wherever it comes from: one connected subtree or one run of
// siblings under one parent, which crosses no thread, stream, communicator or step.

#include <string>

#include "tokens/encoded_steps.h"

namespace telltale::test {

// What is wrong with a token of the vocabulary; empty: nothing.
std::string FaultOfTokens(const tokens::Codec& codec);
// What is wrong with where the tokens of encoded steps stand. `trees` were encoded.
std::string FaultOfSymbols(const tokens::Codec& codec, const tokens::CallTrees& trees);

}  // namespace telltale::test
