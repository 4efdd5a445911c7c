#include "readers/nccl_log/nccl_prefix.h"

#include <algorithm>

#include "readers/log/written_time.h"

namespace telltale::nccl_log {

bool PeelNccl(std::string_view& rest, log::LinePrefix& prefix) {
  using log::Skip;
  std::string_view text = rest;
  std::optional<log::WrittenTime> time;
  if (Skip(text, "[")) {
    time = log::TakeDateTime(text);
    if (!time || !Skip(text, "] ")) return false;
  }
  constexpr size_t kLongestHost = 256;
  const size_t colon = text.substr(0, kLongestHost).find(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  if (std::any_of(host.begin(), host.end(), [](char c) { return c <= ' ' || c == '/'; })) {
    return false;
  }
  text.remove_prefix(colon + 1);
  const auto pid = log::TakeDigits(text, 1, 10);
  if (!pid || !Skip(text, ":") || !log::TakeDigits(text, 1, 10) || !Skip(text, " ")) return false;
  // The number of the GPU is missing in lines of the beginning: "[]" or nothing.
  if (Skip(text, "[")) {
    (void)Skip(text, "-");
    (void)log::TakeDigits(text, 1, 6);
    if (!Skip(text, "] ")) return false;
  }
  std::string_view location;
  if (!text.starts_with("NCCL ")) {
    constexpr size_t kLongestLocation = 256;
    const size_t space = text.substr(0, kLongestLocation).find(' ');
    if (space == std::string_view::npos) return false;
    location = text.substr(0, space);
    text.remove_prefix(space + 1);
  }
  if (!Skip(text, "NCCL ")) return false;
  const size_t space = text.find(' ');
  const std::string_view word = text.substr(0, space);
  // INFO, WARN, TRACE, ABORT, VERSION
  if (word.empty() || word.size() > 8 ||
      !std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return false;
  }
  prefix.level = log::LevelOf(word);
  prefix.is_marked = true;
  if (time) prefix.time = *time;
  prefix.host = host;
  prefix.pid = *pid;
  prefix.location = location;
  text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
  rest = text;
  return true;
}

}  // namespace telltale::nccl_log
