#include <array>

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

}  // namespace telltale
