#pragma once

// Names that count: "nn.Module: Linear_12" is the 12th of a stem, and "Linear_14" two further on.

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace telltale::tokens {

class CountedNames {
 public:
  explicit CountedNames(const std::vector<std::string>& names);

  // How far it is from one name to another, by their last numbers; 0 where they do not differ in
  // these alone.
  int64_t Distance(uint32_t from, uint32_t to) const {
    const Counted& one = counted_[from];
    const Counted& other = counted_[to];
    return one.stem == other.stem ? other.number - one.number : 0;
  }
  // The name so far from this one; kNone: there is none among the names.
  uint32_t Further(uint32_t name, int64_t distance) const;

 private:
  struct Counted {
    uint32_t stem = 0;  // of its own if it has no number
    int64_t number = 0;
  };
  std::vector<Counted> counted_;                                      // by name
  std::vector<std::unordered_map<int64_t, uint32_t>> names_of_stem_;  // by number
};

}  // namespace telltale::tokens
