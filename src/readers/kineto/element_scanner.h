#pragma once

// Finds where the elements of a JSON array begin and end, without looking at what they hold: 64
// bytes at a time, masks tell quotation marks and brackets.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace telltale::kineto {

struct ElementBounds {
  size_t begin = 0;
  size_t end = 0;
  bool unequal = false;  // a '{' in it is closed by a ']', or a '[' by a '}'
};

// Where an object begins whose first key is this one (with its quotation marks), from `from` on;
// npos if nowhere. PyTorch's events begin with "ph".
size_t FindEventStart(std::string_view text, size_t from, std::string_view key);
// The first key of an object, with its quotation marks; that of PyTorch's events if it has none.
std::string_view FirstKeyOf(std::string_view element);

class ElementScanner {
 public:
  // Goes on to data[size); `data` holds what it held at the last call, and more behind it. Appends
  // the elements that became complete. Stops behind the ']' of the array: then closed() is true.
  void Scan(const char* data, size_t size, std::vector<ElementBounds>& elements);

  // The first `count` bytes were taken out of the buffer.
  void Forget(size_t count);
  // Starts anew at this offset, between two elements.
  void Restart(size_t offset);

  bool closed() const { return closed_; }
  size_t scanned() const { return scanned_; }
  bool in_element() const { return depth_ > 0; }
  size_t element_begin() const { return element_begin_; }

 private:
  void ScanSlowly(const char* data, size_t end, std::vector<ElementBounds>& elements);
  bool ScanBlock(const char* data, uint64_t quotes, uint64_t brackets,
                 std::vector<ElementBounds>& elements);
  // False when the array is over.
  bool Bracket(const char* data, size_t at, std::vector<ElementBounds>& elements);

  size_t scanned_ = 0;
  size_t depth_ = 0;
  uint64_t braces_ = 0;   // of the open brackets, the innermost last: 1 for a '{'
  bool is_deep_ = false;  // the element has more open brackets than braces_ holds
  bool unequal_ = false;
  size_t element_begin_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool closed_ = false;
};

}  // namespace telltale::kineto
