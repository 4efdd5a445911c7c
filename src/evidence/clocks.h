#pragma once

// The clocks of a run's hosts, from the profiles in the store: kernels of
// collectives that several processes recorded. Only collectives that no rank
// leaves before all have come are used, and only where it is certain which
// records are of one operation. Records of one host need not be found in one
// profile.
//
// Dumps of the flight recorder are not used: they name ranks, not hosts. Nor
// are sends and receives: profiles in the store do not say who the peer is.

#include <cstdint>
#include <string_view>
#include <vector>

#include "evidence/clock_model.h"
#include "store/database.h"

namespace telltale::evidence {

// Kernels of collectives by what became of them.
struct ClockRecordCounts {
  uint64_t used = 0;
  uint64_t not_joint = 0;  // a rank may leave before others come (broadcast, all-to-all, send, …)
  uint64_t empty = 0;      // no elements, so perhaps nothing was waited for
  uint64_t without_end = 0;  // or without a group
  uint64_t uneven = 0;       // no numbers, and not the same count on all ranks that were seen
  uint64_t seen_once = 0;    // on one process only
};

struct RunClockEvidence {
  ClockEvidence evidence;
  ClockRecordCounts counts;
};

// Whether no rank can leave the collective before all have entered it, by the
// name that frameworks and NCCL give it. All-to-all is none: with uneven sizes
// a rank may have nothing to wait for.
bool IsJointCollective(std::string_view name);

// Fails if there is no such run, or the store cannot be read. No profiles: no
// hosts.
Result<RunClockEvidence> LoadClockEvidence(Connection& connection, std::string_view run);

// By host, as they come among the sources. Times in nanoseconds since 1970.
Result<std::vector<HostClock>> HostClocks(Connection& connection, std::string_view run);

}  // namespace telltale::evidence
