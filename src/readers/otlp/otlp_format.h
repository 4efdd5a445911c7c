#pragma once

// Spans and log records that OpenTelemetry's exporters wrote to files as JSON, as sources of the
// store.

#include "readers/format.h"

namespace telltale::otlp {

Format OtlpFormat();

}  // namespace telltale::otlp
