#include "evidence/request_ids.h"

#include <algorithm>

namespace telltale::evidence {
namespace {

bool AreDigits(std::string_view text, bool hexadecimal) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= '0' && c <= '9') || (hexadecimal && c >= 'a' && c <= 'f');
  });
}

}  // namespace

bool IsEngineSuffix(std::string_view rest) {
  constexpr size_t kSuffixDigits = 8;
  constexpr size_t kMostPromptDigits = 6;
  if (!rest.starts_with('-')) return false;
  rest.remove_prefix(1);
  const size_t dash = rest.find('-');
  const std::string_view first = rest.substr(0, dash);
  if (dash == std::string_view::npos) {
    return (first.size() == kSuffixDigits && AreDigits(first, true)) ||
           (first.size() <= kMostPromptDigits && AreDigits(first, false));
  }
  const std::string_view second = rest.substr(dash + 1);
  return first.size() <= kMostPromptDigits && AreDigits(first, false) &&
         second.size() == kSuffixDigits && AreDigits(second, true);
}

uint32_t RequestIds::Add(std::string_view id) {
  const auto [place, is_new] =
      numbers_.try_emplace(std::string(id), static_cast<uint32_t>(ids_.size()));
  if (is_new) ids_.emplace_back(id);
  return place->second;
}

std::vector<uint32_t> RequestIds::Find(std::string_view id) const {
  std::vector<uint32_t> found;
  const auto look = [&](std::string_view text) {
    const auto place = numbers_.find(std::string(text));
    if (place != numbers_.end() &&
        std::find(found.begin(), found.end(), place->second) == found.end()) {
      found.push_back(place->second);
    }
  };
  const auto look_for_prefixes = [&](std::string_view text) {
    look(text);
    // An engine's suffix has at most two parts.
    size_t dash = text.size();
    for (int part = 0; part < 2 && dash > 0; ++part) {
      dash = text.rfind('-', dash - 1);
      if (dash == std::string_view::npos) break;
      if (IsEngineSuffix(text.substr(dash))) look(text.substr(0, dash));
    }
  };
  look_for_prefixes(id);
  const size_t underscore = id.find('_');
  if (underscore != std::string_view::npos && AreDigits(id.substr(0, underscore), false)) {
    look_for_prefixes(id.substr(underscore + 1));
  }
  return found;
}

}  // namespace telltale::evidence
