#pragma once

// Parses a trace on several threads: one takes windows of whole events from the stream, the others
// read the events.

#include <functional>
#include <vector>

#include "readers/kineto/event_parser.h"
#include "readers/kineto/trace_splitter.h"

namespace telltale::kineto {

// `on_window` is called after each window. The parts are in no order; positions tell.
Result<std::vector<TracePart>> ParseEvents(TraceSplitter& splitter, unsigned threads,
                                           const std::function<void()>& on_window);

}  // namespace telltale::kineto
