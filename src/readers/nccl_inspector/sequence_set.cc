#include "readers/nccl_inspector/sequence_set.h"

#include <algorithm>

namespace telltale::nccl_inspector {

void MergeRuns(std::vector<SequenceRun>& runs) {
  std::stable_sort(runs.begin(), runs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t kept = 0;
  for (const SequenceRun& run : runs) {
    // `last + 1` may wrap at the largest number; then nothing can follow anyway.
    if (kept > 0 && (run.first <= runs[kept - 1].last || run.first - 1 == runs[kept - 1].last)) {
      runs[kept - 1].last = std::max(runs[kept - 1].last, run.last);
    } else {
      runs[kept++] = run;
    }
  }
  runs.resize(kept);
}

void SequenceSet::Add(const std::vector<SequenceRun>& runs) {
  runs_.insert(runs_.end(), runs.begin(), runs.end());
  MergeRuns(runs_);
}

uint64_t SequenceSet::CountWithin(uint64_t first, uint64_t last, uint64_t& smallest) const {
  uint64_t count = 0;
  auto run = std::lower_bound(runs_.begin(), runs_.end(), first,
                              [](const SequenceRun& r, uint64_t n) { return r.last < n; });
  for (; run != runs_.end() && run->first <= last; ++run) {
    const uint64_t from = std::max(run->first, first);
    if (count == 0) smallest = from;
    count += std::min(run->last, last) - from + 1;
  }
  return count;
}

uint64_t SequenceSet::CountAbove(uint64_t number) const {
  if (number == UINT64_MAX) return 0;
  uint64_t smallest = 0;
  return CountWithin(number + 1, UINT64_MAX, smallest);
}

GapCounts CountGaps(const SequenceSet& own, uint64_t base, const SequenceSet* all) {
  GapCounts gaps;
  uint64_t expected = base;
  for (const SequenceRun& run : own.runs()) {
    if (run.first > expected) {
      const uint64_t missing = run.first - expected;
      if (gaps.total == 0) gaps.first = expected;
      gaps.total += missing;
      uint64_t smallest = 0;
      const uint64_t known =
          all != nullptr ? all->CountWithin(expected, run.first - 1, smallest) : 0;
      if (known > 0 && gaps.known_elsewhere == 0) gaps.first_known_elsewhere = smallest;
      gaps.known_elsewhere += known;
      if (run.after_full_ring) gaps.known_before_full_ring += known;
      (run.after_full_ring ? gaps.before_full_ring : gaps.elsewhere) += missing - known;
    }
    if (run.last == UINT64_MAX) break;
    expected = std::max(expected, run.last + 1);
  }
  return gaps;
}

}  // namespace telltale::nccl_inspector
