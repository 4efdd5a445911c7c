#pragma once

// For tests of the OpenTelemetry reader: lines as exporters write them.

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace telltale::test {

inline constexpr const char* kTrace = "5b8efff798038103d269b633813fc60c";

inline std::string SpanText(uint64_t id, const std::string& name, const std::string& more = "") {
  return fmt::format(
      R"({{"traceId":"{}","spanId":"{:016x}","name":"{}","startTimeUnixNano":"1758610505947721376",)"
      R"("endTimeUnixNano":"1758610505947721999"{}}})",
      kTrace, id, name, more);
}

inline std::string Line(const std::string& spans, const std::string& resource = "") {
  return R"({"resourceSpans":[{"resource":{"attributes":[)" + resource +
         R"(]},"scopeSpans":[{"scope":{"name":"vllm.llm_engine"},"spans":[)" + spans + "]}]}]}\n";
}

}  // namespace telltale::test
