// BandwidthCounts against all of its values in a row.

#include "store/bandwidth_counts.h"

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

namespace telltale::test {
namespace {

struct Added {
  BandwidthFormula formula;
  uint32_t exec_time_us = 0;
};

// As an answer that took each value would be.
void ExpectSummaryOf(const std::vector<Added>& added, BandwidthCounts& counts) {
  std::vector<double> values;
  for (const Added& value : added) {
    if (value.exec_time_us > 0) values.push_back(value.formula.BusbwGbs(value.exec_time_us));
  }
  ASSERT_EQ(counts.empty(), values.empty());
  if (values.empty()) return;
  std::sort(values.begin(), values.end());
  const BandwidthSummary summary = counts.Summarise();
  ASSERT_EQ(summary.n, values.size());
  for (size_t i = 0; i < kBandwidthPercents.size(); ++i) {
    const size_t rank = (values.size() * kBandwidthPercents[i] + 99) / 100;
    EXPECT_EQ(summary.quantiles[i], values[std::max<size_t>(rank, 1) - 1])
        << "at " << kBandwidthPercents[i] << " %";
  }
}

// Times as real ones come, each kind for some while: close together, drifting, with outliers far
// off on both sides, without a record, anywhere.
class Times {
 public:
  uint32_t Next() {
    if (left_-- == 0) {
      left_ = Draw(0, 6000);
      kind_ = Draw(0, 5);
      middle_ = static_cast<uint32_t>(Draw(300, 40000));
    }
    const auto near = static_cast<uint32_t>(middle_ + Draw(0, 200));
    switch (kind_) {
      case 0:
        return near;
      case 1:
        middle_ += static_cast<uint32_t>(Draw(0, 30));
        return near;
      case 2:
        return Draw(0, 50) == 0 ? static_cast<uint32_t>(Draw(1, 4000000000)) : near;
      case 3:
        return Draw(0, 3) == 0 ? 0 : near;
      case 4:
        return Draw(0, 9) == 0 ? 1 : near;
      default:
        return static_cast<uint32_t>(Draw(1, 4294967295));
    }
  }
  uint64_t Draw(uint64_t least, uint64_t most) {
    return std::uniform_int_distribution<uint64_t>(least, most)(random_);
  }
  explicit Times(uint32_t seed) : random_(seed) {}

 private:
  std::mt19937_64 random_;
  uint64_t left_ = 0;
  uint64_t kind_ = 0;
  uint32_t middle_ = 0;
};

TEST(BandwidthCounts, AreThoseOfAllValues) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Times times(seed);
    const uint64_t formulas = seed % 3 == 0 ? 12 : 1;
    // Several, as workers have, which are added to the first.
    std::vector<BandwidthCounts> counts(1 + seed % 3);
    std::vector<Added> added;
    for (BandwidthCounts& of : counts) {
      const uint64_t spans = times.Draw(0, 400);
      for (uint64_t span = 0; span < spans; ++span) {
        const auto formula = static_cast<double>(1 + times.Draw(0, formulas - 1));
        const BandwidthFormula of_span = {formula * 1e6, 0.5};
        std::vector<uint32_t> each(times.Draw(0, 160));
        for (uint32_t& time : each) time = times.Next();
        of.AddEach(of.NumberOf(of_span), each.data(), each.size());
        for (const uint32_t time : each) added.push_back({of_span, time});
      }
    }
    for (size_t i = 1; i < counts.size(); ++i) counts[0].Add(std::move(counts[i]));
    SCOPED_TRACE(seed);
    ExpectSummaryOf(added, counts[0]);
  }
}

}  // namespace
}  // namespace telltale::test
