#include "readers/trace/trace_data.h"

#include <array>
#include <functional>
#include <utility>

#include "base/slices.h"

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
  const auto move_rows = [&](auto rows, const auto& change) {
    for (size_t i = 0; i < parts.size(); ++i) {
      for (auto& row : parts[i]->*rows) {
        change(row, i);
        (whole.*rows).push_back(std::move(row));
      }
      parts[i]->*rows = {};
    }
  };
  const auto unchanged = [](const auto&, size_t) {};
  const auto of_event = [&](auto& row, size_t part) { row.event = moved[part].IndexOf(row.event); };
  auto first_other = static_cast<uint32_t>(whole.events.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    moved[i].first_other = first_other;
    first_other += static_cast<uint32_t>(parts[i]->events.size());
  }
  const std::array<std::function<void()>, 8> tables = {
      [&] { move_rows(&TraceRows::events, unchanged); },
      [&] { move_rows(&TraceRows::launches, of_event); },
      [&] { move_rows(&TraceRows::flows, unchanged); },
      [&] { move_rows(&TraceRows::memory, of_event); },
      [&] { move_rows(&TraceRows::communications, of_event); },
      [&] { move_rows(&TraceRows::payloads, of_event); },
      [&] {
        move_rows(&TraceRows::waits, [&](StreamWait& wait, size_t part) {
          wait.event = moved[part].IndexOf(wait.event);
          if (wait.recorded != kNoEvent) wait.recorded = moved[part].IndexOf(wait.recorded);
        });
      },
      [&] { move_rows(&TraceRows::counters, unchanged); },
  };
  ForEachInTurn(tables.size(), parts.size(), 1, [&](size_t table) { tables[table](); });
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
