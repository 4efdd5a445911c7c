#include <array>

#include "readers/format.h"
#include "readers/kineto/kineto_format.h"
#include "readers/nccl_inspector/inspector_format.h"
#include "readers/nsight/nsight_format.h"

namespace telltale {

std::span<const Format> Formats() {
  static const std::array formats = {nccl_inspector::InspectorFormat(), kineto::KinetoFormat(),
                                     nsight::NsightFormat()};
  return formats;
}

}  // namespace telltale
