#include "base/line_window.h"

#include <cstring>

namespace telltale {

Result<std::string_view> LineWindow::Next() {
  cut_line_ = false;
  offset_ = next_offset_;
  if (buffer_.empty()) buffer_.resize(window_bytes_ + kPadding);

  // The unfinished line goes to the front, and the buffer is filled up behind it.
  size_t scanned = 0;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  // What lay behind a cut line may have widened it.
  if (buffer_.size() > max_line_bytes_ + kPadding) buffer_.resize(max_line_bytes_ + kPadding);
  while (true) {
    if (!at_end_) {
      TELLTALE_ASSIGN(const size_t got, stream_.Read(std::span(buffer_).subspan(
                                            end_, buffer_.size() - kPadding - end_)));
      end_ += got;
      at_end_ = end_ < buffer_.size() - kPadding;
    }
    const void* last =
        end_ > scanned ? memrchr(buffer_.data() + scanned, '\n', end_ - scanned) : nullptr;
    if (last != nullptr || at_end_) {
      const size_t length =
          last != nullptr ? static_cast<size_t>(static_cast<const char*>(last) - buffer_.data()) + 1
                          : end_;
      begin_ = length;
      next_offset_ = offset_ + length;
      std::memset(buffer_.data() + end_, 0, kPadding);
      return std::string_view(buffer_.data(), length);
    }
    scanned = end_;
    if (end_ >= max_line_bytes_) {
      next_offset_ = offset_ + end_;
      const size_t length = max_line_bytes_;
      TELLTALE_TRY(SkipToLineEnd());
      return std::string_view(buffer_.data(), length);
    }
    buffer_.resize(std::min(2 * (buffer_.size() - kPadding), max_line_bytes_) + kPadding);
  }
}

// Drops the rest of an over-long line. The cut line itself stays at the front of the buffer, and
// what follows it is kept behind.
Status LineWindow::SkipToLineEnd() {
  std::vector<char> rest(window_bytes_);
  while (true) {
    TELLTALE_ASSIGN(const size_t got, stream_.Read(std::span(rest)));
    if (got == 0) {
      at_end_ = true;
      begin_ = end_;
      return {};
    }
    cut_line_ = true;
    const void* found = std::memchr(rest.data(), '\n', got);
    if (found == nullptr) {
      next_offset_ += got;
      continue;
    }
    const size_t skipped = static_cast<size_t>(static_cast<const char*>(found) - rest.data()) + 1;
    next_offset_ += skipped;
    begin_ = end_;
    buffer_.resize(end_ + (got - skipped) + window_bytes_ + kPadding);
    std::memcpy(buffer_.data() + end_, rest.data() + skipped, got - skipped);
    end_ += got - skipped;
    return {};
  }
}

}  // namespace telltale
