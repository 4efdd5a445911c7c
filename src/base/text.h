#pragma once

// Numbers for people, and numbers from text.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace telltale {

// "1.2 GB", "480 bytes" (decimal units).
std::string BytesText(double bytes);
// "6.2 M", "12,288".
std::string CountText(uint64_t count);

// "2026-05-20 06:31:05.050098" (UTC), of nanoseconds since 1970; microseconds are rounded down.
std::string TimeText(int64_t time_ns);

// The number that the whole text is, if it is one and fits.
template <typename Number>
std::optional<Number> NumberOf(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// The same where it may be written as a real number ("5.0", "1.7e18"); it must be whole.
template <typename Number>
std::optional<Number> WholeNumberOf(std::string_view text) {
  if (const auto number = NumberOf<Number>(text)) return number;
  const size_t point = text.find('.');
  if (point != std::string_view::npos && point > 0 &&
      text.find_first_not_of('0', point + 1) == std::string_view::npos) {
    return NumberOf<Number>(text.substr(0, point));
  }
  const auto real = NumberOf<double>(text);
  constexpr double kLimit = 9.2e18;
  const bool is_in_range = real && *real > -kLimit && *real < kLimit;  // also not of NaN
  if (!is_in_range) return std::nullopt;
  const auto whole = static_cast<int64_t>(*real);
  if (static_cast<double>(whole) != *real || !std::in_range<Number>(whole)) return std::nullopt;
  return static_cast<Number>(whole);
}

}  // namespace telltale
