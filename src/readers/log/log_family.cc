#include "readers/log/log_family.h"

#include <algorithm>

namespace telltale::log {

PrefixCount CountPrefixes(std::string_view head, std::span<const Peel> peels, unsigned most) {
  PrefixCount count;
  if (head.find('\0') != std::string_view::npos) return count;
  while (!head.empty() && count.lines < most) {
    const size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    if (end == std::string_view::npos && count.lines > 0) break;  // perhaps cut
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    ++count.lines;
    if (PeelPrefix(line, peels).BeginsMessage()) ++count.marked;
  }
  return count;
}

}  // namespace telltale::log
