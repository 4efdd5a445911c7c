#pragma once

// What bytes of messages are to the masks.

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "base/digits.h"

namespace telltale::log {

enum : uint8_t {
  kSpace = 1,
  kDigit = 2,
  kLetter = 4,    // and bytes beyond ASCII
  kLowerHex = 8,  // a to f
  kUpperHex = 16,
  kJoiner = 32,  // between two wildcards of a token: then both are one value
  kOpens = 64,   // what may begin a value that reaches over several tokens, or a path
  kAlnum = kDigit | kLetter,
};

inline constexpr std::array<uint8_t, 256> kByteClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (const char c : {' ', '\t', '\n', '\v', '\f', '\r'})
    classes[static_cast<uint8_t>(c)] = kSpace;
  for (unsigned c = '0'; c <= '9'; ++c) classes[c] = kDigit;
  for (unsigned c = 'a'; c <= 'z'; ++c) classes[c] = kLetter | (c <= 'f' ? kLowerHex : 0);
  for (unsigned c = 'A'; c <= 'Z'; ++c) classes[c] = kLetter | (c <= 'F' ? kUpperHex : 0);
  for (unsigned c = 0x80; c <= 0xff; ++c) classes[c] = kLetter;
  for (const char c : {'.', ':', ',', '-', '_', '/', '+'})
    classes[static_cast<uint8_t>(c)] = kJoiner;
  for (const char c : {'\'', '"', '{', '[', '~'}) classes[static_cast<uint8_t>(c)] = kOpens;
  classes[static_cast<uint8_t>('/')] |= kOpens;
  return classes;
}();

inline constexpr uint8_t kHexadecimal = kDigit | kLowerHex | kUpperHex;

inline uint8_t ClassOf(char c) { return kByteClasses[static_cast<uint8_t>(c)]; }

// Copies up to the first byte that is no letter, which is returned; some bytes more may be
// written.
inline const char* CopyLetters(const char* at, const char* limit, char* to) {
  while (limit - at >= 8) {
    const uint64_t bytes = LoadEight(at);
    std::memcpy(to, &bytes, sizeof bytes);
    const uint64_t lower = (bytes | 0x2020202020202020u) & 0x7f7f7f7f7f7f7f7fu;
    const uint64_t from_a = lower + 0x1f1f1f1f1f1f1f1fu;
    const uint64_t behind_z = lower + 0x0505050505050505u;
    const uint64_t others = ~((from_a & ~behind_z) | bytes) & 0x8080808080808080u;
    if (others != 0) return at + std::countr_zero(others) / 8;
    at += 8;
    to += 8;
  }
  while (at != limit && (ClassOf(*at) & kLetter) != 0) *to++ = *at++;
  return at;
}

}  // namespace telltale::log
