#include "readers/nccl_inspector/sequence_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace telltale::nccl_inspector {
namespace {

std::set<uint64_t> NumbersOf(const std::vector<SequenceRun>& runs) {
  std::set<uint64_t> numbers;
  for (const SequenceRun& run : runs) {
    for (uint64_t n = run.first; n <= run.last; ++n) numbers.insert(n);
  }
  return numbers;
}

std::vector<SequenceRun> AnyRuns(std::mt19937_64& random) {
  std::vector<SequenceRun> runs(random() % 8);
  for (SequenceRun& run : runs) {
    run.first = random() % 60;
    run.last = run.first + random() % 8;
    run.after_full_ring = random() % 4 == 0;
  }
  return runs;
}

// Against sets of numbers.
TEST(SequenceSet, CountsAsASetOfNumbersDoes) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<SequenceRun> runs = AnyRuns(random);
    const std::vector<SequenceRun> others = AnyRuns(random);
    const std::set<uint64_t> numbers = NumbersOf(runs);
    const std::set<uint64_t> other_numbers = NumbersOf(others);
    SequenceSet set;
    set.Add(runs);
    SequenceSet all;
    all.Add(others);
    all.Add(runs);

    ASSERT_EQ(NumbersOf(set.runs()), numbers);
    for (size_t k = 1; k < set.runs().size(); ++k) {
      ASSERT_GT(set.runs()[k].first, set.runs()[k - 1].last + 1);
    }
    const uint64_t first = random() % 70;
    const uint64_t last = first + random() % 20;
    uint64_t smallest = UINT64_MAX;
    const auto begin = numbers.lower_bound(first);
    const auto end = numbers.upper_bound(last);
    ASSERT_EQ(set.CountWithin(first, last, smallest), std::distance(begin, end));
    if (begin != end) {
      ASSERT_EQ(smallest, *begin);
    }
    ASSERT_EQ(set.CountAbove(first), std::distance(numbers.upper_bound(first), numbers.end()));

    GapCounts expected;
    const uint64_t base = random() % 2;
    for (uint64_t n = base; !numbers.empty() && n < *numbers.rbegin(); ++n) {
      if (numbers.contains(n)) continue;
      if (expected.total++ == 0) expected.first = n;
      if (!other_numbers.contains(n)) continue;
      if (expected.known_elsewhere++ == 0) expected.first_known_elsewhere = n;
    }
    const GapCounts gaps = CountGaps(set, base, &all);
    ASSERT_EQ(gaps.total, expected.total);
    ASSERT_EQ(gaps.known_elsewhere, expected.known_elsewhere);
    if (gaps.total > 0) {
      ASSERT_EQ(gaps.first, expected.first);
    }
    if (gaps.known_elsewhere > 0) {
      ASSERT_EQ(gaps.first_known_elsewhere, expected.first_known_elsewhere);
    }
    ASSERT_EQ(gaps.before_full_ring + gaps.elsewhere, gaps.total - gaps.known_elsewhere);
  }
}

TEST(SequenceSet, GapsInFrontOfAFullRing) {
  SequenceSet set;
  set.Add({{5, 9, true}, {12, 19, false}, {25, 30, true}});
  const GapCounts gaps = CountGaps(set, 0, nullptr);
  EXPECT_EQ(gaps.before_full_ring, 10U);
  EXPECT_EQ(gaps.elsewhere, 2U);
}

TEST(SequenceSet, LargestNumbers) {
  SequenceSet set;
  set.Add({{0, 0, false}, {UINT64_MAX - 1, UINT64_MAX, false}, {UINT64_MAX, UINT64_MAX, false}});
  ASSERT_EQ(set.runs().size(), 2U);
  EXPECT_EQ(set.CountAbove(UINT64_MAX), 0U);
  EXPECT_EQ(set.CountAbove(0), 2U);
  EXPECT_EQ(CountGaps(set, 0, nullptr).total, UINT64_MAX - 2);
}

}  // namespace
}  // namespace telltale::nccl_inspector
