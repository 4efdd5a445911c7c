#pragma once

// Joins what the parsers have read with the members of the file (time base, rank …) to one
// TraceData.

#include <string>
#include <string_view>
#include <vector>

#include "readers/kineto/event_parser.h"
#include "readers/trace/trace_data.h"

namespace telltale::kineto {

struct BuiltTrace {
  trace::TraceData data;
  std::vector<uint32_t> order;  // of the events: trace::OrderOf
  int64_t tolerance_ns = 0;     // by which a child may end after its parent
};

// Empties the parts. `members` is a JSON object (TraceSplitter::Members).
BuiltTrace BuildTrace(std::vector<TracePart> parts, std::string_view members,
                      const std::string& path);

}  // namespace telltale::kineto
