#pragma once

// A profile as a Chrome trace that Perfetto opens.
//
// Perfetto takes slices of one track that overlap without nesting for an error and drops some; here
// each such slice is on a lane of its own beside the track. Arrows go from calls to the GPU work
// that they launched. Times are microseconds with three decimals, from the first event on; the
// member telltaleStartNs says which moment (UTC, nanoseconds) that is.

#include <functional>
#include <string_view>

#include "base/result.h"
#include "evidence/trace_events.h"

namespace telltale::evidence {

// `write` takes the text piece by piece.
Status WritePerfetto(const TraceEvents& events,
                     const std::function<Status(std::string_view)>& write);

// By event: the lane of its track on which it nests or stands alone, 0 for most.
std::vector<uint32_t> LanesOf(const TraceEvents& events);

}  // namespace telltale::evidence
