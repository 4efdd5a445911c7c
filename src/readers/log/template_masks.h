#pragma once

// Messages with what varies by its looks alone replaced: numbers (with points, thousands commas,
// exponents, signs; units stay), hexadecimal numbers and ids, UUIDs, addresses with ports, PCI bus
// ids, dates and times, absolute paths, quoted text, True, False and None, dictionaries and lists.
// What is left is the message's form. Most lines of a log have a form that was seen before.

#include <cstddef>
#include <memory>
#include <string_view>

namespace telltale::log {

inline constexpr std::string_view kWildcard = "<*>";

// No form is longer, whatever the message; what comes behind is one wildcard.
inline constexpr size_t kMaxFormBytes = 4096;

// One pass over the message, in time linear in its length. Any bytes are welcome; spaces, tabs and
// line ends between tokens become one space. Not safe for use by several threads at once.
class Masker {
 public:
  explicit Masker(size_t max_tokens);

  // The form, valid until the next call.
  std::string_view Mask(std::string_view message);

 private:
  size_t max_tokens_;
  std::unique_ptr<char[]> buffer_;
};

}  // namespace telltale::log
