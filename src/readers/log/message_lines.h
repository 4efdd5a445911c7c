#pragma once

// Which lines of a log belong to one message: tracebacks and other text of several lines, also
// where lines of several processes are mixed, and where each line has the prefix again.

#include <cstdint>
#include <string_view>
#include <vector>

#include "readers/log/line_prefix.h"
#include "readers/log/log_rows.h"

namespace telltale::log {

class MessageLines {
 public:
  // `unmarked_goes_on`: a line without a prefix always goes on with the message before it.
  explicit MessageLines(bool unmarked_goes_on) : unmarked_goes_on_(unmarked_goes_on) {}

  // The first line of the message to which the line belongs: itself, or an earlier one by
  // `process`.
  // Processes are numbered from 0 on; `location`: the number of the place in the code, or
  // kNoNumber.
  uint32_t HeadOf(uint32_t line, uint32_t process, const LinePrefix& prefix, uint32_t location,
                  std::string_view text);

 private:
  struct Message {
    uint32_t head = 0;          // 0: none yet
    bool is_traceback = false;  // the lines that come are its frames, then the error itself
    bool is_marked = false;
    WrittenTime time;
    uint32_t location = kNoNumber;
  };
  bool unmarked_goes_on_;
  uint32_t process_ = 0;       // of the line before
  uint32_t head_ = 0;          // of the line before, whoever wrote it
  std::vector<Message> last_;  // by process
};

}  // namespace telltale::log
