#pragma once

// What is the same for every reader of traces once a file has been read: call chains, their losses,
// the store, and the report.

#include "readers/format.h"
#include "readers/trace/trace_writer.h"

namespace telltale::trace {

// `data` with all losses of the file itself, and its order (OrderOf); adds those that its call
// chains show.
Status StoreTrace(TraceWriter& writer, const SourceRow& row, TraceData& data,
                  std::vector<uint32_t> order, int64_t tolerance_ns, SourceReport& report);

}  // namespace telltale::trace
