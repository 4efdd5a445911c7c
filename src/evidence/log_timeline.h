#pragma once

// Typed events of logs on one timeline: repeats of one fault as one, with what other lines and
// other ranks tell of it.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace telltale::evidence {

struct TimelineEvent {
  std::string run, kind, severity, host, process, roles, gpu;
  std::optional<int64_t> time_ns;       // by the clock of its host
  std::optional<int64_t> last_time_ns;  // of the last repeat
  uint64_t count = 1;
  int64_t requests = 1;  // of all repeats, where the event counts requests
  std::optional<int64_t> pid, rank;
  std::string fields;           // JSON, of the first one
  std::string cause;            // what else is known: who lags behind, which error ended an engine
  std::optional<int64_t> step;  // the step during which it was written, or the last one before
  std::string path;
  int64_t source = 0, line = 0;
  std::string text;
};

struct TimelineFilter {
  std::string run;                // empty: all
  std::string kind;               // empty: all
  bool with_information = false;  // events of severity info too
};

// By time; events without one by source and line, behind those that have one.
Result<std::vector<TimelineEvent>> LogTimeline(Connection& connection,
                                               const TimelineFilter& filter);

}  // namespace telltale::evidence
