#pragma once

// What stands before the message of a log line: time, level, who wrote it, where in the code. Each
// family of logs has functions that take such a part off the front of a line (a Peel); a reader
// names those that its files have, and they are tried in turn until one says that the message
// begins, or none finds anything more.
//
// To read another kind of prefix, write a Peel beside those of its family and add it to the list.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace telltale::log {

enum class LogLevel : uint8_t { kNone, kDebug, kInfo, kWarning, kError, kCritical };

// "INFO", "warn", "E": none where the word is no level.
LogLevel LevelOf(std::string_view word);
std::string_view LevelName(LogLevel level);

// A time as a line writes it; what it lacks is found out by LogClock.
struct WrittenTime {
  enum class Kind : uint8_t { kNone, kFull, kNoYear, kTimeOnly, kSinceStart };
  Kind kind = Kind::kNone;
  // Nanoseconds: since 1970 as the clock on the wall reads; of kNoYear since the begin of a leap
  // year, of kTimeOnly since midnight, of kSinceStart since the host started.
  int64_t ns = 0;
  std::optional<int32_t> zone_seconds;  // east of Greenwich, where the line says it
};

struct LinePrefix {
  WrittenTime time;
  LogLevel level = LogLevel::kNone;
  std::string_view process;  // EngineCore_DP0, APIServer
  std::string_view host;
  std::string_view location;  // core.py:1008
  std::string_view roles;     // DP6 TP6 EP6
  int64_t pid = -1;
  int64_t rank = -1;       // as a launcher wrote it before the line
  bool is_marked = false;  // a library's own prefix (NCCL's): a message begins here

  bool is_weak = false;       // a bare word such as "ERROR:", as other texts have them too
  bool is_of_syslog = false;  // another prefix may follow

  bool BeginsMessage() const {
    return is_marked || time.kind != WrittenTime::Kind::kNone || level != LogLevel::kNone;
  }
};

// Takes one part off the front of `rest`; false, with both as they were, where there is none.
using Peel = bool (*)(std::string_view& rest, LinePrefix& prefix);

// The prefix of a line; `rest` becomes the message.
LinePrefix PeelPrefix(std::string_view& rest, std::span<const Peel> peels);

}  // namespace telltale::log
