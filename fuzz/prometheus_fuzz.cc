// Prometheus' text exposition from any bytes: no crash, samples and losses add up, each sample has
// a series, and how the lines come does not matter.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/line_window.h"
#include "base/pci.h"
#include "readers/prometheus/exposition_parser.h"

namespace {

using namespace telltale;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

struct Sink : prometheus::SampleSink {
  Status Take(const prometheus::Series& one) override {
    Require(one.number == series++, "series come in order");
    Require(!one.name.empty(), "series have names");
    Require(std::is_sorted(one.labels.begin(), one.labels.end()), "labels are sorted");
    for (const auto& [name, value] : one.labels) {
      const auto bus_id = NormalPciBusId(value);
      Require(!bus_id || NormalPciBusId(*bus_id) == bus_id, "the normal form is its own");
      text += name + '=' + value + ',';
    }
    text += one.name + one.type + one.help + '\n';
    return {};
  }
  Status Take(const prometheus::Sample& one) override {
    Require(one.series < series, "samples have a series");
    Require(one.scrape >= scrape, "scrapes come in order");
    scrape = one.scrape;
    text += std::to_string(one.series) + ' ' + std::to_string(one.line) + ' ' +
            std::to_string(one.scrape) + ' ' + std::to_string(one.time_ns.value_or(-1)) + '\n';
    ++rows;
    return {};
  }
  std::string text;
  uint64_t series = 0;
  uint64_t scrape = 0;
  uint64_t rows = 0;
};

std::string Parse(std::string_view bytes, size_t window_bytes) {
  constexpr size_t kMostLineBytes = size_t{1} << 20;
  Sink sink;
  prometheus::ExpositionParser parser(sink);
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes, kMostLineBytes);
  for (auto window = windows.Next(); window && !window->empty(); window = windows.Next()) {
    Require(parser.ParseWindow(*window, windows.cut_line()).has_value(), "the sink fails");
  }
  Require(sink.rows == parser.rows(), "rows are counted");
  Require(parser.records() == parser.rows() + parser.losses().Records(), "losses add up");
  return sink.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(input), size);
  (void)prometheus::LooksLikeExposition(bytes);
  Require(Parse(bytes, size + 1) == Parse(bytes, 1), "windows do not matter");
  return 0;
}
