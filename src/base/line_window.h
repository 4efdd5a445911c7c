#pragma once

// Whole lines from a byte stream, a window at a time, in bounded memory.

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/byte_stream.h"

namespace telltale {

class LineWindow {
 public:
  // Bytes behind the window that may be read (not used), as simdjson asks for.
  static constexpr size_t kPadding = 64;

  LineWindow(ByteStream& stream, size_t window_bytes, size_t max_line_bytes)
      : stream_(stream),
        window_bytes_(std::min(window_bytes, max_line_bytes)),
        max_line_bytes_(max_line_bytes) {}

  // Moves to the next window: one or more whole lines, each with its '\n', the last line of the
  // stream perhaps without. Empty at the end. A line of more than max_line_bytes (with its '\n')
  // comes alone, cut to its first max_line_bytes bytes, and cut_line() is true for that window.
  Result<std::string_view> Next();

  bool cut_line() const { return cut_line_; }
  // Where the current window starts in the (decompressed) stream.
  uint64_t offset() const { return offset_; }

 private:
  Status SkipToLineEnd();

  ByteStream& stream_;
  size_t window_bytes_;
  size_t max_line_bytes_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // first byte that was not handed out yet
  size_t end_ = 0;       // end of the bytes in the buffer
  uint64_t offset_ = 0;  // of the window handed out last
  uint64_t next_offset_ = 0;
  bool cut_line_ = false;
  bool at_end_ = false;
};

}  // namespace telltale
