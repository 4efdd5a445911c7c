#pragma once

// Random call chains for tests of structural tokens: every shape and value that CallTrees may hold,
// also those that no profiler writes.

#include <cstdint>
#include <string>

#include "tokens/encoded_steps.h"

namespace telltale::test {

// So many steps, each a tree; the same for the same seed. Steps of one seed have some of their
// layers in common, so that there is something to learn.
tokens::CallTrees RandomTrees(uint64_t seed, size_t steps);

// What a step file holds, without its compression.
std::string StepFileContent(const std::string& file);

// What differs once the trees have been encoded, written to a file and read again; empty: nothing.
std::string LostByRoundTrip(const tokens::Codec& codec, const tokens::CallTrees& trees);

}  // namespace telltale::test
