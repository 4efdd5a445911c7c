#pragma once

// Sets of sequence numbers as sorted runs, for the accounting of gaps.

#include <cstdint>
#include <vector>

namespace telltale::nccl_inspector {

struct SequenceRunRow {
  uint64_t first = 0;
  uint64_t last = 0;
  bool starts_dump = true;
};

class SequenceSet {
 public:
  void Add(const std::vector<SequenceRunRow>& runs);

  // Sorted, without overlap and with a gap between any two; starts_dump is of the run's first number.
  const std::vector<SequenceRunRow>& runs() const { return runs_; }

  // How many numbers of the set lie in [first, last]; the smallest of them in `smallest`, if any.
  uint64_t CountWithin(uint64_t first, uint64_t last, uint64_t& smallest) const;
  uint64_t CountAbove(uint64_t number) const;

 private:
  std::vector<SequenceRunRow> runs_;
};

struct GapCounts {
  uint64_t total = 0;
  uint64_t first = 0;                  // first missing number
  uint64_t known_elsewhere = 0;        // missing here, recorded by other ranks
  uint64_t first_known_elsewhere = 0;
  // Of those that no rank recorded: where the gap lies in the file. The ring loses the oldest records
  // of a dump, so nothing inside a dump can have been overwritten.
  uint64_t inside_dump = 0;
  uint64_t before_dump = 0;
};

// The numbers missing in `own` from `base` to its last; `all` (may be null) is what any rank recorded.
GapCounts CountGaps(const SequenceSet& own, uint64_t base, const SequenceSet* all);

}  // namespace telltale::nccl_inspector
