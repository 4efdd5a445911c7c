#include "readers/kernel_log/kernel_prefix.h"

#include <algorithm>
#include <array>

#include "readers/log/written_time.h"

namespace telltale::kernel_log {
namespace {

using log::LinePrefix;
using log::LogLevel;
using log::Skip;
using log::TakeDigits;

// Severity of syslog, RFC 5424 table 2.
LogLevel LevelOfSeverity(int64_t severity) {
  static constexpr std::array<LogLevel, 8> kLevels = {
      LogLevel::kCritical, LogLevel::kCritical, LogLevel::kCritical, LogLevel::kError,
      LogLevel::kWarning,  LogLevel::kInfo,     LogLevel::kInfo,     LogLevel::kDebug};
  return kLevels[static_cast<size_t>(severity & 7)];
}

// "[24128.828315] " behind another time: the same moment once more.
void SkipSecondsSinceStart(std::string_view& rest) {
  std::string_view text = rest;
  if (Skip(text, "[") && log::TakeSecondsSinceStart(text) && Skip(text, "]")) {
    (void)Skip(text, " ");
    rest = text;
  }
}

// 6,3973,227996636,-;message: priority, number, microseconds since the start, flags.
bool PeelKmsg(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  const auto priority = TakeDigits(text, 1, 4);
  if (!priority || !Skip(text, ",")) return false;
  if (!TakeDigits(text, 1, 18) || !Skip(text, ",")) return false;
  const auto microseconds = TakeDigits(text, 1, 15);
  constexpr size_t kLongestFlags = 64;
  const size_t end = text.substr(0, kLongestFlags).find(';');
  if (!microseconds || end == std::string_view::npos) return false;
  // Flags: whether it is a part of a line; newer kernels may add ",caller=T1234".
  if (!text.starts_with(",-") && !text.starts_with(",c") && !text.starts_with(",+")) return false;
  text.remove_prefix(end + 1);
  prefix.time = {log::WrittenTime::Kind::kSinceStart, *microseconds * 1000, std::nullopt};
  prefix.level = LevelOfSeverity(*priority);
  rest = text;
  return true;
}

// "kern  :warn  : ", before a time.
bool TakeFacility(std::string_view& rest, LogLevel& level) {
  std::string_view text = rest;
  static constexpr std::array<std::string_view, 6> kFacilities = {"kern",   "user", "daemon",
                                                                  "syslog", "auth", "local"};
  const auto facility = std::find_if(kFacilities.begin(), kFacilities.end(),
                                     [&](std::string_view name) { return text.starts_with(name); });
  const size_t colon = text.substr(0, 16).find(':');
  if (facility == kFacilities.end() || colon == std::string_view::npos) return false;
  text.remove_prefix(colon + 1);
  const size_t end = text.substr(0, 16).find(": ");
  if (end == std::string_view::npos) return false;
  const std::string_view word = text.substr(0, text.substr(0, end).find(' '));
  if (log::LevelOf(word) == LogLevel::kNone) return false;
  level = log::LevelOf(word);
  text.remove_prefix(end + 2);
  rest = text;
  return true;
}

// [24128.828315] and [Sun Feb 23 16:24:18 2025], each perhaps behind facility or <priority>.
bool PeelDmesg(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  LogLevel level = LogLevel::kNone;
  if (Skip(text, "<")) {
    const auto priority = TakeDigits(text, 1, 4);
    if (!priority || !Skip(text, ">")) return false;
    level = LevelOfSeverity(*priority);
  } else {
    (void)TakeFacility(text, level);
  }
  const bool is_in_brackets = Skip(text, "[");
  std::optional<log::WrittenTime> time = log::TakeCtime(text);
  if (!time) time = is_in_brackets ? log::TakeSecondsSinceStart(text) : log::TakeDateTime(text);
  if (!time || (is_in_brackets && !Skip(text, "]"))) return false;
  // Without brackets or a facility, many programs write so; dmesg writes the zone.
  if (!is_in_brackets && level == LogLevel::kNone && !time->zone_seconds) return false;
  // "[ T1234]": the caller, where the kernel writes it.
  if (std::string_view caller = text; is_in_brackets && Skip(caller, "[")) {
    while (Skip(caller, " ")) {
    }
    if ((Skip(caller, "T") || Skip(caller, "C")) && TakeDigits(caller, 1, 10) &&
        Skip(caller, "]")) {
      text = caller;
    }
  }
  if (!text.empty() && !Skip(text, " ")) return false;
  prefix.time = *time;
  prefix.level = level;
  rest = text;
  return true;
}

// Jan 21 04:41:44 host kernel: [24128.828315]
bool PeelSyslog(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  LogLevel level = LogLevel::kNone;
  if (Skip(text, "<")) {
    const auto priority = TakeDigits(text, 1, 4);
    if (!priority || !Skip(text, ">")) return false;
    level = LevelOfSeverity(*priority);
  }
  auto time = log::TakeSyslogTime(text);
  if (!time) {
    // With its zone, as journalctl writes it; many programs write dates without.
    time = log::TakeDateTime(text);
    if (!time || !time->zone_seconds) return false;
  }
  if (!Skip(text, " ")) return false;
  constexpr size_t kLongest = 256;
  const size_t space = text.substr(0, kLongest).find(' ');
  if (space == std::string_view::npos || space == 0) return false;
  const std::string_view host = text.substr(0, space);
  std::string_view after = text.substr(space + 1);
  const size_t colon = after.substr(0, kLongest).find(": ");
  if (colon == std::string_view::npos || colon == 0) return false;
  std::string_view program = after.substr(0, colon);
  if (program.find(' ') != std::string_view::npos) return false;
  after.remove_prefix(colon + 2);
  if (program.ends_with(']')) {
    if (const size_t bracket = program.find('['); bracket != std::string_view::npos) {
      std::string_view digits = program.substr(bracket + 1);
      if (const auto pid = TakeDigits(digits, 1, 10)) prefix.pid = *pid;
      program = program.substr(0, bracket);
    }
  }
  SkipSecondsSinceStart(after);
  prefix.time = *time;
  prefix.level = level;
  prefix.host = host;
  prefix.process = program;
  prefix.is_of_syslog = program != "kernel";
  rest = after;
  return true;
}

// [Feb 25 2025 13:59:45] [INFO] [tid 1803]
bool PeelFabricManager(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  if (!Skip(text, "[")) return false;
  const auto time = log::TakeMonthNameTime(text);
  if (!time || !Skip(text, "] [")) return false;
  const size_t end = text.substr(0, 16).find("] ");
  if (end == std::string_view::npos) return false;
  prefix.level = log::LevelOf(text.substr(0, end));
  text.remove_prefix(end + 2);
  prefix.time = *time;
  prefix.process = "nv-fabricmanager";
  if (std::string_view thread = text; Skip(thread, "[tid ")) {
    if (TakeDigits(thread, 1, 10) && Skip(thread, "] ")) text = thread;
  }
  rest = text;
  return true;
}

}  // namespace

std::span<const log::Peel> KernelPeels() {
  static constexpr std::array<log::Peel, 4> kPeels = {PeelKmsg, PeelSyslog, PeelDmesg,
                                                      PeelFabricManager};
  return kPeels;
}

}  // namespace telltale::kernel_log
