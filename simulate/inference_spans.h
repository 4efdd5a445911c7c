#pragma once

// OpenTelemetry spans as the collector's file exporter writes them (OTLP JSON, one object of
// resourceSpans a line), on the first host's clock.
//
// vLLM: one span `llm_request` for each finished request; what is aborted or never finishes has
// none. SGLang: a tree for each request, `Bootstrap Room 0x0` > ` Req <8>` > a span for each thread
// > its stages; stages are exported as they end, so that those of a request which never finishes
// lack their parents.

#include <cstdint>
#include <string>

#include "simulate/host_clock.h"
#include "simulate/inference_run.h"

namespace telltale::simulate {

struct SpanLines {
  std::string text;
  uint64_t spans = 0;
};

SpanLines Spans(const InferenceOptions& options, const InferenceHost& host,
                const InferenceRun& run);

}  // namespace telltale::simulate
