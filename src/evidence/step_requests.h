#pragma once

// Which requests an engine's steps worked for, when steps only say how many requests they had. A
// request may have been in a step if it was there at that time; where exactly as many may have been
// in the step as it had, they were, and nothing else is possible. All else is a window: those that
// may have been. `exact` rests on knowing all requests of the engine: where some left no trace, and
// nothing shows it, it may be wrong. Pure; thread safe.

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "evidence/step_batch.h"

namespace telltale::evidence {

constexpr int64_t kOpenEnd = std::numeric_limits<int64_t>::max();

struct TimeRange {
  int64_t from_ns = 0;
  int64_t to_ns = kOpenEnd;
};

// What is known of one request, on the clock of its times. Bounds are on the safe side.
struct RequestWindow {
  TimeRange active;      // it was in no step outside of this
  TimeRange generation;  // it generated in no step outside of this
  // Its prompt was computed in no step outside of this, unless it was pre-empted.
  TimeRange prefill;
  // It generated all the time: an engine that has its batch cannot have left it out, but to
  // pre-empt it. Empty (from > to) where nothing says so.
  TimeRange certain{1, 0};
  // Where the engine tells of each stage: it was in steps of that kind within these only.
  bool has_stages = false;
  std::vector<TimeRange> context_stages, generation_stages;
  int64_t sequences = 1;  // of the batch, at most: each ends by itself
  // When it came, or that it was there at all, is not known well enough for any step to be certain.
  bool is_loose = false;
  int64_t loose_after_ns = kOpenEnd;  // from then on nothing would have told of its end
  int64_t prompt_tokens = -1;
};

struct EngineStep {
  int64_t start_ns = 0;
  int64_t duration_ns = 0;
  StepBatch batch;
};

enum class RelationBasis : uint8_t { kId, kExact, kWindow };
const char* RelationBasisName(RelationBasis basis);

struct StepRequest {
  uint32_t step = 0;     // index
  uint32_t request = 0;  // index
  RelationBasis basis = RelationBasis::kWindow;
  double share = -1;  // of the step's tokens; -1 where unknown
  int64_t tokens = -1;
};

struct RelateOptions {
  // Times of requests and of steps are comparable to within this.
  int64_t error_ns = 0;
  // Whether a request may have been left out of steps while it was at work, for want of memory.
  bool may_preempt = true;
  // Whether requests may have been at work in another engine.
  bool has_other_engines = false;
  // A step that may have had more requests than this has none named.
  size_t most_candidates = 256;
};

struct Relation {
  std::vector<StepRequest> pairs;  // by step
  // Steps that had more requests than are known: some requests have left no trace.
  uint64_t steps_short = 0;
  uint64_t steps_open = 0;  // with more candidates than are named
  // Steps that had fewer requests than were at work for certain: times or clocks are not what they
  // seem, and nothing is exact.
  uint64_t steps_contradictory = 0;
};

// Steps by start. The pairs of a step are all `exact` or all `window`.
Relation RelateByTime(const std::vector<EngineStep>& steps,
                      const std::vector<RequestWindow>& requests, const RelateOptions& options);

}  // namespace telltale::evidence
