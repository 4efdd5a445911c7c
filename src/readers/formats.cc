#include <algorithm>
#include <array>

#include "base/text.h"
#include "readers/engine_log/engine_log_format.h"
#include "readers/flight_recorder/flight_recorder_format.h"
#include "readers/format.h"
#include "readers/kernel_log/kernel_log_format.h"
#include "readers/kineto/kineto_format.h"
#include "readers/nccl_inspector/inspector_format.h"
#include "readers/nccl_log/nccl_log_format.h"
#include "readers/nsight/nsight_format.h"
#include "readers/otlp/otlp_format.h"
#include "readers/prometheus/prometheus_format.h"

namespace telltale {

std::span<const Format> Formats() {
  // Logs come last: what is recognised by a few lines of text must not be anything else. OTLP comes
  // before the flight recorder, whose keys are common words.
  static const std::array formats = {nccl_inspector::InspectorFormat(),
                                     kineto::KinetoFormat(),
                                     nsight::NsightFormat(),
                                     otlp::OtlpFormat(),
                                     prometheus::PrometheusFormat(),
                                     flight_recorder::FlightRecorderFormat(),
                                     kernel_log::KernelLogFormat(),
                                     nccl_log::NcclLogFormat(),
                                     engine_log::EngineLogFormat()};
  return formats;
}

Status SourceWorker::IngestLarge(const SourceFile& file, SourceReport& report) {
  Fingerprint fingerprint;
  auto opened = OpenByteStream(file.path, &fingerprint);
  if (!opened) {
    report.message = opened.error().message;
    return {};
  }
  return Ingest(file, {opened->bytes.get(), opened->bytes.get(), opened->compression, &fingerprint},
                report);
}

std::string SourceFingerprint(std::string content, std::string_view path, uint64_t size_bytes) {
  const std::span<const Format> formats = Formats();
  const bool by_name = std::any_of(formats.begin(), formats.end(), [&](const Format& format) {
    return format.is_told_by_name != nullptr && format.is_told_by_name(path);
  });
  if (size_bytes == 0 || by_name) content += ":" + StoredText(path);
  return content;
}

}  // namespace telltale
