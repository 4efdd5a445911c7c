#pragma once

// For tests of the inference simulation: small engines, and their files taken apart.

#include <cstdint>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <simdjson.h>

#include "simulate/inference.h"
#include "simulate/training_test_job.h"

namespace telltale::simulate {

// 40 requests on 2 hosts with 2 GPUs each, clocks that agree.
inline InferenceOptions SmallEngine(const std::string& directory, Engine engine = Engine::kVllm) {
  InferenceOptions options;
  options.engine = engine;
  options.requests = 40;
  options.rate_per_s = 30;
  options.output_tokens = 20;
  options.clock_offset_ms = 0;
  options.clock_drift_ppm = 0;
  options.directory = directory;
  return options;
}

inline InferenceSummary Simulate(const InferenceOptions& options) {
  auto summary = SimulateInference(options);
  EXPECT_TRUE(summary) << summary.error().message;
  return summary ? *summary : InferenceSummary{};
}

// The document must outlive what is taken from it.
class Document {
 public:
  explicit Document(const std::string& text) : root_(parser_.parse(text)) {}
  simdjson::dom::element operator*() const { return root_; }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

inline std::string TextOf(simdjson::dom::element element, const char* key) {
  return std::string(std::string_view(element[key]));
}
inline int64_t IntegerOf(simdjson::dom::element element, const char* key) {
  return int64_t{element[key]};
}

struct TraceEvent {
  std::string phase;
  std::string category;
  std::string name;
  int64_t start_ns = 0;  // on the host's clock, since 1970
  int64_t end_ns = 0;
  std::string arguments;
};

// "28764613031999.875" to nanoseconds.
inline int64_t NanosecondsOf(std::string_view micros) {
  const size_t point = micros.find('.');
  EXPECT_NE(point, std::string_view::npos) << micros;
  const std::string digits(micros.substr(0, point));
  return std::stoll(digits) * 1000 + std::stoll(std::string(micros.substr(point + 1, 3)));
}

inline std::vector<TraceEvent> EventsOf(const std::string& text) {
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(text);
  auto document = parser.iterate(padded);
  const int64_t base_ns = document["baseTimeNanoseconds"].get_int64();
  std::vector<TraceEvent> events;
  for (simdjson::ondemand::object object : document["traceEvents"].get_array()) {
    TraceEvent event;
    event.phase = std::string_view(object["ph"]);
    event.name = std::string_view(object["name"]);
    if (event.phase == "X") {
      event.category = std::string_view(object["cat"]);
      event.start_ns = base_ns + NanosecondsOf(object["ts"].raw_json_token());
      event.end_ns = event.start_ns + NanosecondsOf(object["dur"].raw_json_token());
      event.arguments = std::string_view(simdjson::to_json_string(object["args"]));
    }
    events.push_back(event);
  }
  return events;
}

// Ranges of steps, without other annotations.
inline std::vector<TraceEvent> StepsOf(const std::vector<TraceEvent>& events) {
  std::vector<TraceEvent> steps;
  for (const TraceEvent& event : events) {
    const bool is_step = event.name.rfind("execute_", 0) == 0 || event.name.rfind("step[", 0) == 0;
    if (event.category == "user_annotation" && is_step) steps.push_back(event);
  }
  return steps;
}

inline std::vector<TraceEvent> CollectiveKernelsOf(const std::vector<TraceEvent>& events) {
  std::vector<TraceEvent> kernels;
  for (const TraceEvent& event : events) {
    if (event.category == "kernel" && event.name.rfind("nccl", 0) == 0) kernels.push_back(event);
  }
  return kernels;
}

// Path below the folder to content.
inline std::map<std::string, std::string> TreeOf(const std::string& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    contents[fs::relative(entry.path(), directory).string()] = Bytes(entry.path());
  }
  return contents;
}

inline std::vector<std::string> TextLines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The events of all ranks, in the order of ranks.
inline std::vector<std::vector<TraceEvent>> TracesOf(const std::string& directory) {
  const Document truth(Bytes(directory + ".truth.json"));
  std::vector<std::vector<TraceEvent>> traces;
  for (const auto rank : simdjson::dom::array((*truth)["ranks"])) {
    traces.push_back(EventsOf(Bytes(directory + "/" + TextOf(rank, "file"))));
  }
  return traces;
}

}  // namespace telltale::simulate
