#pragma once

// What follows from all sources of a run (queries/rollups).

#include <cstdint>

#include "store/database.h"

namespace telltale::nccl_inspector {

// Each makes its part anew for a run, in the transaction that is open on the connection.

// Processes over all communicators of the run, which must be known.
Status RollUpPlaces(Connection& connection, int64_t run);
// Cells with their histograms, from the rollups of the series.
Status RollUpCells(Connection& connection, int64_t run);

}  // namespace telltale::nccl_inspector
