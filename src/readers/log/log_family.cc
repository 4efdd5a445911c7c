#include "readers/log/log_family.h"

#include <algorithm>

namespace telltale::log {

PrefixCount CountPrefixes(std::string_view head, std::span<const Peel> peels, unsigned most) {
  PrefixCount count;
  head = WithoutByteOrderMark(head);
  // What a crash left may end in zeros; other data has them sooner.
  head = head.substr(0, head.find('\0'));
  while (!head.empty() && count.lines < most) {
    const size_t end = head.find('\n');
    std::string_view line = head.substr(0, end);
    if (end == std::string_view::npos && count.lines > 0) break;  // perhaps cut
    head.remove_prefix(std::min(head.size(), line.size() + 1));
    ++count.lines;
    const LinePrefix prefix = PeelPrefix(line, peels);
    if (prefix.BeginsMessage() && !prefix.is_weak) ++count.marked;
  }
  return count;
}

std::string_view WithoutByteOrderMark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

}  // namespace telltale::log
