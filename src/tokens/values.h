#pragma once

// The exact values of a step's events beside its tokens, each as how it differs from what is
// expected at its place:
//   duration     what the slot normally takes
//   start        on a thread: the end of the event before it under the same parent, or else the
//                start of the parent; on a stream: the later of the launch's start and the end of
//                the work before it on the stream; and the slot's usual gap behind it
//   event        the number after that of the last event on the same track
//   correlation  of GPU work: its parent's; of calls: the one after the last call's; else none
//   name         the one that stood at this place of the same token before, or the one as far from
//                it as the last two were ("Linear_4", "Linear_8": "Linear_12", counted_names.h); at
//                first the slot's usual one
// Numbers wrap around, so that any values come back exactly. They are written as LEB128 of zigzag.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace telltale::tokens {

enum class Column : uint8_t {
  kSymbols,  // the tokens themselves (encoded_steps.h)
  kTracks,
  kNames,
  kStarts,
  kDurations,
  kEvents,
  kCorrelations,
};
constexpr size_t kColumns = static_cast<size_t>(Column::kCorrelations) + 1;

inline uint64_t ZigZag(int64_t value) {
  return (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
}
inline int64_t FromZigZag(uint64_t value) {
  return static_cast<int64_t>((value >> 1) ^ (~(value & 1) + 1));
}
// Differences and sums that wrap around.
inline int64_t Minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t Plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

// Room for the longest number must be there.
inline char* PutNumber(char* out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}
constexpr size_t kLongestNumber = 10;

inline void AppendNumber(std::string& out, uint64_t value) {
  char text[kLongestNumber];
  out.append(text, static_cast<size_t>(PutNumber(text, value) - text));
}

// Reads numbers; after the end or a damaged one all are 0, and ok() is false.
class NumberReader {
 public:
  NumberReader() = default;
  explicit NumberReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  uint64_t Next() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const auto byte = static_cast<unsigned char>(*at_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    at_ = end_;
    return 0;
  }
  int64_t NextSigned() { return FromZigZag(Next()); }
  std::string_view Bytes(size_t count) {
    if (count > static_cast<size_t>(end_ - at_)) {
      ok_ = false;
      at_ = end_;
      return {};
    }
    const std::string_view bytes(at_, count);
    at_ += count;
    return bytes;
  }
  bool ok() const { return ok_; }
  bool AtEnd() const { return at_ == end_; }
  size_t left() const { return static_cast<size_t>(end_ - at_); }

 private:
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  bool ok_ = true;
};

}  // namespace telltale::tokens
