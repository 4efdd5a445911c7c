#pragma once

// A hash table from (state, symbol) to state: the edges of a trie. Both are numbers below 2^32 - 1.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace telltale::tokens {

class Transitions {
 public:
  static constexpr uint32_t kMissing = ~uint32_t{0};

  uint32_t Find(uint32_t state, uint32_t symbol) const {
    if (slots_.empty()) return kMissing;
    const uint64_t key = uint64_t{state} << 32 | symbol;
    for (size_t at = PlaceOf(key);; at = (at + 1) & mask_) {
      if (slots_[at].key == key) return slots_[at].next;
      if (slots_[at].key == kEmpty) return kMissing;
    }
  }

  // The edge must not be there yet.
  void Add(uint32_t state, uint32_t symbol, uint32_t next) {
    if (2 * (count_ + 1) > slots_.size()) Grow();
    Insert({uint64_t{state} << 32 | symbol, next});
    ++count_;
  }

 private:
  struct Slot {
    uint64_t key = kEmpty;
    uint32_t next = kMissing;
  };
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  size_t PlaceOf(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_);
  }
  void Insert(Slot slot) {
    size_t at = PlaceOf(slot.key);
    while (slots_[at].key != kEmpty) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    shift_ = 64 - std::countr_zero(slots_.size());
    for (const Slot& slot : old) {
      if (slot.key != kEmpty) Insert(slot);
    }
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  int shift_ = 0;
  size_t count_ = 0;
};

}  // namespace telltale::tokens
