#include "readers/trace/trace_data.h"

#include <utility>

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

// First the full chunks of all parts, which need not be copied, then what is behind them.
void JoinRows(std::span<TraceRows* const> parts, TraceRows& whole) {
  struct Moved {
    size_t full = 0;  // events in full chunks
    size_t first_full = 0;
  };
  std::vector<Moved> moved;
  for (TraceRows* const part : parts) {
    const size_t before = part->events.size();
    const size_t first = whole.events.size();
    whole.events.TakeFullChunks(part->events);
    moved.push_back({before - part->events.size(), first});
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [full, first_full] = moved[i];
    const size_t first_behind = whole.events.size();
    const auto index_of = [&](uint32_t event) {
      return static_cast<uint32_t>(event < full ? first_full + event : first_behind + event - full);
    };
    const auto move_rows = [](auto& from, auto& to, const auto& change) {
      for (auto& row : from) {
        change(row);
        to.push_back(std::move(row));
      }
      from = {};
    };
    const auto unchanged = [](const auto&) {};
    const auto of_event = [&](auto& row) { row.event = index_of(row.event); };
    TraceRows& part = *parts[i];
    move_rows(part.events, whole.events, unchanged);
    move_rows(part.launches, whole.launches, of_event);
    move_rows(part.memory, whole.memory, of_event);
    move_rows(part.communications, whole.communications, of_event);
    move_rows(part.waits, whole.waits, [&](StreamWait& wait) {
      wait.event = index_of(wait.event);
      if (wait.recorded != kNoEvent) wait.recorded = index_of(wait.recorded);
    });
    move_rows(part.flows, whole.flows, unchanged);
    move_rows(part.counters, whole.counters, unchanged);
  }
}

uint64_t TraceData::LostRecords() const {
  uint64_t lost = 0;
  for (const Loss& loss : losses) {
    if (loss.loss_class == "line") lost += loss.count;
  }
  return lost;
}

}  // namespace telltale::trace
