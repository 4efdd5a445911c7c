// NCCL Inspector lines from any bytes, in windows of any size: no crash, every line is a row or a
// counted loss, and the fast path makes the same of them as the general path. The first two bytes
// are the size of the windows, the rest is the file.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/line_window.h"
#include "readers/nccl_inspector/source_parser.h"
#include "tests/support/source_text.h"

namespace {

using namespace telltale;
using namespace telltale::nccl_inspector;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::string Parse(std::string_view bytes, bool use_fast_path, size_t window_bytes,
                  size_t max_line_bytes, uint64_t lines) {
  SourceParser parser(use_fast_path);
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes, max_line_bytes);
  while (true) {
    const auto window = windows.Next();
    Check(window.has_value(), "memory can be read");
    if (window->empty()) break;
    parser.ParseWindow(*window, windows.cut_line());
  }
  parser.Finish();
  const SourceData& data = parser.builder().data();
  Check(data.lines == lines, "lines of the file are lines of the source");
  Check(data.lines == data.rows + source_text::LineLossesOf(data), "lines = rows + losses");
  return source_text::TextOf(data);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size < 2) return 0;
  const size_t window_bytes = 1 + input[0] + (size_t{input[1]} << 8);
  const std::string_view bytes(reinterpret_cast<const char*>(input) + 2, size - 2);
  auto lines = static_cast<uint64_t>(std::count(bytes.begin(), bytes.end(), '\n'));
  if (!bytes.empty() && bytes.back() != '\n') ++lines;

  constexpr size_t kMaxLineBytes = size_t{1} << 16;
  const std::string fast = Parse(bytes, true, window_bytes, kMaxLineBytes, lines);
  Check(fast == Parse(bytes, false, window_bytes, kMaxLineBytes, lines),
        "fast path = general path");
  Check(fast == Parse(bytes, true, bytes.size() + 1, kMaxLineBytes, lines) ||
            bytes.size() > kMaxLineBytes,
        "windows of one size = windows of another");
  return 0;
}
