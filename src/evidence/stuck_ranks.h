#pragma once

// Who holds a job up that hangs, from the flight-recorder dumps of its ranks. No clocks are needed:
// a collective is the same on all ranks by its group (ranks and description) and sequence number.
//   - A rank waits for another where the first operation of a group that it has not finished has
//   not
//     been enqueued by the other. Those who are waited for and wait for nobody hold the job up; so
//     do those who wait for each other in a circle.
//   - An operation that others have finished all ranks had begun: who has not finished it is stuck.
//   - A rank of a group without a dump, or with an empty one, could not even write.
// Sequence numbers of groups with sends and receives differ from rank to rank by design; there a
// send waits for its receive, and the other way round.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "store/database.h"

namespace telltale::evidence {

struct RankState {
  std::string run;
  int64_t rank = 0;
  uint64_t dumps = 0;       // more than one: the store holds several of this rank
  bool has_dump = false;    // one with content
  uint64_t unfinished = 0;  // operations under way
  std::string oldest;       // of them, as the reasons name it
  std::vector<int64_t> waits_for;
  uint64_t waited_for_by = 0;        // ranks
  std::vector<std::string> reasons;  // why it is a suspect; empty where it is none
};

// By run and rank; all runs, or the one named. Ranks without a dump are among them where a group
// names them. An error where no dump is in the store.
Result<std::vector<RankState>> StuckRanks(Connection& connection, const std::string& run);

}  // namespace telltale::evidence
