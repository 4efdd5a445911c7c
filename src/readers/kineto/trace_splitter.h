#pragma once

// Takes a Chrome trace (an object with "traceEvents", or a bare array) apart: windows of whole
// events on one side, the other members of the object on the other. Memory is bounded by the window
// and the longest event. Text that is not JSON is stepped over: events go on with the next that
// begins as the first one does ({"ph" where PyTorch wrote it). What is stepped over lies in a gap
// between two events, and is counted there: as many as begin in it, or one.

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_stream.h"
#include "readers/kineto/element_scanner.h"

namespace telltale::kineto {

struct EventWindow {
  std::vector<char> bytes;  // may go on behind the last event with what means nothing
  std::vector<ElementBounds> elements;
  uint64_t first_position = 0;  // number of the first event in the file, from 0
};

class TraceSplitter {
 public:
  TraceSplitter(ByteStream& stream, size_t window_bytes)
      : stream_(stream), window_bytes_(window_bytes) {}

  // False when there are no more events. A window that was used already lends its memory.
  Result<bool> Next(EventWindow& window);

  // All members but traceEvents, as a JSON object; complete after the last window.
  std::string Members() const { return "{" + members_ + "}"; }

  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t broken_events() const { return broken_events_; }  // stepped over; no window has them
  uint64_t first_broken_position() const { return first_broken_position_; }  // events before it
  bool cut() const { return cut_; }                    // the file ends before its last bracket
  bool cut_event() const { return cut_event_; }        // and within an event
  bool found_events() const { return found_events_; }  // there is an array of events
  bool broken_members() const { return broken_members_; }
  // Reads to the end of the stream: whether there is text behind the trace, such as another one.
  Result<bool> HasMoreText();

 private:
  enum class Place { kStart, kMembers, kEvents, kEnd };
  Result<bool> ReadMore();
  // Goes over members until events begin or the file ends.
  Status ReadMembers();
  Result<bool> FindEvents();
  size_t RecoveryLimit() const;
  bool StepOver(size_t begin);
  bool StepOverUnequal(EventWindow& window);
  Result<bool> SeekEvent();
  bool EndOfFile();
  void EndEvents();
  void Drop(size_t count);
  void StartEvents(size_t offset);
  Result<bool> EventFollows(size_t at);
  void CheckGap(size_t end);

  ByteStream& stream_;
  size_t window_bytes_;
  Place place_ = Place::kStart;
  bool bare_array_ = false;
  std::vector<char> buffer_;  // its first used_ bytes are text
  size_t used_ = 0;
  size_t at_ = 0;  // in kMembers: the next byte
  bool at_end_ = false;
  bool seeks_ = false;     // the next event, behind something without end
  bool recovers_ = false;  // something was broken: events are told apart by how they begin
  // Of the first event, with its quotation marks; that of PyTorch's until there is one.
  std::string first_key_ = R"("ph")";
  bool knows_key_ = false;
  ElementScanner scanner_;
  size_t gap_begin_ = 0;  // end of the last event
  bool gap_counts_ =
      false;  // what is broken in the gap was counted, and is not in the buffer any more
  std::string members_;
  uint64_t next_position_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t broken_events_ = 0;
  uint64_t first_broken_position_ = 0;
  bool cut_ = false;
  bool cut_event_ = false;
  bool found_events_ = false;
  bool broken_members_ = false;
};

}  // namespace telltale::kineto
