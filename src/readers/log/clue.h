#pragma once

// What single lines say of known kinds: events (out of memory, Xid, watchdog …) and values that
// engines report. A family of logs lists its clues: a keyword, and what reads a line that has it.
// All keywords are looked for in one pass over the line.
//
// To know another kind of event, add a Clue to the list of its family (engine_clues.cc …).

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::log {

enum class Severity : uint8_t { kInfo, kWarning, kError, kFatal };
std::string_view SeverityName(Severity severity);

// Values of an event as a JSON object.
class Fields {
 public:
  Fields& Text(std::string_view name, std::string_view value);
  // Nothing where there is no value.
  Fields& Number(std::string_view name, std::optional<int64_t> value);
  Fields& Real(std::string_view name, std::optional<double> value);
  Fields& Json(std::string_view name, std::string_view json);
  std::string Finish() const;

 private:
  void Name(std::string_view name);
  std::string json_;
};

struct LogEvent {
  uint32_t line = 0;
  const char* kind = "";
  Severity severity = Severity::kInfo;
  int64_t rank = -1;  // that the line is about; -1: that of the process that wrote it
  int64_t pid = -1;
  std::string gpu;
  std::string fields;
};

// A value that an engine reports.
struct LogValue {
  uint32_t line = 0;
  uint32_t process = 0;
  int64_t time_ns = -1;
  std::string name;
  double value = 0;
};

struct ObservedLine {
  std::string_view whole;  // with its prefix: keywords are looked for here
  std::string_view text;
  uint32_t line = 0;
  uint32_t process = 0;
  int64_t time_ns = -1;  // -1 where it is not known
};

struct Observations {
  std::vector<LogEvent> events;
  std::vector<LogValue> values;
  // What lines shortly before said, for messages that put one value on a line.
  struct {
    uint32_t line = 0;
    int64_t rank = -1;
    std::string host;
    bool is_root_cause = false;
  } recent;

  void Value(const ObservedLine& line, std::string name, double value) {
    values.push_back({line.line, line.process, line.time_ns, std::move(name), value});
  }
};

struct Clue {
  std::string_view keyword;
  void (*read)(const ObservedLine& line, Observations& out);
};

// Finds the clues of a list in lines. Thread safe. At most 64 clues.
class ClueFinder {
 public:
  explicit ClueFinder(std::span<const Clue> clues);
  void Read(const ObservedLine& line, Observations& out) const;

 private:
  using State = uint16_t;
  std::span<const Clue> clues_;
  std::vector<std::array<State, 256>> next_;  // Aho and Corasick's automaton, by byte
  std::vector<uint64_t> found_;               // by state: the clues whose keywords end there
};

// For readers of clues.
// What stands between `before` and any of `ends` (or the end of the text); empty if not there.
std::string_view Between(std::string_view text, std::string_view before, std::string_view ends);
// The whole number behind `before`; commas between thousands are skipped.
std::optional<int64_t> NumberAfter(std::string_view text, std::string_view before);
std::optional<double> RealAfter(std::string_view text, std::string_view before);
// "170.00 MiB" behind `before`, in bytes.
std::optional<int64_t> BytesAfter(std::string_view text, std::string_view before);

}  // namespace telltale::log
