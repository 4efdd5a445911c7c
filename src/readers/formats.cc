#include <algorithm>
#include <array>

#include "base/text.h"
#include "readers/flight_recorder/flight_recorder_format.h"
#include "readers/format.h"
#include "readers/kineto/kineto_format.h"
#include "readers/nccl_inspector/inspector_format.h"
#include "readers/nsight/nsight_format.h"

namespace telltale {

std::span<const Format> Formats() {
  static const std::array formats = {nccl_inspector::InspectorFormat(), kineto::KinetoFormat(),
                                     nsight::NsightFormat(),
                                     flight_recorder::FlightRecorderFormat()};
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
