#include "readers/kineto/element_scanner.h"

#include <algorithm>
#include <bit>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "readers/kineto/json_cursor.h"

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

// Of each bit, whether the number of bits up to it, itself included, is odd.
uint64_t PrefixXor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

}  // namespace

size_t FindEventStart(std::string_view text, size_t from, std::string_view key) {
  for (size_t at = text.find(key, from); at != std::string_view::npos;
       at = text.find(key, at + 1)) {
    size_t before = at;
    while (before > from && IsJsonSpace(text[before - 1])) --before;
    if (before > from && text[before - 1] == '{') return before - 1;
  }
  return std::string_view::npos;
}

std::string_view FirstKeyOf(std::string_view element) {
  constexpr std::string_view kUsual = "\"ph\"";
  JsonCursor cursor(element);
  std::string_view key;
  if (!cursor.Take('{') || !cursor.String(key) || key.empty()) return kUsual;
  return {key.data() - 1, key.size() + 2};
}

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
    braces_ = braces_ << 1 | (c == '{' ? 1 : 0);
    is_deep_ |= depth_ > 64;
    return true;
  }
  if (depth_ == 0) {  // of the array itself; a lone '}' is taken for it too
    closed_ = true;
    return false;
  }
  unequal_ |= !is_deep_ && (braces_ & 1) != (c == '}' ? 1U : 0U);
  braces_ >>= 1;
  if (--depth_ == 0) {
    elements.push_back({element_begin_, at + 1, unequal_});
    unequal_ = is_deep_ = false;
  }
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

// Each second quotation mark ends a string, provided that all are within elements: between them
// there are no strings, and a quotation mark too many must not turn inside and outside over for the
// rest of the file. False, and nothing done, where one is between them.
bool ElementScanner::ScanBlock(const char* data, uint64_t quotes, uint64_t brackets,
                               std::vector<ElementBounds>& elements) {
  const ElementScanner before = *this;
  const size_t elements_before = elements.size();
  const uint64_t in_string = PrefixXor(quotes) ^ (in_string_ ? ~uint64_t{0} : 0);
  const size_t block = scanned_;
  uint64_t between = depth_ == 0 ? ~uint64_t{0} : 0;  // bits behind the last element
  bool all_within = true;
  scanned_ = block + kBlock;
  for (uint64_t marks = brackets & ~in_string; marks != 0; marks &= marks - 1) {
    const uint64_t from_here = ~uint64_t{0} << std::countr_zero(marks);
    all_within = all_within && (depth_ > 0 || (quotes & between & ~from_here) == 0);
    const size_t at = block + static_cast<size_t>(std::countr_zero(marks));
    if (!Bracket(data, at, elements)) {
      scanned_ = at + 1;
      between = 0;
      break;
    }
    between = depth_ == 0 ? from_here : 0;
  }
  in_string_ = (in_string >> (kBlock - 1) & 1) != 0;
  if (all_within && (quotes & between) == 0) return true;
  *this = before;
  elements.resize(elements_before);
  return false;
}

void ElementScanner::Scan(const char* data, size_t size, std::vector<ElementBounds>& elements) {
  while (!closed_ && scanned_ < size) {
    if (size - scanned_ < kBlock) return ScanSlowly(data, size, elements);
    const BlockMasks masks = MasksOf(data + scanned_);
    if (masks.backslashes != 0 || escaped_ ||
        !ScanBlock(data, masks.quotes, masks.brackets, elements)) {
      ScanSlowly(data, scanned_ + kBlock, elements);
    }
  }
}

}  // namespace telltale::kineto
