#pragma once

// The events of profiles, from the store into memory: a column each, in the order of the table
// `event` (source, track, start). What is asked of call chains works on these.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "readers/trace/trace_data.h"
#include "store/store.h"

namespace telltale::evidence {

using trace::EventKind;

constexpr uint32_t kNone = ~uint32_t{0};

struct TraceProcess {
  int64_t number = 0;  // trace_process
  int64_t source = 0;
  std::string path;  // of the source
  std::string run;
  std::string host;
  std::string name;
  std::optional<int64_t> pid, rank;
};

struct TraceTrack {
  uint32_t number = 0;   // track
  uint32_t process = 0;  // index into TraceEvents::processes
  bool is_stream = false;
  int64_t device = -1;
  int64_t id = 0;
  std::string label;  // "GPU 0 stream 7", "thread 4037"
};

struct TraceEvents {
  std::vector<TraceProcess> processes;
  std::vector<TraceTrack> tracks;
  std::vector<std::string> names;
  // By event. Parents are indexes; a parent need not stand before its child.
  std::vector<int64_t> id, start_ns, duration_ns, correlation;
  std::vector<uint32_t> track, name, parent;
  std::vector<EventKind> kind;
  std::vector<uint8_t> basis;  // trace::ParentBasis

  size_t size() const { return id.size(); }
  int64_t EndNs(size_t event) const {
    return start_ns[event] + (duration_ns[event] > 0 ? duration_ns[event] : 0);
  }
  bool IsGpu(size_t event) const { return tracks[track[event]].is_stream; }
  const std::string& Name(size_t event) const { return names[name[event]]; }
  const TraceProcess& Process(size_t event) const {
    return processes[tracks[track[event]].process];
  }
};

struct TraceFilter {
  std::string run;  // empty: all
  std::optional<int64_t> rank;
};

// Fails where there are no events, and says why.
Result<TraceEvents> LoadTraceEvents(Connection& connection, const TraceFilter& filter);

// Fails as LoadTraceEvents does, without loading them.
Status RequireTracks(Connection& connection, const TraceFilter& filter);

// Whether a kernel is one of NCCL or RCCL.
bool IsCommunicationKernel(std::string_view name);

}  // namespace telltale::evidence
