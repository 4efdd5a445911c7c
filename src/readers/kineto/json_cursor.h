#pragma once

// Reads JSON text from left to right, only as strictly as needed: profilers write NaN, trailing
// commas and bytes that are not UTF-8. Every function leaves the cursor behind what it read, and
// returns false where the text is not what was asked for.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace telltale::kineto {

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
  bool Scalar(std::string_view& text);
  // Any value, also nested ones (to any depth).
  bool SkipValue();
  const char* position() const { return at_; }

 private:
  void SkipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\n' || *at_ == '\r' || *at_ == '\t')) ++at_;
  }
  const char* at_;
  const char* end_;
};

// Text of a string with its escapes resolved.
std::string Unescaped(std::string_view raw);

}  // namespace telltale::kineto
