#include "readers/log/line_prefix.h"

#include <algorithm>
#include <array>
#include <utility>

namespace telltale::log {

LogLevel LevelOf(std::string_view word) {
  static constexpr std::pair<std::string_view, LogLevel> kWords[] = {
      {"info", LogLevel::kInfo},         {"warning", LogLevel::kWarning},
      {"error", LogLevel::kError},       {"debug", LogLevel::kDebug},
      {"critical", LogLevel::kCritical}, {"warn", LogLevel::kWarning},
      {"err", LogLevel::kError},         {"notice", LogLevel::kInfo},
      {"crit", LogLevel::kCritical},     {"alert", LogLevel::kCritical},
      {"emerg", LogLevel::kCritical},    {"fatal", LogLevel::kCritical},
      {"trace", LogLevel::kDebug},       {"i", LogLevel::kInfo},
      {"w", LogLevel::kWarning},         {"e", LogLevel::kError},
      {"f", LogLevel::kCritical},        {"d", LogLevel::kDebug},
  };
  const auto equal = [&](std::string_view level) {
    return std::equal(word.begin(), word.end(), level.begin(), level.end(), [](char a, char b) {
      return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + 32) : a) == b;
    });
  };
  for (const auto& [text, level] : kWords) {
    if (equal(text)) return level;
  }
  return LogLevel::kNone;
}

std::string_view LevelName(LogLevel level) {
  static constexpr std::array<std::string_view, 6> kNames = {"",        "debug", "info",
                                                             "warning", "error", "critical"};
  return kNames[static_cast<size_t>(level)];
}

LinePrefix PeelPrefix(std::string_view& rest, std::span<const Peel> peels) {
  // Launchers put their prefix before lines that have one already: parts may come twice. Behind the
  // part that begins the message, what looks like another one is the message's own.
  constexpr int kMostParts = 8;
  LinePrefix prefix;
  for (int part = 0; part < kMostParts && !prefix.BeginsMessage(); ++part) {
    if (std::none_of(peels.begin(), peels.end(),
                     [&](const Peel peel) { return peel(rest, prefix); })) {
      break;
    }
  }
  return prefix;
}

}  // namespace telltale::log
