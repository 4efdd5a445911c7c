#pragma once

// Numbers for people, and numbers from text.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace telltale {

// "1.2 GB", "480 bytes" (decimal units).
std::string BytesText(double bytes);
// "6.2 M", "12,288".
std::string CountText(uint64_t count);

// The number that the whole text is, if it is one and fits.
template <typename Number>
std::optional<Number> NumberOf(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace telltale
