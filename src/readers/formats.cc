#include <array>

#include "readers/format.h"
#include "readers/nccl_inspector/inspector_format.h"

namespace telltale {

std::span<const Format> Formats() {
  static const std::array kFormats = {nccl_inspector::InspectorFormat()};
  return kFormats;
}

}  // namespace telltale
