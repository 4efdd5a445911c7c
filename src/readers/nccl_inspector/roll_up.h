#pragma once

// What follows from all sources of a run once its communicators are known: its places, and its
// cells with their histograms (queries/rollups/run.sql).

#include <cstdint>

#include "store/database.h"

namespace telltale::nccl_inspector {

// Makes them anew for a run, in the transaction that is open on the connection.
Status RollUpRun(Connection& connection, int64_t run);

}  // namespace telltale::nccl_inspector
