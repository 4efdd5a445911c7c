#pragma once

// What single lines say of known kinds: events (out of memory, Xid, watchdog …) and values that
// engines report. A family of logs lists its clues: a keyword, and what reads a line that has it.
// All keywords are looked for in one pass over the message.
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
  std::string engine;  // its number, of several in one process
};

struct ObservedLine {
  std::string_view text;  // without its prefix
  uint32_t line = 0;
  uint32_t process = 0;
  int64_t time_ns = -1;                // -1 where it is not known
  bool is_warning_of_library = false;  // as its prefix says (LinePrefix::is_marked)
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

  void Value(const ObservedLine& line, std::string name, double value,
             std::string_view engine = {}) {
    values.push_back(
        {line.line, line.process, line.time_ns, std::move(name), value, std::string(engine)});
  }
};

struct Clue {
  std::string_view keyword;
  void (*read)(const ObservedLine& line, Observations& out);
};

// Finds the clues of a list in lines: looks up each pair of bytes, and compares the keywords whose
// rarest pair it is. Thread safe. At most 64 clues; keywords have two bytes or more.
class ClueFinder {
 public:
  explicit ClueFinder(std::span<const Clue> clues);
  void Read(const ObservedLine& line, Observations& out) const;

 private:
  struct Candidate {
    uint8_t clue = 0;
    uint8_t offset = 0;           // of the pair in the keyword
    uint8_t next = kNoCandidate;  // of the same pair
  };
  static constexpr uint8_t kNoCandidate = 255;
  std::span<const Clue> clues_;
  std::vector<Candidate> candidates_;
  std::vector<uint8_t> first_;  // by pair of bytes: its first candidate
  uint64_t of_warnings_ = 0;    // clues with kLibraryWarning for a keyword
};
// The keyword of a clue that reads every warning of a library.
inline constexpr std::string_view kLibraryWarning = "(warning of a library)";

// For readers of clues.
// What stands between `before` and any of `ends` (or the end of the text); empty if not there.
std::string_view Between(std::string_view text, std::string_view before, std::string_view ends);
// The whole number behind `before`; commas between thousands are skipped.
std::optional<int64_t> NumberAfter(std::string_view text, std::string_view before);
std::optional<double> RealAfter(std::string_view text, std::string_view before);
// "170.00 MiB" behind `before`, in bytes.
std::optional<int64_t> BytesAfter(std::string_view text, std::string_view before);

}  // namespace telltale::log
