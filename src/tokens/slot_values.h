#pragma once

// What events normally take at each place of a grammar, from steps.

#include <vector>

#include "tokens/encoded_steps.h"

namespace telltale::tokens {

// By slot: medians of duration and gap, and the most frequent name.
std::vector<Slot> LearnSlots(const Codec& codec, const CallTrees& trees, unsigned threads);

}  // namespace telltale::tokens
