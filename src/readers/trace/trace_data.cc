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
std::vector<MovedEvents> JoinRows(std::span<TraceRows* const> parts, TraceRows& whole) {
  std::vector<MovedEvents> moved;
  for (TraceRows* const part : parts) {
    const size_t before = part->events.size();
    const auto first = static_cast<uint32_t>(whole.events.size());
    whole.events.TakeFullChunks(part->events);
    moved.push_back({static_cast<uint32_t>(before - part->events.size()), first, 0});
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    moved[i].first_other = static_cast<uint32_t>(whole.events.size());
    const auto move_rows = [](auto& from, auto& to, const auto& change) {
      for (auto& row : from) {
        change(row);
        to.push_back(std::move(row));
      }
      from = {};
    };
    const auto unchanged = [](const auto&) {};
    const auto of_event = [&](auto& row) { row.event = moved[i].IndexOf(row.event); };
    TraceRows& part = *parts[i];
    move_rows(part.events, whole.events, unchanged);
    move_rows(part.launches, whole.launches, of_event);
    move_rows(part.memory, whole.memory, of_event);
    move_rows(part.communications, whole.communications, of_event);
    move_rows(part.payloads, whole.payloads, of_event);
    move_rows(part.waits, whole.waits, [&](StreamWait& wait) {
      wait.event = moved[i].IndexOf(wait.event);
      if (wait.recorded != kNoEvent) wait.recorded = moved[i].IndexOf(wait.recorded);
    });
    move_rows(part.flows, whole.flows, unchanged);
    move_rows(part.counters, whole.counters, unchanged);
  }
  return moved;
}

uint64_t TraceData::LostRecords() const {
  uint64_t lost = 0;
  for (const Loss& loss : losses) {
    if (loss.loss_class == "line") lost += loss.count;
  }
  return lost;
}

}  // namespace telltale::trace
