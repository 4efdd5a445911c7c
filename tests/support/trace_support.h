#pragma once

// For tests of traces: where the samples are, and small traces written by hand.

#include <string>
#include <vector>

#include "readers/trace/call_chain.h"

namespace telltale::test {

// Folder traces/ of the sample data ($TELLTALE_SAMPLES or ../shared/samples); empty if not there.
std::string TraceSamples();
// Paths of the samples whose names begin and end so.
std::vector<std::string> TraceSampleFiles(const std::string& begin, const std::string& end);

// The parents of host events by the definition in call_chain.h, found by looking at every event in
// front.
std::vector<uint32_t> PlainNesting(const trace::TraceData& data, const std::vector<uint32_t>& order,
                                   int64_t tolerance_ns);

}  // namespace telltale::test
