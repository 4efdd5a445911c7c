#pragma once

// The numbers of digits.h where the number of digits can be guessed, such as from the line before.
// With a right guess the place behind a number does not depend on its bytes, and the processor
// reads on there without waiting for them.

#include <cstdint>
#include <cstring>

#include "base/digits.h"

namespace telltale {

// How many digits a number is going to have: 1 to 8, in front of a point 1 to 3.
using DigitsGuess = uint64_t;

// Reads the digits of eight bytes, `digits` (1 to 8) of them; false if one of them is none.
inline bool ReadDigits(uint64_t bytes, uint64_t digits, uint64_t& value) {
  const uint64_t values = (bytes ^ 0x3030303030303030u) << (64 - 8 * digits);
  if (((values | (values + 0x7676767676767676u)) & 0x8080808080808080u) != 0) return false;
  value = EightValues(values);
  return true;
}

struct NumberRead {
  uint64_t value = 0;
  uint64_t bytes = 0;  // 0: it is no such number
};
// Apart and by value, so that what is read with a right guess stays in registers.
[[gnu::noinline]] inline NumberRead ReadIntegerAt(const char* at) {
  const char* behind = at;
  NumberRead read;
  if (ReadInteger(behind, read.value)) read.bytes = static_cast<uint64_t>(behind - at);
  return read;
}
[[gnu::noinline]] inline NumberRead ReadMillionthsAt(const char* at) {
  const char* behind = at;
  NumberRead read;
  if (ReadMillionths(behind, read.value)) read.bytes = static_cast<uint64_t>(behind - at);
  return read;
}

// As ReadInteger reads it. A wrong guess is put right.
inline bool ReadGuessedInteger(const char*& at, DigitsGuess& guess, uint64_t& value) {
  if (at[guess] == ',' && ReadDigits(LoadEight(at), guess, value)) [[likely]] {
    if (*at == '0' && guess > 1) return false;
    at += guess;
    return true;
  }
  const NumberRead read = ReadIntegerAt(at);
  if (read.bytes == 0) return false;
  value = read.value;
  at += read.bytes;
  if (read.bytes <= 8) guess = read.bytes;
  return true;
}

// As ReadMillionths reads it, but what is behind is for the caller to look at.
inline bool ReadGuessedMillionths(const char*& at, DigitsGuess& guess, uint64_t& value) {
  // The last digit of the whole, the point and six digits are eight bytes; up to two digits stand
  // in front of them. With fewer, bytes from in front of the number are masked out.
  static constexpr uint64_t kInFront[] = {0, 0, 0xff00, 0xffff};
  const uint64_t values = LoadEight(at + guess - 1) ^ 0x3030303030302e30u;
  uint16_t front_bytes = 0;
  std::memcpy(&front_bytes, at + guess - 3, sizeof front_bytes);
  const uint64_t front = (front_bytes ^ uint64_t{0x3030}) & kInFront[guess];
  // Where the point is, anything but 0 is too much.
  const uint64_t above = values | (values + 0x7676767676767f76u) | front | (front + 0x7676u);
  if ((above & 0x8080808080808080u) == 0) [[likely]] {
    if (*at == '0' && guess > 1) return false;
    value = (front & 0xff) * 100000000 + (front >> 8) * 10000000 + EightValues(values) -
            (values & 0xff) * 9000000;
    at += guess + 7;
    return true;
  }
  const NumberRead read = ReadMillionthsAt(at);
  if (read.bytes == 0) return false;
  value = read.value;
  at += read.bytes;
  if (read.bytes <= 3 + 7) guess = read.bytes - 7;
  return true;
}

}  // namespace telltale
