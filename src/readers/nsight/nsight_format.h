#pragma once

// Reader of Nsight Systems reports that were exported to SQLite (`nsys export --type sqlite`).

#include "readers/format.h"

namespace telltale::nsight {

Format NsightFormat();

}  // namespace telltale::nsight
