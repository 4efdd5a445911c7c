#include "readers/kineto/micro_time.h"

#include <limits>

#include "base/digits.h"

namespace telltale::kineto {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What profilers write: digits, and up to three decimals.
std::optional<int64_t> PlainNanosecondsOf(std::string_view microseconds) {
  constexpr ptrdiff_t kMostDigits = 16;
  const char* at = microseconds.data();
  const char* const end = at + microseconds.size();
  uint64_t value = 0;
  for (; at != end && IsDigit(*at); ++at) value = value * 10 + static_cast<uint64_t>(*at - '0');
  if (at == microseconds.data() || at - microseconds.data() > kMostDigits) return {};
  int decimals = 3;
  if (at != end && *at == '.') {
    for (++at; at != end && IsDigit(*at) && decimals > 0; ++at, --decimals) {
      value = value * 10 + static_cast<uint64_t>(*at - '0');
    }
  }
  for (; decimals > 0; --decimals) value *= 10;
  if (at != end || value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
  return static_cast<int64_t>(value);
}

// What they write mostly, "4458676522690.655": eight to sixteen digits, a point and three more,
// eight at a time.
std::optional<int64_t> UsualNanosecondsOf(std::string_view microseconds) {
  constexpr size_t kDecimals = 3;
  constexpr size_t kMost = 16 + 1 + kDecimals;
  if (microseconds.size() < 8 + 1 + kDecimals || microseconds.size() > kMost) return {};
  const char* const begin = microseconds.data();
  const size_t digits = microseconds.size() - 1 - kDecimals;
  if (begin[digits] != '.') return {};
  const uint64_t first = LoadEight(begin);
  const uint64_t last = LoadEight(begin + digits - 8);
  const uint64_t decimals = LoadEight(begin + microseconds.size() - 8) >> (8 * (8 - kDecimals));
  if (LeadingDigits(first) != 8 || LeadingDigits(last) != 8 || LeadingDigits(decimals) != 3)
    return {};
  constexpr uint64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const size_t more = digits - 8;  // digits of `last` that are not in `first`
  uint64_t value = EightDigits(first) * kPowers[more];
  if (more == 8) value += EightDigits(last);
  if (more > 0 && more < 8) value += FewDigits(last >> (8 * (8 - more)), static_cast<int>(more));
  value = value * 1000 + FewDigits(decimals, kDecimals);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
  return static_cast<int64_t>(value);
}

}  // namespace

std::optional<int64_t> NanosecondsOf(std::string_view microseconds) {
  if (const auto usual = UsualNanosecondsOf(microseconds)) return usual;
  if (const auto plain = PlainNanosecondsOf(microseconds)) return plain;
  const char* at = microseconds.data();
  const char* const end = at + microseconds.size();
  const bool negative = at != end && *at == '-';
  if (negative) ++at;
  if (at == end || !IsDigit(*at)) return {};

  // digits * 10^scale, in microseconds.
  uint64_t digits = 0;
  int scale = 0;
  bool has_point = false;
  bool round_up = false;
  bool full = false;  // further digits do not fit; the first of them rounds
  for (; at != end && (IsDigit(*at) || (*at == '.' && !has_point)); ++at) {
    if (*at == '.') {
      has_point = true;
      continue;
    }
    const auto digit = static_cast<uint64_t>(*at - '0');
    if (!full && digits <= (std::numeric_limits<uint64_t>::max() - digit) / 10) {
      digits = digits * 10 + digit;
      if (has_point) --scale;
    } else {
      if (!full) round_up = digit >= 5;
      full = true;
      if (!has_point) ++scale;
    }
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    const bool minus = at != end && *at == '-';
    if (at != end && (*at == '-' || *at == '+')) ++at;
    if (at == end) return {};
    int exponent = 0;
    for (; at != end && IsDigit(*at); ++at) {
      if (exponent < 10000) exponent = exponent * 10 + (*at - '0');
    }
    scale += minus ? -exponent : exponent;
  }
  if (at != end) return {};

  scale += 3;
  for (; scale > 0 && digits != 0; --scale) {
    if (full || digits > std::numeric_limits<uint64_t>::max() / 10) return {};
    digits *= 10;
  }
  for (; scale < 0 && (digits != 0 || round_up); ++scale) {
    round_up = digits % 10 >= 5;
    digits /= 10;
  }
  if (round_up) ++digits;
  if (digits > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return {};
  const auto value = static_cast<int64_t>(digits);
  return negative ? -value : value;
}

}  // namespace telltale::kineto
