#pragma once

// Ranks whose moment of arrival varies more than that of others like them, or than their own
// before.

#include <cstdint>
#include <vector>

#include "collectives/findings_matching.h"

namespace telltale::collectives {

// An entity's arrivals in one lane that vary more than they should.
struct JitterCandidate {
  uint32_t entity = 0;
  uint32_t lane = 0;
  uint32_t member = 0;
  double ratio = 0;      // of the variation, to the normal one
  double spread_us = 0;  // of its arrivals
  double intrinsic_us = 0;
  double log_p = 0;
  size_t operations = 0;
  size_t first = 0, last = 0;  // operations of the lane
  double first_progress = 0, last_progress = 0;
};

std::vector<JitterCandidate> FindJitter(const RunData& data,
                                        const std::vector<MatchedLane>& matched, unsigned threads);

}  // namespace telltale::collectives
