// OpenTelemetry's JSON from any bytes: no crash, records and losses add up, what is given can be
// stored, and how the lines come does not matter.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/line_window.h"
#include "readers/otlp/otlp_parser.h"

namespace {

using namespace telltale;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

struct Sink : otlp::RecordSink {
  void RequireJson(const std::string& json) {
    Require(json.empty() || parser.parse(json).error() == simdjson::SUCCESS, "attributes are JSON");
  }
  Status Take(const otlp::Span& span, const otlp::Origin& origin) override {
    RequireJson(span.attributes);
    RequireJson(span.events);
    Require(span.trace_id.size() == 32 && span.span_id.size() == 16, "ids are whole");
    Require(span.start_ns > 0 && span.end_ns > 0, "times are there");
    text += span.trace_id + span.span_id + span.name + span.attributes + origin.service + '\n';
    ++rows;
    return {};
  }
  Status Take(const otlp::LogRecord& record, const otlp::Origin& origin) override {
    RequireJson(record.attributes);
    text += record.body + record.attributes + origin.service + '\n';
    ++rows;
    return {};
  }
  simdjson::dom::parser parser;
  std::string text;
  uint64_t rows = 0;
};

std::string Parse(std::string_view bytes, size_t window_bytes) {
  Sink sink;
  otlp::OtlpParser parser(sink);
  const auto stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes, otlp::JsonDocuments::kMostBytes);
  for (auto window = windows.Next(); window && !window->empty(); window = windows.Next()) {
    Require(parser.ParseWindow(*window, windows.cut_line()).has_value(), "the sink fails");
  }
  Require(parser.Finish().has_value(), "the sink fails");
  Require(sink.rows == parser.rows(), "rows are counted");
  Require(parser.records() == parser.rows() + parser.losses().Records(), "losses add up");
  return sink.text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* input, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(input), size);
  (void)otlp::LooksLikeOtlp(bytes);
  Require(Parse(bytes, size + 1) == Parse(bytes, 1), "windows do not matter");
  const std::string repaired = otlp::Repaired(bytes);
  Require(simdjson::validate_utf8(repaired), "what is repaired is UTF-8");
  return 0;
}
