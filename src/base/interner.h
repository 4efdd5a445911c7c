#pragma once

// Numbers for texts, in the order in which they are first seen.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <xxhash.h>

namespace telltale {

class Interner {
 public:
  uint32_t Add(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    const std::string& kept = texts_.emplace_back(text);
    const auto number = static_cast<uint32_t>(texts_.size() - 1);
    numbers_.emplace(kept, number);
    return number;
  }
  const std::deque<std::string>& texts() const { return texts_; }

 private:
  // Names of kernels run to thousands of bytes: the library's hash is a tenth as fast.
  struct Hash {
    size_t operator()(std::string_view text) const { return XXH3_64bits(text.data(), text.size()); }
  };
  std::deque<std::string> texts_;  // keeps its elements in place
  std::unordered_map<std::string_view, uint32_t, Hash> numbers_;
};

}  // namespace telltale
