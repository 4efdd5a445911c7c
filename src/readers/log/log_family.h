#pragma once

// What tells one kind of log from another: prefixes, and what its lines may say. Everything else
// is the same for all logs.

#include <span>

#include "readers/log/clue.h"
#include "readers/log/line_prefix.h"

namespace telltale::log {

struct LogFamily {
  const char* format;  // as in the table source
  std::span<const Peel> peels;
  std::span<const Peel> inner_peels;  // of what stands within a prefix of syslog
  std::span<const Clue> clues;
  bool unmarked_goes_on = false;  // a line without a prefix goes on with the message before it
};

// How many of the first lines (at most `most`) have a prefix of the family that tells when or how
// grave; a launcher's alone does not count. What begins as JSON, XML or binary data has none.
struct PrefixCount {
  unsigned lines = 0;
  unsigned marked = 0;
};
std::string_view WithoutByteOrderMark(std::string_view text);
PrefixCount CountPrefixes(std::string_view head, std::span<const Peel> peels, unsigned most = 200);

}  // namespace telltale::log
