#pragma once

// Sets of sequence numbers as sorted runs, for the accounting of gaps.

#include <cstdint>
#include <vector>

namespace telltale::nccl_inspector {

// Sequence numbers without a gap. `after_full_ring`: the run starts a dump that holds as many
// records as the producer's ring does, so that what is missing in front was overwritten: a ring
// loses the oldest records of a dump, and only when it is full. What is missing elsewhere was never
// recorded.
struct SequenceRun {
  uint64_t first = 0;
  uint64_t last = 0;
  bool after_full_ring = false;
};

// Sorts runs and joins those that touch or overlap; after_full_ring is then of the run's first
// number.
void MergeRuns(std::vector<SequenceRun>& runs);

class SequenceSet {
 public:
  void Add(const std::vector<SequenceRun>& runs);

  // Merged (MergeRuns).
  const std::vector<SequenceRun>& runs() const { return runs_; }

  // How many numbers of the set lie in [first, last]; the smallest of them in `smallest`, if any.
  uint64_t CountWithin(uint64_t first, uint64_t last, uint64_t& smallest) const;
  uint64_t CountAbove(uint64_t number) const;

 private:
  std::vector<SequenceRun> runs_;
};

struct GapCounts {
  uint64_t total = 0;
  uint64_t first = 0;            // first missing number
  uint64_t known_elsewhere = 0;  // missing here, recorded by other ranks
  uint64_t first_known_elsewhere = 0;
  uint64_t known_before_full_ring = 0;  // of those, how many a full ring follows
  // Of those that no rank recorded: whether a full ring follows the gap (SequenceRun).
  uint64_t before_full_ring = 0;
  uint64_t elsewhere = 0;
};

// The numbers missing in `own` from `base` to its last; `all` (may be null) is what any rank
// recorded.
GapCounts CountGaps(const SequenceSet& own, uint64_t base, const SequenceSet* all);

}  // namespace telltale::nccl_inspector
