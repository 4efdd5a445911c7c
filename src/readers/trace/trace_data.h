#pragma once

// What a profiler's file holds, in the shape in which the store keeps it: processes, tracks
// (threads and GPU streams), and events on them. Readers of traces fill it; call_chain.h finds
// parents; trace_writer.h writes it. Times are nanoseconds.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/chunked_vector.h"
#include "readers/source_writer.h"

namespace telltale::trace {

// In the order of the rows of the table event_kind.
enum class EventKind : uint8_t {
  kRange,
  kOperator,
  kRuntime,
  kDriver,
  kKernel,
  kMemcpy,
  kMemset,
  kSync,
  kGraph,
  kCommunication,
  kPython,
  kMarker,
  kOther,
};
inline constexpr size_t kEventKinds = static_cast<size_t>(EventKind::kOther) + 1;
const char* EventKindName(EventKind kind);

inline bool IsGpuWork(EventKind kind) {
  return kind == EventKind::kKernel || kind == EventKind::kMemcpy || kind == EventKind::kMemset ||
         kind == EventKind::kSync || kind == EventKind::kGraph;
}
inline bool IsApiCall(EventKind kind) {
  return kind == EventKind::kRuntime || kind == EventKind::kDriver;
}

struct Process {
  std::optional<int64_t> pid;
  std::string name;
  std::string labels;
};

enum class TrackKind : uint8_t { kThread, kStream, kOther };
const char* TrackKindName(TrackKind kind);

struct Track {
  uint32_t process = 0;  // index into TraceData::processes
  TrackKind kind = TrackKind::kThread;
  int64_t device = -1;  // of a stream, as the process counts devices
  int64_t context = -1;
  int64_t id = 0;  // thread id, or stream id
  std::string name;
};

constexpr uint64_t kNoCorrelation = ~uint64_t{0};
constexpr int64_t kUnfinished = -1;  // as a duration
// Times further from 1970 than this (146 years), and longer events (104 days), are taken for
// damage: differences and sums of what is nearer do not overflow.
constexpr int64_t kLargestTimeNs = int64_t{1} << 62;
constexpr int64_t kLongestEventNs = int64_t{1} << 53;
inline bool IsPlausible(int64_t start_ns, int64_t duration_ns) {
  return start_ns >= -kLargestTimeNs && start_ns <= kLargestTimeNs - kLongestEventNs &&
         duration_ns <= kLongestEventNs;
}

constexpr uint32_t kNoEvent = ~uint32_t{0};

struct Event {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  uint64_t correlation = kNoCorrelation;  // unique within a process
  uint64_t external_id = kNoCorrelation;  // Kineto: of the operator that it belongs to
  uint32_t position = 0;                  // in the source: number of the record, from 0
  uint32_t track = 0;
  uint32_t name = 0;  // index into TraceData::names
  EventKind kind = EventKind::kOther;
  bool nests =
      true;  // false: may end on another thread or overlap freely, so it is nobody's parent
  uint8_t records = 1;  // of the source: a begin and an end are two
};

struct LaunchShape {
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  uint32_t registers_per_thread = 0;
  uint32_t shared_memory_bytes = 0;
  bool operator==(const LaunchShape&) const = default;
};

// Side tables: rows by the index of their event.
struct KernelLaunch {
  uint32_t event = 0;
  LaunchShape shape;
  int64_t graph_node = -1;
};

struct MemoryOperation {
  uint32_t event = 0;
  uint64_t bytes = 0;
};

// Arguments of a collective, as the framework names them.
struct Communication {
  uint32_t event = 0;
  std::string collective, data_type, group_name, group_description, group_ranks, communicator_id;
  std::optional<int64_t> in_elements, out_elements, group_size, rank, sequence;
};

// What a range carries beside its name.
struct Payload {
  uint32_t event = 0;
  std::string json;
};

// A stream waits for an event that was recorded on another: by the recorded event, or by the
// correlation id of the call that recorded it.
struct StreamWait {
  uint32_t event = 0;            // the wait
  uint32_t recorded = kNoEvent;  // what it waits for
  uint64_t record_correlation = kNoCorrelation;
};

// Two or more of the same category and id are one flow.
struct FlowPoint {
  int64_t time_ns = 0;
  uint64_t id = 0;
  uint32_t category = 0;  // index into TraceData::names
  uint32_t track = 0;
  uint32_t phase = 0;  // 0 start, 1 step, 2 end
};

struct CounterValue {
  int64_t time_ns = 0;
  uint32_t track = 0;
  uint32_t name = 0;
  double value = 0;
  uint32_t records = 1;  // of the source: 0 where another value of the same record counts
};

// A line that a process wrote while it was profiled.
struct OutputLine {
  std::optional<uint32_t> process;  // index into TraceData::processes
  std::string stream;               // stdout, stderr
  uint32_t line = 0;                // from 1
  std::string text;
};

using Loss = SourceLoss;

struct TraceRows {
  ChunkedVector<Event> events;
  ChunkedVector<KernelLaunch> launches;
  ChunkedVector<MemoryOperation> memory;
  ChunkedVector<Communication> communications;
  ChunkedVector<Payload> payloads;
  ChunkedVector<StreamWait> waits;
  ChunkedVector<FlowPoint> flows;
  ChunkedVector<CounterValue> counters;
};

// Where a part's events are in the whole.
struct MovedEvents {
  uint32_t full = 0;  // so many of the first lie from first_full on, the others from first_other on
  uint32_t first_full = 0;
  uint32_t first_other = 0;
  uint32_t IndexOf(uint32_t event) const {
    return event < full ? first_full + event : first_other + event - full;
  }
};

// Moves the rows of the parts behind each other; leaves the parts empty. Numbers of tracks and
// names must be those of the whole already, indexes of events those of their part. Returns, by
// part, where its events are now.
std::vector<MovedEvents> JoinRows(std::span<TraceRows* const> parts, TraceRows& whole);

struct TraceData : TraceRows {
  std::vector<Process> processes;
  std::vector<Track> tracks;
  std::vector<std::string> names;
  std::vector<Loss> losses;
  std::vector<OutputLine> output;
  uint64_t metadata_records = 0;  // records that name processes and threads
  uint64_t records = 0;           // of the file
  uint64_t LostRecords() const;   // of them: losses of class line
  // Of the traced process, as the file says.
  std::string host;
  std::optional<int64_t> rank, world_size;
  std::string format_version, tool;
};

}  // namespace telltale::trace
