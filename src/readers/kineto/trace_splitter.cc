#include "readers/kineto/trace_splitter.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "readers/kineto/json_cursor.h"

namespace telltale::kineto {
namespace {

// An event that is longer than this is broken: its end was not found.
constexpr size_t kMaxEventBytes = size_t{32} << 20;
// An event in which so many begin is broken, once anything was.
constexpr int kMostWithin = 8;
// Members are lists of devices, process groups and the user's own metadata.
constexpr size_t kMaxMemberBytes = size_t{64} << 20;
constexpr size_t kMaxMembersBytes = size_t{16} << 20;

// Whether between two events there is only what must be there.
bool IsSeparator(const char* begin, const char* end) {
  size_t commas = 0;
  for (; begin != end; ++begin) {
    if (*begin == ',') {
      ++commas;
    } else if (!IsJsonSpace(*begin)) {
      return false;
    }
  }
  return commas <= 1;
}

}  // namespace

Result<bool> TraceSplitter::ReadMore() {
  if (at_end_) return false;
  buffer_.resize(std::max(buffer_.size(), used_ + window_bytes_));
  TELLTALE_ASSIGN(const size_t got, stream_.Read(std::span(buffer_.data() + used_, window_bytes_)));
  used_ += got;
  bytes_read_ += got;
  if (got < window_bytes_) at_end_ = true;
  return got > 0;
}

void TraceSplitter::Drop(size_t count) {
  std::memmove(buffer_.data(), buffer_.data() + count, used_ - count);
  used_ -= count;
}

Status TraceSplitter::ReadMembers() {
  while (place_ == Place::kMembers || place_ == Place::kStart) {
    JsonCursor cursor(std::string_view(buffer_.data() + at_, used_ - at_));
    if (place_ == Place::kStart) {
      if (used_ < kByteOrderMark.size() && !at_end_) {
        TELLTALE_TRY(ReadMore());
        continue;
      }
      if (at_ == 0 && std::string_view(buffer_.data(), used_).starts_with(kByteOrderMark)) {
        at_ = kByteOrderMark.size();
        continue;
      }
      if (cursor.Take('[')) {
        bare_array_ = true;
        found_events_ = true;
        place_ = Place::kEvents;
      } else if (cursor.Take('{')) {
        place_ = Place::kMembers;
      } else if (cursor.AtEnd()) {
        TELLTALE_ASSIGN(const bool more, ReadMore());
        if (!more) place_ = Place::kEnd;
        continue;
      } else {
        broken_members_ = true;
        TELLTALE_ASSIGN(const bool found, FindEvents());
        if (!found) place_ = Place::kEnd;
        continue;
      }
      at_ = static_cast<size_t>(cursor.position() - buffer_.data());
      if (place_ == Place::kEvents) StartEvents(at_);
      continue;
    }
    (void)cursor.Take(',');
    if (cursor.Take('}')) {
      place_ = Place::kEnd;
      at_ = static_cast<size_t>(cursor.position() - buffer_.data());
      break;
    }
    const char* const begin = cursor.position();
    std::string_view key;
    const bool has_key = cursor.String(key) && cursor.Take(':');
    if (has_key && key == "traceEvents" && cursor.Take('[')) {
      found_events_ = true;
      place_ = Place::kEvents;
      at_ = static_cast<size_t>(cursor.position() - buffer_.data());
      StartEvents(at_);
      break;
    }
    const bool waits_for_events = has_key && key == "traceEvents" && cursor.Peek() == '\0';
    if (has_key && !waits_for_events && cursor.SkipValue() &&
        (cursor.Peek() == ',' || cursor.Peek() == '}')) {
      std::string_view member(begin, static_cast<size_t>(cursor.position() - begin));
      while (!member.empty() && IsJsonSpace(member.front())) member.remove_prefix(1);
      if (members_.size() + member.size() < kMaxMembersBytes) {
        if (!members_.empty()) members_ += ',';
        members_ += member;
      }
      at_ = static_cast<size_t>(cursor.position() - buffer_.data());
      if (at_ > window_bytes_) {
        Drop(at_);
        at_ = 0;
      }
      continue;
    }
    // Not whole yet, or broken. Reading more moves the text that the cursor is in.
    const bool is_blank = cursor.AtEnd();
    bool more = false;
    if (used_ - at_ < kMaxMemberBytes) {
      TELLTALE_ASSIGN(more, ReadMore());
    }
    if (more) continue;
    cut_ = at_end_;
    if (!at_end_ || !found_events_) broken_members_ = !is_blank;
    TELLTALE_ASSIGN(const bool found, FindEvents());
    if (!found) place_ = Place::kEnd;
  }
  return {};
}

// Behind members that are broken: reads on until the key of the events comes.
Result<bool> TraceSplitter::FindEvents() {
  constexpr std::string_view kKey = "\"traceEvents\"";
  while (true) {
    const std::string_view text(buffer_.data(), used_);
    for (size_t key = text.find(kKey, at_); key != std::string_view::npos;
         key = text.find(kKey, key + 1)) {
      JsonCursor cursor(text.substr(key + kKey.size()));
      if (!cursor.Take(':') || !cursor.Take('[')) continue;
      found_events_ = true;
      place_ = Place::kEvents;
      at_ = static_cast<size_t>(cursor.position() - buffer_.data());
      StartEvents(at_);
      return true;
    }
    if (used_ - at_ >= kMaxMemberBytes) return false;
    TELLTALE_ASSIGN(const bool more, ReadMore());
    if (!more) return false;
  }
}

// Whether another event is the next thing behind brackets that are too many.
Result<bool> TraceSplitter::EventFollows(size_t at) {
  while (true) {
    JsonCursor cursor(std::string_view(buffer_.data() + at, used_ - at));
    while (cursor.Take(',') || cursor.Take(']') || cursor.Take('}')) {
    }
    const bool is_object = cursor.Peek() == '{';
    const std::string_view rest(cursor.position(),
                                used_ - static_cast<size_t>(cursor.position() - buffer_.data()));
    if (is_object && FindEventStart(rest.substr(0, rest.find(':')), 0, first_key_) == 0)
      return true;
    constexpr size_t kEnough = 4096;  // for brackets and the key behind them
    if ((!is_object && !cursor.AtEnd()) || used_ - at >= kEnough) return false;
    TELLTALE_ASSIGN(const bool more, ReadMore());
    if (!more) return false;
  }
}

void TraceSplitter::EndEvents() {
  at_ = scanner_.scanned();
  place_ = bare_array_ ? Place::kEnd : Place::kMembers;
}

void TraceSplitter::StartEvents(size_t offset) {
  scanner_.Restart(offset);
  gap_begin_ = offset;
}

// Between two events there is only what must be there, or something is broken.
void TraceSplitter::CheckGap(size_t end) {
  if (IsSeparator(buffer_.data() + gap_begin_, buffer_.data() + end)) return;
  const std::string_view gap(buffer_.data(), end);
  uint64_t begun = 0;
  for (size_t at = FindEventStart(gap, gap_begin_, first_key_); at != std::string_view::npos;
       at = FindEventStart(gap, at + 1, first_key_)) {
    ++begun;
  }
  if (begun == 0 && gap_counts_) return;
  if (broken_events_ == 0) first_broken_position_ = next_position_;
  broken_events_ += std::max<uint64_t>(begun, 1);
  gap_counts_ = true;
}

// Up to where to look for the end of an event, or of the next ones: where so many more begin that
// the one at hand has no end.
size_t TraceSplitter::RecoveryLimit() const {
  const std::string_view text(buffer_.data(), used_);
  size_t at = scanner_.in_element() ? scanner_.element_begin() + 1 : scanner_.scanned();
  for (int i = 0; i < kMostWithin; ++i) {
    at = FindEventStart(text, i == 0 ? at : at + 1, first_key_);
    if (at == std::string_view::npos) return used_;
  }
  return at;
}

// What begins at `begin` has no end: a quotation mark too many, say. Events go on with the next
// that begins in it; false if none does.
bool TraceSplitter::StepOver(size_t begin) {
  const size_t next = FindEventStart({buffer_.data(), used_}, begin + 1, first_key_);
  if (next == std::string_view::npos) return false;
  recovers_ = true;
  scanner_.Restart(next);
  return true;
}

// An event without its last bracket seems to go on until that of the array closes it: events go on
// with the next that begins within. So does one that is too long to be one.
bool TraceSplitter::StepOverUnequal(EventWindow& window) {
  const auto unequal = std::find_if(
      window.elements.begin(), window.elements.end(), [&](const ElementBounds& element) {
        if (element.end - element.begin > kMaxEventBytes) return true;
        return element.unequal && FindEventStart({buffer_.data(), element.end}, element.begin + 1,
                                                 first_key_) != std::string_view::npos;
      });
  if (unequal == window.elements.end()) return false;
  const ElementBounds broken = *unequal;
  window.elements.erase(unequal, window.elements.end());
  recovers_ = true;
  const size_t next = FindEventStart({buffer_.data(), broken.end}, broken.begin + 1, first_key_);
  scanner_.Restart(next == std::string_view::npos ? broken.end : next);
  return true;
}

// Behind something without end that is not kept: reads on until an event begins as PyTorch writes
// them; false if none does.
Result<bool> TraceSplitter::SeekEvent() {
  constexpr size_t kBegin = 64;  // as long as the beginning of an event may be
  CheckGap(used_);
  while (true) {
    // What is there was looked at, but for an event that begins at its end.
    Drop(used_ - std::min(used_, kBegin));
    TELLTALE_ASSIGN(const bool more, ReadMore());
    if (!more) break;
    const size_t next = FindEventStart({buffer_.data(), used_}, 0, first_key_);
    if (next == std::string_view::npos) continue;
    seeks_ = false;
    StartEvents(next);
    return true;
  }
  cut_ = true;
  place_ = Place::kEnd;
  return false;
}

// The file ends before the array of events does.
bool TraceSplitter::EndOfFile() {
  const bool in_event = scanner_.in_element();
  if (in_event && StepOver(scanner_.element_begin())) return false;
  CheckGap(in_event ? scanner_.element_begin() : used_);
  cut_ = true;
  cut_event_ = in_event;
  place_ = Place::kEnd;
  return true;
}

Result<bool> TraceSplitter::Next(EventWindow& window) {
  window.elements.clear();
  window.first_position = next_position_;
  while (true) {
    if (place_ == Place::kStart || place_ == Place::kMembers) TELLTALE_TRY(ReadMembers());
    if (place_ == Place::kEnd) return false;
    if (seeks_) {
      TELLTALE_ASSIGN(const bool found, SeekEvent());
      if (!found) return false;
    }

    const size_t limit = recovers_ ? RecoveryLimit() : used_;
    scanner_.Scan(buffer_.data(), limit, window.elements);
    if (!knows_key_ && !window.elements.empty()) {
      knows_key_ = true;
      const ElementBounds& first = window.elements[0];
      first_key_ = FirstKeyOf({buffer_.data() + first.begin, first.end - first.begin});
    }
    if (StepOverUnequal(window)) continue;
    if (scanner_.closed()) {
      const size_t bracket = scanner_.scanned() - 1;
      bool is_end = false;
      if (buffer_[bracket] == ']') {
        TELLTALE_ASSIGN(const bool goes_on, EventFollows(bracket + 1));
        is_end = !goes_on;
      }
      if (!is_end) {
        scanner_.Restart(bracket + 1);  // a bracket too many: the array is not over
        continue;
      }
      if (!window.elements.empty()) break;
      CheckGap(bracket);
      EndEvents();
      continue;
    }
    if (limit < used_) {
      // All that begins within it was looked at.
      if (scanner_.in_element() && RecoveryLimit() <= limit)
        (void)StepOver(scanner_.element_begin());
      continue;
    }
    if (!window.elements.empty()) break;
    if (scanner_.in_element() && used_ - scanner_.element_begin() > kMaxEventBytes) {
      seeks_ = !StepOver(scanner_.element_begin());
      continue;
    }
    if (!scanner_.in_element() && scanner_.scanned() > window_bytes_) {
      CheckGap(scanner_.scanned());
      Drop(scanner_.scanned());
      StartEvents(0);
    }
    TELLTALE_ASSIGN(const bool more, ReadMore());
    if (!more && EndOfFile()) return false;
  }

  for (const ElementBounds& element : window.elements) {
    CheckGap(element.begin);
    ++next_position_;
    gap_begin_ = element.end;
    gap_counts_ = false;
  }
  const size_t end = gap_begin_;
  if (scanner_.closed()) {
    // What closed the array is looked at in the next call.
    window.bytes.assign(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(end));
    scanner_.Restart(end);
    return true;
  }
  // The window takes the buffer; what is behind the last event begins the next one.
  used_ -= end;
  if (window.bytes.size() < used_) window.bytes.resize(used_);
  std::copy_n(buffer_.data() + end, used_, window.bytes.data());
  buffer_.swap(window.bytes);
  scanner_.Forget(end);
  gap_begin_ = 0;
  return true;
}

Result<bool> TraceSplitter::HasMoreText() {
  bool has_more = false;
  size_t from = at_;
  while (true) {
    has_more = has_more || std::any_of(buffer_.begin() + static_cast<std::ptrdiff_t>(from),
                                       buffer_.begin() + static_cast<std::ptrdiff_t>(used_),
                                       [](char c) { return !IsJsonSpace(c) && c != '\0'; });
    from = used_ = 0;
    TELLTALE_ASSIGN(const bool more, ReadMore());
    if (!more) return has_more && !cut_;
  }
}

}  // namespace telltale::kineto
