#pragma once

// Joins the sources of a run once all are in: which communicator ranks are one communicator, and
// what is missing that only a look over all ranks can show (rank files, sequence numbers, last
// operations). Made anew for a run at each ingest, so it holds whatever order the files came in.

#include <cstdint>
#include <span>

#include "store/store.h"

namespace telltale::nccl_inspector {

Status LinkRuns(Store& store, std::span<const int64_t> runs);

}  // namespace telltale::nccl_inspector
