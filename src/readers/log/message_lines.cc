#include "readers/log/message_lines.h"

namespace telltale::log {
namespace {

bool IsIndented(std::string_view text) {
  return text.empty() || text.front() == ' ' || text.front() == '\t';
}

bool BeginsTraceback(std::string_view text) {
  return text.starts_with("Traceback (most recent call last)") ||
         text.ends_with("Traceback (most recent call last):") ||
         text.ends_with("(most recent call first):");
}

// What Python writes between the tracebacks of errors that follow from each other.
bool JoinsTracebacks(std::string_view text) {
  return text.starts_with("During handling of the above exception") ||
         text.starts_with("The above exception was the direct cause");
}

}  // namespace

uint32_t MessageLines::HeadOf(uint32_t line, uint32_t process, const LinePrefix& prefix,
                              uint32_t location, std::string_view text) {
  const bool begins = prefix.BeginsMessage();
  // A line without a prefix does not say who wrote it either.
  if (unmarked_goes_on_ && !begins && head_ > 0) return head_;
  if (process >= last_.size()) last_.resize(process + 1);
  // A line that does not say who wrote it may go on with the message before it.
  const bool is_bare = !begins && prefix.pid < 0 && prefix.rank < 0 && prefix.process.empty();
  const bool may_go_on = IsIndented(text) || JoinsTracebacks(text) ||
                         (process_ < last_.size() && last_[process_].is_traceback);
  if (is_bare && head_ > 0 && may_go_on) process = process_;
  process_ = process;
  Message& message = last_[process];
  const bool is_first = message.head == 0;
  bool goes_on = false;
  if (!is_first && !begins) {
    goes_on = IsIndented(text) || message.is_traceback || JoinsTracebacks(text);
  } else if (!is_first && message.is_marked && location != kNoNumber &&
             location == message.location && prefix.time.ns == message.time.ns &&
             prefix.time.kind == message.time.kind) {
    // One call that wrote several lines, each with the prefix.
    goes_on =
        IsIndented(text) || message.is_traceback || BeginsTraceback(text) || JoinsTracebacks(text);
  }
  if (goes_on) {
    // The error itself is the last line, not indented.
    if (BeginsTraceback(text)) {
      message.is_traceback = true;
    } else if (!IsIndented(text)) {
      message.is_traceback = JoinsTracebacks(text);
    }
    return head_ = message.head;
  }
  message.head = line;
  message.is_traceback = BeginsTraceback(text);
  message.is_marked = begins;
  message.time = prefix.time;
  message.location = location;
  return head_ = line;
}

}  // namespace telltale::log
