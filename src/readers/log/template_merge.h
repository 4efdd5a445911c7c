#pragma once

// Templates of one statement brought together, once all are known: those of several sources or
// threads, and those of one miner that differ in words which turn out to be values.
//
// Two templates that differ are one statement's where what differs
// - looks like a value (mlx5_0, bfloat16, LlamaForCausalLM), or follows a key (dtype: auto), or
// - is one word out of several, the rest being equal: "Connected all rings" and "... all trees"
// stay
//   two, with three words or more in the place of one it takes more words the fewer are equal, or
// - is a field between commas that is not always there (", Preemptions: 3,"), or
// - is a text of words at the end, behind a head of several words and a colon.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace telltale::log {

struct MergedTemplates {
  std::vector<uint32_t> groups;    // of each text given, 0 on
  std::vector<std::string> texts;  // of each group; groups are in the order of these
};

// Neither groups nor texts depend on the order of what is given. Time grows with the number of
// tokens, not with the square of the number of texts.
MergedTemplates MergeTemplates(std::span<const std::string> texts);

}  // namespace telltale::log
