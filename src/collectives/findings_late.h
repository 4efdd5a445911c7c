#pragma once

// Ranks that others wait for: the rank with the shortest time came last. A rank is a candidate in a
// lane where it is alone the last, by a margin that matters, in operation after operation.

#include <cstdint>
#include <vector>

#include "collectives/findings_matching.h"

namespace telltale::collectives {

struct LateCandidate {
  uint32_t lane = 0;
  uint32_t member = 0;
  size_t first = 0, last = 0;  // operations of the lane
  uint64_t hits = 0;           // of these, the rank was the last
  uint64_t misses = 0;         // it was there, and not the last
  double log_p = 0;
  double margin_us = 0;     // how much longer the others waited for it than for the next, typically
  double spread = 0;        // of the margins, relative to margin_us
  double intrinsic_us = 0;  // of these operations
  double first_progress = 0, last_progress = 0;
};

struct LateSearch {
  std::vector<LateCandidate> candidates;  // those that stand the tests
  double tests = 0;
};

LateSearch FindLate(const RunData& data, const std::vector<MatchedLane>& matched);

}  // namespace telltale::collectives
