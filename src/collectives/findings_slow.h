#pragma once

// What takes longer than it should though nobody is waited for: intrinsic times against the same
// lane's past and against its siblings (the same operation and size on communicators of the same
// shape).

#include <cstdint>
#include <vector>

#include "collectives/findings_late.h"
#include "collectives/findings_matching.h"

namespace telltale::collectives {

// Neighbouring operations of a lane, as one value.
struct Bin {
  size_t first = 0, last = 0;  // operations
  size_t operations = 0;       // of these that count
  double progress = 0;
  double excess = 0;  // log of time / reference; what has been explained is taken away
};

struct SlowUnit {
  uint32_t lane = 0;
  uint32_t family = 0;  // the same for siblings
  bool network = false;
  double bandwidth_share = 0;  // how much of its time bandwidth decides, at least: 0 to 1
  bool lossy = false;          // records of it were lost
  bool complete = true;        // all ranks recorded almost all operations
  bool unseen = false;         // ranks of it have no file, so somebody unseen may be waited for
  std::vector<int32_t> hosts;
  std::vector<Bin> bins;
  double reference = 0;  // log us
  double noise = 0;      // standard deviation of the log of one operation
  size_t operations = 0;
};

// Operations that a late rank did not record say nothing: the others waited for it.
std::vector<SlowUnit> MakeUnits(const RunData& data, const std::vector<MatchedLane>& matched,
                                const std::vector<LateCandidate>& late);

// A stretch in which a unit is slow.
struct SlowStretch {
  uint32_t unit = 0;
  size_t first_bin = 0, last_bin = 0;
  double excess = 0;
  double log_p = 0;
  size_t operations = 0;
  double first_progress = 0, last_progress = 0;
};

// The clearest stretch of each unit that stands the tests, over all units. If there is none,
// siblings are taken together: what is too little to see in one of them may be clear in all.
std::vector<SlowStretch> FindSlowStretches(const std::vector<SlowUnit>& units);

// The mean excess of a unit between two moments, and the number of operations that it rests on.
struct Excess {
  double mean = 0;
  size_t operations = 0;
  size_t bins = 0;
};
Excess ExcessBetween(const SlowUnit& unit, double first_progress, double last_progress);

}  // namespace telltale::collectives
