#include "readers/trace/trace_data.h"

namespace telltale::trace {

const char* EventKindName(EventKind kind) {
  static constexpr const char* kNames[kEventKinds] = {
      "range", "operator", "runtime",       "driver", "kernel", "memcpy", "memset",
      "sync",  "graph",    "communication", "python", "marker", "other"};
  return kNames[static_cast<size_t>(kind)];
}

const char* TrackKindName(TrackKind kind) {
  switch (kind) {
    case TrackKind::kThread:
      return "thread";
    case TrackKind::kStream:
      return "stream";
    case TrackKind::kOther:
      break;
  }
  return "other";
}

uint64_t TraceData::LostRecords() const {
  uint64_t lost = 0;
  for (const Loss& loss : losses) {
    if (loss.loss_class == "line") lost += loss.count;
  }
  return lost;
}

}  // namespace telltale::trace
