#pragma once

// Text that other text is expected to begin with, kept so that the comparison needs no call and,
// for texts of similar lengths, takes the same branches.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace telltale {

class ExpectedText {
 public:
  // The bits that are different; several comparisons can be put together by `|`.
  using Difference = uint64_t __attribute__((vector_size(16)));
  static bool IsNone(Difference difference) { return (difference[0] | difference[1]) == 0; }

  // As many bytes behind the text must be readable; what they are does not matter.
  static constexpr size_t kPadding = 63;

  ExpectedText() = default;
  explicit ExpectedText(std::string_view text) : size_(text.size()) {
    first_ = GroupOf(text);
    for (size_t i = kGroupBytes; i < size_; i += kGroupBytes) {
      rest_.push_back(GroupOf(text.substr(i)));
    }
  }

  size_t size() const { return size_; }

  // Of all of `text`, behind which kPadding bytes must be readable.
  bool Is(std::string_view text) const {
    return text.size() == size_ && IsNone(DifferenceTo(text.data()));
  }

  [[gnu::always_inline]] Difference DifferenceTo(const char* text) const {
    Difference all = first_.DifferenceTo(text);
    if (size_ > kGroupBytes) {
      for (const Group& group : rest_) {
        text += kGroupBytes;
        all |= group.DifferenceTo(text);
      }
    }
    return all;
  }

 private:
  static constexpr size_t kBlocks = 4;
  static constexpr size_t kGroupBytes = kBlocks * sizeof(Difference);
  struct Group {
    Difference text[kBlocks] = {};
    Difference mask[kBlocks] = {};

    [[gnu::always_inline]] Difference DifferenceTo(const char* other) const {
      Difference all = {0, 0};
      for (size_t i = 0; i < kBlocks; ++i) {
        Difference block;
        std::memcpy(&block, other + i * sizeof block, sizeof block);
        all |= (block ^ text[i]) & mask[i];
      }
      return all;
    }
  };
  static Group GroupOf(std::string_view text) {
    Group group;
    const size_t size = std::min(text.size(), kGroupBytes);
    std::memcpy(group.text, text.data(), size);
    std::memset(group.mask, 0xff, size);
    return group;
  }

  size_t size_ = 0;
  Group first_;
  std::vector<Group> rest_;
};

}  // namespace telltale
