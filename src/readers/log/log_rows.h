#pragma once

// Lines of a log as rows, a column each, and what was found out about them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "readers/log/clue.h"
#include "readers/log/line_prefix.h"

namespace telltale::log {

constexpr uint32_t kNoNumber = ~uint32_t{0};

enum class TimeBasis : uint8_t { kNone, kWritten, kLineBefore, kSinceStart };

struct LogProcess {
  std::string name, host, roles;
  int64_t pid = -1;
  int64_t rank = -1;
  bool operator==(const LogProcess&) const = default;
};

struct LogRows {
  std::vector<uint32_t> line, head, process, location, templates;
  std::vector<int64_t> time_ns;  // -1 for none
  std::vector<TimeBasis> basis;
  std::vector<LogLevel> level;
  std::vector<uint64_t> text_end;  // in `text`; the text of row i begins where that of i - 1 ends
  std::string text;
  Observations observed;

  size_t size() const { return line.size(); }
  std::string_view Text(size_t row) const {
    const uint64_t begin = row == 0 ? 0 : text_end[row - 1];
    return std::string_view(text).substr(begin, text_end[row] - begin);
  }
};

}  // namespace telltale::log
