#pragma once

// Lines in, rows out: prefix, time, who wrote it, the message that it belongs to, its template,
// and what it says of known kinds.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/interner.h"
#include "readers/log/clue.h"
#include "readers/log/log_clock.h"
#include "readers/log/log_family.h"
#include "readers/log/log_rows.h"
#include "readers/log/message_lines.h"
#include "readers/log/template_miner.h"

namespace telltale::log {

class LogBuilder {
 public:
  LogBuilder(const LogFamily& family, const ClueFinder& clues, const LogClock& clock)
      : family_(family), clues_(clues), clock_(clock), messages_(family.unmarked_goes_on) {}

  // Whole lines, each with its '\n' but perhaps the last. Times without a year look for one in the
  // first text that comes.
  void Add(std::string_view lines);

  // What was added since; numbers of processes, locations and templates go on.
  LogRows TakeRows();
  size_t pending_bytes() const { return rows_.text.size(); }
  size_t pending_rows() const { return rows_.size(); }

  const std::vector<LogProcess>& processes() const { return processes_; }
  const Interner& locations() const { return locations_; }
  const TemplateMiner& templates() const { return templates_; }
  const LogClock& clock() const { return clock_; }
  uint32_t lines() const { return line_; }
  uint64_t lines_not_utf8() const { return not_utf8_; }
  // Beyond the processes that are told apart.
  uint64_t lines_of_nobody() const { return lines_of_nobody_; }

 private:
  void AddLine(std::string_view line);
  void LookAhead(std::string_view lines);
  void PeelInner(std::string_view& text, LinePrefix& prefix) const;
  uint32_t ProcessOf(const LinePrefix& prefix);

  const LogFamily& family_;
  const ClueFinder& clues_;
  LogClock clock_;
  MessageLines messages_;
  LogRows rows_;
  std::vector<LogProcess> processes_;
  std::unordered_map<std::string, uint32_t> process_numbers_;
  uint32_t last_process_ = kNoNumber;
  Interner locations_;
  TemplateMiner templates_;
  std::string uncoloured_, repaired_;
  int64_t last_time_ns_ = -1;
  uint32_t line_ = 0;
  uint64_t not_utf8_ = 0;
  uint64_t lines_of_nobody_ = 0;
  bool has_looked_ahead_ = false;
  bool is_utf8_ = true;  // the text being added
  bool has_escapes_ = false;
};

}  // namespace telltale::log
