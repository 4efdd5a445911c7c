#pragma once

// What a GPU did over time: computation, communication, both, neither; and why it had nothing to
// do.

#include <cstdint>
#include <string>
#include <vector>

#include "evidence/trace_events.h"

namespace telltale::evidence {

// Of one GPU of one process, from its first to its last piece of work. All lengths are of unions.
struct Overlap {
  uint32_t process = 0;  // index into TraceEvents::processes
  int64_t device = -1;
  int64_t start_ns = 0;
  int64_t span_ns = 0;
  int64_t computation_ns = 0;    // kernels but those of NCCL and RCCL
  int64_t communication_ns = 0;  // kernels of NCCL and RCCL
  int64_t memory_ns = 0;         // copies and memsets
  int64_t overlapped_ns = 0;     // communication while a computation or a copy ran
  int64_t exposed_ns = 0;        // communication while neither ran
  int64_t idle_ns = 0;           // nothing ran
};
std::vector<Overlap> OverlapOf(const TraceEvents& events);

enum class GapCause {
  kCommunication,  // a kernel of NCCL or RCCL ran in most of it
  kDependency,     // the next work had been launched before the gap began: it waited on the GPU
  kHostSync,       // the launching thread was in a synchronising call
  kLaunchBound,    // the launching thread was busy with calls and operators
  kHost,           // the launching thread did something that the profile does not show
  kUnknown,        // the next work has no launch in the profile
};
const char* GapCauseName(GapCause cause);

// A time in which a GPU ran no computation and no copy.
struct Gap {
  uint32_t process = 0;
  int64_t device = -1;
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  GapCause cause = GapCause::kUnknown;
  uint32_t before = kNone;  // last work in front of it
  uint32_t after = kNone;   // first work behind it
  uint32_t blame = kNone;  // the event that explains it: the collective, the synchronising call …
};
// Gaps of at least `least_ns`, in the order of process, device and time.
std::vector<Gap> GapsOf(const TraceEvents& events, int64_t least_ns);

}  // namespace telltale::evidence
