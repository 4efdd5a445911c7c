#include "readers/kineto/element_scanner.h"

#include <algorithm>
#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace telltale::kineto {
namespace {

constexpr size_t kBlock = 64;

// Bit i tells of byte i of a block.
struct BlockMasks {
  uint64_t quotes = 0;
  uint64_t backslashes = 0;
  uint64_t brackets = 0;
};

#ifdef __SSE2__
BlockMasks MasksOf(const char* block) {
  BlockMasks masks;
  for (int part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 16 * part));
    const auto mask_of = [](__m128i equal) {
      return static_cast<uint64_t>(static_cast<uint32_t>(_mm_movemask_epi8(equal)));
    };
    // '[' and '{', and ']' and '}', differ only in this bit.
    const __m128i lower = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    const __m128i brackets = _mm_or_si128(_mm_cmpeq_epi8(lower, _mm_set1_epi8('{')),
                                          _mm_cmpeq_epi8(lower, _mm_set1_epi8('}')));
    masks.quotes |= mask_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'))) << (16 * part);
    masks.backslashes |= mask_of(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))) << (16 * part);
    masks.brackets |= mask_of(brackets) << (16 * part);
  }
  return masks;
}
#else
BlockMasks MasksOf(const char* block) {
  BlockMasks masks;
  for (size_t i = 0; i < kBlock; ++i) {
    const uint64_t bit = uint64_t{1} << i;
    const char c = block[i];
    if (c == '"') masks.quotes |= bit;
    if (c == '\\') masks.backslashes |= bit;
    if (c == '{' || c == '}' || c == '[' || c == ']') masks.brackets |= bit;
  }
  return masks;
}
#endif

}  // namespace

void ElementScanner::Forget(size_t count) {
  scanned_ -= count;
  if (depth_ > 0) element_begin_ -= count;
}

void ElementScanner::Restart(size_t offset) {
  *this = ElementScanner();
  scanned_ = offset;
}

bool ElementScanner::Bracket(const char* data, size_t at, std::vector<ElementBounds>& elements) {
  const char c = data[at];
  if (c == '{' || c == '[') {
    if (depth_++ == 0) element_begin_ = at;
    return true;
  }
  if (depth_ == 0) {  // of the array itself; a lone '}' is taken for it too
    closed_ = true;
    return false;
  }
  if (--depth_ == 0) elements.push_back({element_begin_, at + 1});
  return true;
}

void ElementScanner::ScanSlowly(const char* data, size_t end,
                                std::vector<ElementBounds>& elements) {
  for (; scanned_ < end; ++scanned_) {
    const char c = data[scanned_];
    if (in_string_) {
      if (escaped_) {
        escaped_ = false;
      } else if (c == '\\') {
        escaped_ = true;
      } else if (c == '"') {
        in_string_ = false;
      }
    } else if (c == '"') {
      in_string_ = depth_ > 0;
    } else if (c == '{' || c == '}' || c == '[' || c == ']') {
      if (!Bracket(data, scanned_, elements)) {
        ++scanned_;
        return;
      }
    }
  }
}

void ElementScanner::Scan(const char* data, size_t size, std::vector<ElementBounds>& elements) {
  while (!closed_ && scanned_ < size) {
    if (size - scanned_ < kBlock) return ScanSlowly(data, size, elements);
    const BlockMasks masks = MasksOf(data + scanned_);
    if (masks.backslashes != 0 || escaped_) {
      ScanSlowly(data, scanned_ + kBlock, elements);
      continue;
    }
    // Between elements there are no strings: a quotation mark too many must not turn inside and
    // outside over for the rest of the file.
    for (uint64_t marks = masks.quotes | masks.brackets; marks != 0; marks &= marks - 1) {
      const int bit = std::countr_zero(marks);
      const size_t at = scanned_ + static_cast<size_t>(bit);
      if ((masks.quotes >> bit & 1) != 0) {
        in_string_ = !in_string_ && depth_ > 0;
      } else if (!in_string_ && !Bracket(data, at, elements)) {
        scanned_ = at + 1;
        return;
      }
    }
    scanned_ += kBlock;
  }
}

}  // namespace telltale::kineto
