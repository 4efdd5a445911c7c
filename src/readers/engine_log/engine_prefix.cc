#include "readers/engine_log/engine_prefix.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "readers/log/written_time.h"
#include "readers/nccl_log/nccl_prefix.h"

namespace telltale::engine_log {
namespace {

using log::LevelOf;
using log::LinePrefix;
using log::LogLevel;
using log::Skip;
using log::TakeDigits;

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::string_view TakeWord(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), IsWordCharacter);
  const std::string_view word = rest.substr(0, static_cast<size_t>(end - rest.begin()));
  rest.remove_prefix(word.size());
  return word;
}

// [rank0]: and torchrun's [default0]: (the local rank: which global rank that is, it does not say;
// the role is kept as the process's name).
bool PeelRank(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  if (!Skip(text, "[")) return false;
  const bool is_global = Skip(text, "rank");
  if (!is_global) {
    const std::string_view role =
        text.substr(0, std::min(text.size(), text.find_first_of("0123456789]")));
    if (role.empty() || !std::all_of(role.begin(), role.end(), IsWordCharacter)) return false;
    text.remove_prefix(role.size());
  }
  const auto rank = TakeDigits(text, 1, 9);
  if (!rank || !Skip(text, "]:")) return false;
  // Python puts a space behind its own; more than one says that a message goes on.
  if (text.size() > 1 && text[0] == ' ' && text[1] != ' ') text.remove_prefix(1);
  if (is_global) {
    prefix.rank = *rank;
  } else {
    const size_t size = rest.find(']') - 1;
    prefix.process = rest.substr(1, size);
  }
  rest = text;
  return true;
}

// (EngineCore_DP0 pid=11727)  (SGLangEngine pid=35555, ip=10.0.0.1)  (VllmWorker rank=1 pid=1234)
// (pid=901)  (raylet, ip=10.0.0.1)
bool PeelProcess(std::string_view& rest, LinePrefix& prefix) {
  if (!rest.starts_with('(')) return false;
  constexpr size_t kLongest = 120;
  const size_t end = rest.substr(0, kLongest).find(") ");
  const bool is_whole =
      end == std::string_view::npos && rest.size() < kLongest && rest.ends_with(')');
  if (end == std::string_view::npos && !is_whole) return false;
  const std::string_view inner = rest.substr(1, (is_whole ? rest.size() - 1 : end) - 1);
  const auto value = [&](std::string_view key) -> std::string_view {
    size_t at = inner.find(key);
    // A key begins the text or stands behind a space or bracket.
    while (at != std::string_view::npos && at > 0 && inner[at - 1] != ' ' && inner[at - 1] != '(') {
      at = inner.find(key, at + 1);
    }
    if (at == std::string_view::npos) return {};
    const std::string_view text = inner.substr(at + key.size());
    return text.substr(0, text.find_first_of(" ,)"));
  };
  const auto pid = NumberOf<int64_t>(value("pid="));
  const std::string_view ip = value("ip=");
  if (!pid && ip.empty()) return false;
  const std::string_view name = inner.substr(0, inner.find_first_of(" ,("));
  if (name.find('=') == std::string_view::npos) prefix.process = name;
  if (pid) prefix.pid = *pid;
  if (!ip.empty()) prefix.host = ip;
  if (const auto rank = NumberOf<int64_t>(value("rank="))) prefix.rank = *rank;
  rest.remove_prefix(is_whole ? rest.size() : end + 2);
  return true;
}

// "[core.py:1008] " and "engine.py:267] ".
bool TakeLocation(std::string_view& rest, std::string_view& location) {
  std::string_view text = rest;
  const bool is_in_brackets = Skip(text, "[");
  constexpr size_t kLongest = 512;
  const size_t end = text.substr(0, kLongest).find(is_in_brackets ? ']' : ' ');
  if (end == std::string_view::npos || end == 0) return false;
  std::string_view place = text.substr(0, end);
  const size_t after = end + 1;
  if (!is_in_brackets && place.ends_with(']')) place.remove_suffix(1);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos || colon + 1 == place.size() ||
      !std::all_of(place.begin() + static_cast<std::ptrdiff_t>(colon) + 1, place.end(),
                   [](char c) { return c >= '0' && c <= '9'; })) {
    return false;
  }
  location = place;
  text.remove_prefix(after);
  if (is_in_brackets) (void)Skip(text, " ");
  rest = text;
  return true;
}

// INFO 02-20 23:41:49 [parallel_state.py:1234]; newer versions may write the year.
bool PeelVllm(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  const LogLevel level = LevelOf(TakeWord(text));
  if (level == LogLevel::kNone || !Skip(text, " ")) return false;
  while (Skip(text, " ")) {
  }
  auto time = log::TakeMonthDayTime(text);
  if (!time) time = log::TakeDateTime(text);
  if (!time || !Skip(text, " ")) return false;
  (void)TakeLocation(text, prefix.location);
  prefix.level = level;
  prefix.time = *time;
  rest = text;
  return true;
}

// "INFO:     127.0.0.1:34190 - …" of uvicorn has no time.
bool PeelUvicorn(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  const std::string_view word = TakeWord(text);
  const LogLevel level = word.size() < 4 ? LogLevel::kNone : LevelOf(word);
  if (level == LogLevel::kNone || !Skip(text, ": ")) return false;
  if (std::any_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; })) {
    return false;  // "Error: …" is a message
  }
  while (Skip(text, " ")) {
  }
  prefix.level = level;
  prefix.is_weak = prefix.pid < 0;
  rest = text;
  return true;
}

// 2026-05-19 19:31:29,955 - root - INFO - ; with [titan] or the like before it, and other
// separators behind.
bool PeelPython(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  if (Skip(text, "[")) {
    const std::string_view name = TakeWord(text);
    if (name.empty() || !Skip(text, "] ")) return false;
  }
  const auto time = log::TakeDateTime(text);
  if (!time) return false;
  const auto skip_separator = [](std::string_view& from) {
    const std::string_view before = from;
    while (!from.empty() && (from[0] == ' ' || from[0] == '-' || from[0] == '|' || from[0] == '[' ||
                             from[0] == ']' || from[0] == ':')) {
      from.remove_prefix(1);
    }
    return before.size() != from.size();
  };
  if (!text.empty() && text[0] != ' ' && text[0] != ']') return false;
  // A level among the first words; without one, the message begins behind the time.
  std::string_view words = text;
  prefix.time = *time;
  for (int word = 0; word < 3; ++word) {
    if (!skip_separator(words)) break;
    std::string_view after = words;
    const std::string_view taken = TakeWord(after);
    if (taken.empty()) break;
    if (const LogLevel level = LevelOf(taken); taken.size() > 1 && level != LogLevel::kNone) {
      prefix.level = level;
      words = after;
      (void)skip_separator(words);
      rest = words;
      return true;
    }
    words = after;
  }
  (void)Skip(text, " ");
  rest = text;
  return true;
}

LogLevel GlogLevel(std::string_view& rest) {
  if (rest.empty() || std::string_view("EWIFDV").find(rest[0]) == std::string_view::npos) {
    return LogLevel::kNone;
  }
  const LogLevel level = rest[0] == 'V' ? LogLevel::kDebug : LevelOf(rest.substr(0, 1));
  rest.remove_prefix(1);
  return level;
}

// W0519 19:31:02.761000 119689 torch/distributed/run.py:874]
bool PeelGlog(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  const LogLevel level = GlogLevel(text);
  if (level == LogLevel::kNone) return false;
  const auto time = log::TakeGlogTime(text);
  if (!time || !Skip(text, " ")) return false;
  while (Skip(text, " ")) {
  }
  const auto pid = TakeDigits(text, 1, 10);
  if (!pid || !Skip(text, " ")) return false;
  std::string_view location;
  if (!TakeLocation(text, location)) return false;
  prefix.level = level;
  prefix.time = *time;
  prefix.pid = *pid;
  prefix.location = location;
  rest = text;
  return true;
}

// [E520 06:31:05.050097785 ProcessGroupNCCL.cpp:757], and without a time in old versions.
bool PeelPyTorch(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  if (!Skip(text, "[")) return false;
  const LogLevel level = GlogLevel(text);
  if (level == LogLevel::kNone) return false;
  const auto time = log::TakeGlogTime(text);
  if (!Skip(text, " ")) return false;
  constexpr size_t kLongest = 512;
  const size_t end = text.substr(0, kLongest).find(']');
  if (end == std::string_view::npos) return false;
  if (!time && text.substr(0, end).find(".cpp:") == std::string_view::npos) return false;
  prefix.level = level;
  if (time) prefix.time = *time;
  prefix.location = text.substr(0, end);
  text.remove_prefix(end + 1);
  (void)Skip(text, " ");
  rest = text;
  return true;
}

// [2025-11-11 04:27:58 TP0]  [2025-11-03 14:31:10 DP6 TP6 EP6]  [04:27:58 TP0]
bool PeelSglang(std::string_view& rest, LinePrefix& prefix) {
  std::string_view text = rest;
  if (!Skip(text, "[")) return false;
  auto time = log::TakeDateTime(text);
  if (!time) time = log::TakeTimeOfDay(text);
  if (!time) return false;
  constexpr size_t kLongest = 64;
  const size_t end = text.substr(0, kLongest).find(']');
  if (end == std::string_view::npos) return false;
  std::string_view roles = text.substr(0, end);
  while (Skip(roles, " ")) {
  }
  if (!std::all_of(roles.begin(), roles.end(),
                   [](char c) { return IsWordCharacter(c) || c == ' '; })) {
    return false;
  }
  text.remove_prefix(end + 1);
  (void)Skip(text, " ");
  prefix.time = *time;
  if (LevelOf(roles) != LogLevel::kNone) {
    prefix.level = LevelOf(roles);
  } else if (!roles.empty()) {
    prefix.roles = roles;
  }
  // "[time] [INFO] " and uvicorn's "[time] INFO:     ".
  std::string_view after = text;
  const bool is_in_brackets = Skip(after, "[");
  const LogLevel level = LevelOf(TakeWord(after));
  if (level != LogLevel::kNone && Skip(after, is_in_brackets ? "] " : ": ")) {
    while (Skip(after, " ")) {
    }
    prefix.level = level;
    text = after;
  }
  rest = text;
  return true;
}

}  // namespace

std::span<const log::Peel> EnginePeels() {
  static constexpr std::array<log::Peel, 9> kPeels = {PeelRank,   PeelProcess, nccl_log::PeelNccl,
                                                      PeelVllm,   PeelUvicorn, PeelPyTorch,
                                                      PeelSglang, PeelPython,  PeelGlog};
  return kPeels;
}

}  // namespace telltale::engine_log
