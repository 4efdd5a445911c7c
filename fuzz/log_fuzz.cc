// Logs from any bytes: no crash, every line is a row, a message begins at or before each of its
// lines, and how the text comes in windows does not matter.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "readers/log/log_builder.h"
#include "readers/log_families.h"

namespace {

using namespace telltale::log;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

LogRows RowsOf(const LogFamily& family, const ClueFinder& clues, std::string_view text,
               bool by_line) {
  LogBuilder builder(family, clues, LogClock(1781524800'000'000'000, 0));
  if (!by_line) {
    builder.Add(text);
    return builder.TakeRows();
  }
  while (!text.empty()) {
    const size_t size = std::min(text.size(), text.find('\n') + 1);
    builder.Add(text.substr(0, size == 0 ? text.size() : size));
    text.remove_prefix(size == 0 ? text.size() : size);
  }
  return builder.TakeRows();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const LogFamily* const families[] = {&telltale::EngineLogFamily(), &telltale::KernelLogFamily()};
  static const ClueFinder clues(families[0]->clues);
  const std::string_view text(reinterpret_cast<const char*>(input), size);
  for (size_t i = 0; i < std::size(families); ++i) {
    const LogRows whole = RowsOf(*families[i], clues, text, false);
    size_t lines = 0;
    for (const char c : text) lines += c == '\n';
    if (!text.empty() && text.back() != '\n') ++lines;
    Require(whole.size() == lines, "every line is a row");
    for (size_t row = 0; row < whole.size(); ++row) {
      Require(whole.head[row] >= 1 && whole.head[row] <= whole.line[row], "messages begin before");
    }
    const LogRows parts = RowsOf(*families[i], clues, text, true);
    Require(parts.text == whole.text && parts.head == whole.head &&
                parts.templates == whole.templates &&
                parts.observed.events.size() == whole.observed.events.size(),
            "windows do not matter");
  }
  return 0;
}
