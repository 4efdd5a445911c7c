// Chrome traces from any bytes, in windows of any size: no crash, events and losses add up to the
// records, and neither the size of the windows nor the number of threads changes what is read. The
// first two bytes are the size of the windows, the rest is the file.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "readers/kineto/parallel_parser.h"
#include "readers/kineto/trace_builder.h"
#include "readers/trace/call_chain.h"

namespace {

using namespace telltale;
using namespace telltale::kineto;

void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

std::vector<std::string> Read(std::string_view bytes, size_t window_bytes) {
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  TraceSplitter splitter(*stream, window_bytes);
  auto parts = ParseEvents(splitter, 1, [] {});
  Check(parts.has_value(), "memory can be read");
  const BuiltTrace built = BuildTrace(std::move(*parts), splitter.Members(), "trace.json");
  const trace::TraceData& data = built.data;
  Check(data.LostRecords() <= data.records, "no more is lost than there is");
  const trace::CallChain chain = trace::LinkCallChain(data, built.tolerance_ns);
  std::vector<std::string> rows;
  for (size_t i = 0; i < data.events.size(); ++i) {
    const trace::Event& event = data.events[i];
    Check(event.track < data.tracks.size() && event.name < data.names.size(),
          "numbers have things");
    // Up to the top: parents go in no circle.
    size_t steps = 0;
    for (uint32_t up = chain.parent[i]; up != trace::kNoEvent; up = chain.parent[up]) {
      Check(++steps <= data.events.size(), "no circle");
    }
    rows.push_back(fmt::format("{} {} {} {}", event.position, event.start_ns, event.duration_ns,
                               data.names[event.name]));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  if (size < 2 || size > size_t{1} << 16) return 0;
  const size_t window_bytes = 1 + input[0] + (size_t{input[1]} << 8);
  const std::string_view bytes(reinterpret_cast<const char*>(input) + 2, size - 2);
  Check(Read(bytes, bytes.size() + 1) == Read(bytes, window_bytes),
        "windows of one size = windows of another");
  return 0;
}
