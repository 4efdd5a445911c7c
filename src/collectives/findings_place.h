#pragma once

// From slow lanes to the fewest places that explain them: a communicator, a link between two hosts,
// a host, or no place at all (congestion). What one cause explains is taken away before the next is
// sought.

#include <string>
#include <vector>

#include "collectives/findings.h"
#include "collectives/findings_slow.h"

namespace telltale::collectives {

struct SlowCause {
  FindingKind kind = FindingKind::kSlowLink;
  int32_t communicator = -1;  // index
  int32_t host = -1, other_host = -1;
  bool hosts_cannot_be_told_apart = false;
  std::vector<uint32_t> units;  // that show it, the clearest first
  SlowStretch clearest;
  bool transfers = false;  // it is seen in p2p operations
  double added_us = 0;     // to an operation of the clearest unit
  double excess = 0;       // typical, log
  double log_p = 0;
  size_t operations = 0;
  double first_progress = 0, last_progress = 0;
};

struct SlowSearch {
  std::vector<SlowCause> causes;
  std::vector<NotKnown> not_known;
};

SlowSearch FindSlowPlaces(const RunData& data, std::vector<SlowUnit> units);

}  // namespace telltale::collectives
