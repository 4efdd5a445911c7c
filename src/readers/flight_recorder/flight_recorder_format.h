#pragma once

// Dumps of PyTorch's NCCL flight recorder as sources of the store.

#include "readers/format.h"

namespace telltale::flight_recorder {

Format FlightRecorderFormat();

}  // namespace telltale::flight_recorder
