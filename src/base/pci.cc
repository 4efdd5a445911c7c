#include "base/pci.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

namespace telltale {
namespace {

// Takes `most` hexadecimal digits at most, at least one, from the front.
std::optional<uint32_t> TakeHex(std::string_view& text, size_t most) {
  const std::string_view field = text.substr(0, text.find_first_of(":."));
  if (field.empty() || field.size() > most) return std::nullopt;
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number, 16);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  text.remove_prefix(field.size());
  return number;
}

bool TakeMark(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::string> NormalPciBusId(std::string_view text) {
  constexpr size_t kDomainDigits = 8;
  constexpr uint32_t kDevices = 32;
  constexpr uint32_t kFunctions = 8;
  const bool has_domain = text.find(':') != text.rfind(':');
  uint32_t domain = 0;
  if (has_domain) {
    const auto number = TakeHex(text, kDomainDigits);
    if (!number || !TakeMark(text, ':')) return std::nullopt;
    domain = *number;
  }
  const auto bus = TakeHex(text, 2);
  if (!bus || !TakeMark(text, ':')) return std::nullopt;
  const auto device = TakeHex(text, 2);
  if (!device || *device >= kDevices) return std::nullopt;
  uint32_t function = 0;
  if (!text.empty()) {
    if (!TakeMark(text, '.')) return std::nullopt;
    const auto number = TakeHex(text, 1);
    if (!number || *number >= kFunctions || !text.empty()) return std::nullopt;
    function = *number;
  }
  return fmt::format("{:0{}x}:{:02x}:{:02x}.{}", domain, domain > 0xffff ? 8 : 4, *bus, *device,
                     function);
}

}  // namespace telltale
