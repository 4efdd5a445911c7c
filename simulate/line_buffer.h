#pragma once

// An append-only byte buffer for log lines, with the number formats of C's printf that the
// Inspector uses. Formatting is most of the generator's work, so numbers are written by hand,
// without a locale and without a call per field.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

namespace telltale::simulate {

// Each Put function writes at `out` and returns the end of what it wrote.
inline char* PutText(char* out, std::string_view text) {
  std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

// printf("%lu"): at most 20 bytes.
char* PutUnsigned(char* out, uint64_t value);

// printf("%f") in the "C" locale and the default rounding mode, to the last bit (a test compares
// them): at most kMaxSixDecimals bytes.
inline constexpr size_t kMaxSixDecimals = 320;
char* PutSixDecimals(char* out, double value);

class LineBuffer {
 public:
  // Makes room for `size` more bytes and returns where they go; Commit says where they ended.
  char* Reserve(size_t size) {
    if (capacity_ - size_ < size) Grow(size);
    return data_.get() + size_;
  }
  void Commit(const char* end) { size_ = static_cast<size_t>(end - data_.get()); }
  void Clear() { size_ = 0; }
  std::string_view text() const { return {data_.get(), size_}; }
  size_t size() const { return size_; }

 private:
  void Grow(size_t size);

  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace telltale::simulate
