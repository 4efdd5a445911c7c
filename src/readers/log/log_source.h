#pragma once

// Reads the sources of a family of logs: what every such reader's Format is made of.

#include <memory>
#include <span>

#include "readers/format.h"
#include "readers/log/log_family.h"

namespace telltale::log {

// `family` must live as long as the worker.
Result<std::unique_ptr<SourceWorker>> MakeLogWorker(Store& store, const WorkerOptions& options,
                                                    const LogFamily& family);

// After all sources of the runs: templates of several sources that are the same.
Status LinkLogs(Store& store, std::span<const int64_t> runs);

}  // namespace telltale::log
