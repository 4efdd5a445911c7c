#include "simulate/line_buffer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

namespace telltale::simulate {
namespace {

__extension__ typedef unsigned __int128 Wide;  // NOLINT(modernize-use-using): not with using

constexpr auto kDigitPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

char* PutPair(char* out, uint64_t pair) {
  std::memcpy(out, &kDigitPairs[2 * pair], 2);
  return out + 2;
}

}  // namespace

char* PutUnsigned(char* out, uint64_t value) {
  char digits[20];
  char* first = digits + sizeof digits;
  while (value >= 100) {
    first -= 2;
    PutPair(first, value % 100);
    value /= 100;
  }
  if (value >= 10) {
    first -= 2;
    PutPair(first, value);
  } else {
    *--first = static_cast<char>('0' + value);
  }
  return PutText(out, {first, static_cast<size_t>(digits + sizeof digits - first)});
}

char* PutSixDecimals(char* out, double value) {
  // A finite double is mantissa * 2^exponent, so value * 10^6 is a ratio of integers that fits in
  // 128 bits for every value below 2^63; printf rounds it half to even.
  constexpr int kMantissaBits = 52;
  constexpr int kExponentBias = 1023 + kMantissaBits;
  const auto bits = std::bit_cast<uint64_t>(value);
  const auto biased_exponent = static_cast<int>(bits >> kMantissaBits);
  if (biased_exponent == 0 && bits == 0) return PutText(out, "0.000000");
  if (biased_exponent < 1 || biased_exponent >= 1023 + 63) {
    return out + std::snprintf(out, kMaxSixDecimals, "%f", value);
  }
  const uint64_t mantissa = (bits & ((uint64_t{1} << kMantissaBits) - 1)) | uint64_t{1}
                                                                                << kMantissaBits;
  const int exponent = biased_exponent - kExponentBias;
  const auto scaled = static_cast<Wide>(mantissa) * 1000000;
  Wide millionths = 0;
  if (exponent >= 0) {
    millionths = scaled << exponent;
  } else if (-exponent < 100) {
    const int shift = -exponent;
    millionths = scaled >> shift;
    const Wide rest = scaled - (millionths << shift);
    const Wide half = static_cast<Wide>(1) << (shift - 1);
    if (rest > half || (rest == half && (millionths & 1) != 0)) ++millionths;
  }
  // Values below 2^44 (all real bandwidths) need no 128-bit division.
  uint64_t whole = 0;
  uint64_t fraction = 0;
  if (millionths >> 64 == 0) {
    whole = static_cast<uint64_t>(millionths) / 1000000;
    fraction = static_cast<uint64_t>(millionths) % 1000000;
  } else {
    whole = static_cast<uint64_t>(millionths / 1000000);
    fraction = static_cast<uint64_t>(millionths % 1000000);
  }
  out = PutUnsigned(out, whole);
  *out++ = '.';
  out = PutPair(out, fraction / 10000);
  out = PutPair(out, fraction / 100 % 100);
  return PutPair(out, fraction % 100);
}

void LineBuffer::Grow(size_t size) {
  const size_t capacity = std::max(size_ + size, 2 * capacity_);
  auto data = std::make_unique_for_overwrite<char[]>(capacity);
  if (size_ > 0) std::memcpy(data.get(), data_.get(), size_);
  data_ = std::move(data);
  capacity_ = capacity;
}

}  // namespace telltale::simulate
