#pragma once

// Which keys of a block stand for values of a range, without making values of the keys.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace telltale::collectives {

class KeyRange {
 public:
  // Of the values in [begin, end); value = key + offset.
  KeyRange(int64_t begin, int64_t end, int64_t offset) {
    const uint64_t least = KeyOf(begin, offset);
    const uint64_t most = KeyOf(end, offset);
    holds_all_ = least == 0 && most == kAll;
    low_ = static_cast<uint32_t>(least);
    count_ = static_cast<uint32_t>(std::max(least, most) - least);
  }

  // What is below the least becomes a number that is too large.
  bool Holds(uint32_t key) const { return holds_all_ || key - low_ < count_; }

  // A loop without a way out: it takes many at once.
  size_t CountInside(const uint32_t* keys, size_t count) const {
    if (holds_all_) return count;
    uint32_t inside = 0;
    for (size_t i = 0; i < count; ++i) inside += keys[i] - low_ < count_ ? 1 : 0;
    return inside;
  }

  // The first place behind `begin`, whose key is inside, that is not.
  size_t EndOfRun(const uint32_t* keys, size_t begin, size_t end) const {
    if (Holds(keys[end - 1]) && CountInside(keys + begin, end - begin) == end - begin) return end;
    size_t run_end = begin + 1;
    while (run_end < end && Holds(keys[run_end])) ++run_end;
    return run_end;
  }

 private:
  static constexpr uint64_t kAll = uint64_t{1} << 32;

  static uint64_t KeyOf(int64_t value, int64_t offset) {
    if (value <= offset) return 0;
    return std::min(static_cast<uint64_t>(value) - static_cast<uint64_t>(offset), kAll);
  }

  bool holds_all_ = false;
  uint32_t low_ = 0;
  uint32_t count_ = 0;
};

}  // namespace telltale::collectives
