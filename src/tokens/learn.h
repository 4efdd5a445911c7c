#pragma once

// Learning a vocabulary from steps.
//
// All trees of the steps that lie in one place become symbols, equal ones the same; so do runs of
// siblings that come often (sibling_pairs.h). Of these symbols and of the labels, those become
// tokens that save the most: a token saves, wherever it can stand, what it takes to write the
// symbol without it, and costs its definition once. As steps to come differ here and there, and a
// larger token then does not fit, what lies within a token counts a little as if it stood free.

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "tokens/encoded_steps.h"

namespace telltale::tokens {

struct LearnOptions {
  size_t size = 256;  // tokens, with the fallbacks
  unsigned threads = 1;
};

// Fails where `trees` has no steps, or the size makes no sense. Passed CheckTrees().
Result<Codec> LearnVocabulary(const CallTrees& trees, const LearnOptions& options);

}  // namespace telltale::tokens
