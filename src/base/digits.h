#pragma once

// Decimal numbers, eight digits at a time (little-endian machines: x86-64 and arm64).

#include <bit>
#include <cstdint>
#include <cstring>

namespace telltale {

static_assert(std::endian::native == std::endian::little);

inline uint64_t LoadEight(const char* text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text, sizeof bytes);
  return bytes;
}

// The top bit of every byte that is no digit. Bytes behind the first such byte may be marked
// wrongly: the carry out of a byte starts at one that is itself above 9.
inline uint64_t MarkNonDigits(uint64_t bytes) {
  const uint64_t value = bytes ^ 0x3030303030303030u;
  return (value | (value + 0x7676767676767676u)) & 0x8080808080808080u;
}

// How many of the eight bytes are digits, from the first on.
inline int LeadingDigits(uint64_t bytes) {
  const uint64_t marks = MarkNonDigits(bytes);
  return marks == 0 ? 8 : std::countr_zero(marks) / 8;
}

// The number that eight digits make whose values are given.
inline uint64_t EightValues(uint64_t values) {
  values = values * 10 + (values >> 8);
  return (((values & 0x000000ff000000ffu) * 0x000f424000000064u) +
          (((values >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u)) >>
         32;
}

// The value of eight digits.
inline uint64_t EightDigits(uint64_t bytes) { return EightValues(bytes & 0x0f0f0f0f0f0f0f0fu); }

// The value of the first `count` (1 to 7) digits of eight bytes.
inline uint64_t FewDigits(uint64_t bytes, int count) {
  return EightDigits(bytes << (8 * (8 - count)));
}

// Reads an integer without needless zeros and of at most 16 digits, and moves `at` behind it. False
// for anything else; up to 24 bytes are looked at.
inline bool ReadInteger(const char*& at, uint64_t& value) {
  const uint64_t first = LoadEight(at);
  const int digits = LeadingDigits(first);
  if (digits == 0 || (*at == '0' && digits > 1)) return false;
  if (digits < 8) {
    value = FewDigits(first, digits);
    at += digits;
    return true;
  }
  value = EightDigits(first);
  const uint64_t second = LoadEight(at + 8);
  const int more = LeadingDigits(second);
  if (more == 8) {
    value = value * 100000000 + EightDigits(second);
    at += 16;
    return static_cast<unsigned char>(*at - '0') > 9;
  }
  constexpr uint64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  if (more > 0) value = value * kPowers[more] + FewDigits(second, more);
  at += 8 + more;
  return true;
}

// Reads "%f" (six digits behind the point, not negative, at most 15 digits in all) as millionths.
inline bool ReadMillionths(const char*& at, uint64_t& value) {
  uint64_t whole = 0;
  if (!ReadInteger(at, whole) || whole > 999999999 || *at != '.') return false;
  const uint64_t behind = LoadEight(at + 1);
  if (LeadingDigits(behind) != 6) return false;
  value = whole * 1000000 + FewDigits(behind, 6);
  at += 7;
  return true;
}

}  // namespace telltale
