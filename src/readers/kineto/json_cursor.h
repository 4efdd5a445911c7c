#pragma once

// Reads JSON text from left to right, only as strictly as needed: profilers write NaN, trailing
// commas and bytes that are not UTF-8. Every function leaves the cursor behind what it read, and
// returns false where the text is not what was asked for.

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace telltale::kineto {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline bool IsJsonSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

class JsonCursor {
 public:
  explicit JsonCursor(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}

  bool AtEnd() {
    SkipSpace();
    return at_ == end_;
  }
  // The next byte that is not white space, without taking it; 0 at the end.
  char Peek() {
    SkipSpace();
    return at_ == end_ ? '\0' : *at_;
  }
  bool Take(char c) {
    if (Peek() != c || c == '\0') return false;
    ++at_;
    return true;
  }
  // Just this text, which is short: a call to compare it takes longer than comparing it.
  bool TakeText(std::string_view text) {
    if (static_cast<size_t>(end_ - at_) < text.size()) return false;
    const char* wanted = text.data();
    const char* const wanted_end = wanted + text.size();
    const char* at = at_;
    for (; wanted_end - wanted >= 8; wanted += 8, at += 8) {
      uint64_t left = 0, right = 0;
      std::memcpy(&left, at, 8);
      std::memcpy(&right, wanted, 8);
      if (left != right) return false;
    }
    for (; wanted != wanted_end; ++wanted, ++at) {
      if (*at != *wanted) return false;
    }
    at_ = at;
    return true;
  }
  // A string; `raw` is what stands between the quotes, escapes included.
  bool String(std::string_view& raw);
  // A number, word or string: its text, without quotes.
  bool Scalar(std::string_view& text) {
    const char first = Peek();
    if (first == '"') return String(text);
    if (first == '{' || first == '[') return false;
    const char* const begin = at_;
    at_ = EndOfWord(begin, end_);
    text = std::string_view(begin, static_cast<size_t>(at_ - begin));
    return at_ != begin;
  }
  // Any value, also nested ones (to any depth).
  bool SkipValue();
  const char* position() const { return at_; }

 private:
  void SkipSpace() {
    while (at_ != end_ && IsJsonSpace(*at_)) ++at_;
  }
  // The first byte that is not of a number or word, or `end`.
  static const char* EndOfWord(const char* at, const char* end) {
#ifdef __SSE2__
    constexpr char kSpace = ' ';
    const auto is = [](__m128i bytes, char c) { return _mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)); };
    for (; end - at >= 16; at += 16) {
      const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      // Square brackets differ from curly ones in the bit of the space.
      const __m128i brackets = _mm_or_si128(bytes, _mm_set1_epi8(kSpace));
      const __m128i is_space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(kSpace)), bytes);
      const __m128i ends =
          _mm_or_si128(_mm_or_si128(_mm_or_si128(is(bytes, ','), is(brackets, '}')),
                                    _mm_or_si128(is(brackets, '{'), is(bytes, ':'))),
                       _mm_or_si128(is(bytes, '"'), is_space));
      const auto mask = static_cast<unsigned>(_mm_movemask_epi8(ends));
      if (mask != 0) return at + std::countr_zero(mask);
    }
#endif
    while (at != end && !EndsWord(*at)) ++at;
    return at;
  }
  // White space and what JSON consists of; any control byte.
  static bool EndsWord(char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || c == ',' || c == ':' || c == '"' || c == '{' || c == '}' || c == '[' ||
           c == ']';
  }

  const char* at_;
  const char* end_;
};

// Text of a string with its escapes resolved.
std::string Unescaped(std::string_view raw);

}  // namespace telltale::kineto
