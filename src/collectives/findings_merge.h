#pragma once

// One verdict for each cause: what several lanes and ranks show of the same cause is put together,
// and ranks that are late only because something else made them so are left out.

#include <vector>

#include "collectives/findings.h"
#include "collectives/findings_jitter.h"
#include "collectives/findings_late.h"
#include "collectives/findings_place.h"

namespace telltale::collectives {

// A rank, or a host whose ranks are late together.
struct LateCause {
  uint32_t entity = 0;
  bool whole_host = false;
  LateCandidate clearest;
  std::vector<LateCandidate> all;
  uint64_t hits = 0, misses = 0;
};

struct JitterCause {
  int32_t entity = -1, host = -1;  // -1: everywhere
  std::vector<JitterCandidate> all;
  JitterCandidate clearest;
  size_t operations = 0;
};

std::vector<JitterCause> MergeJitter(const RunData& data,
                                     const std::vector<JitterCandidate>& candidates,
                                     const std::vector<LateCandidate>& late,
                                     const std::vector<SlowCause>& slow);

std::vector<LateCause> MergeLate(const RunData& data, const std::vector<MatchedLane>& matched,
                                 const std::vector<LateCandidate>& candidates,
                                 const std::vector<SlowCause>& slow,
                                 const std::vector<JitterCandidate>& jitter);

}  // namespace telltale::collectives
