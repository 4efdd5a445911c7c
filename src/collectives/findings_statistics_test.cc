#include "collectives/findings_statistics.h"

#include <cmath>

#include <gtest/gtest.h>

namespace telltale::collectives {
namespace {

TEST(FindingsStatistics, QuantilesOfFewAndNone) {
  std::vector<double> none;
  EXPECT_EQ(MedianOf(none), 0);
  std::vector<double> one = {3};
  EXPECT_EQ(MedianOf(one), 3);
  std::vector<double> odd = {5, 1, 9};
  EXPECT_EQ(MedianOf(odd), 5);
  EXPECT_EQ(QuantileOf(odd, 0), 1);
  EXPECT_EQ(QuantileOf(odd, 1), 9);
}

TEST(FindingsStatistics, LowModeIsTheLowerClusterEvenIfItIsSmaller) {
  std::vector<double> values;
  for (int i = 0; i < 30; ++i) values.push_back(1 + 0.001 * i);
  for (int i = 0; i < 100; ++i) values.push_back(2 + 0.001 * i);
  EXPECT_NEAR(LowMode(values, 0.1), 1.015, 0.01);
  EXPECT_EQ(LowMode({}, 1), 0);
}

TEST(FindingsStatistics, BestWindowIsTheLargestSum) {
  const std::vector<double> values = {-1, 2, -1, 3, -5, 4};
  const Window window = BestWindow(values);
  EXPECT_EQ(window.first, 1U);
  EXPECT_EQ(window.last, 3U);
  EXPECT_EQ(window.sum, 4);
  EXPECT_EQ(BestWindow(std::vector<double>{-1, -2}).sum, 0);
}

TEST(FindingsStatistics, NormalTailJoinsWhereErfcEnds) {
  EXPECT_NEAR(std::exp(LogNormalTail(1.645)), 0.05, 0.001);
  EXPECT_NEAR(LogNormalTail(29.99), LogNormalTail(30.01), 0.7);
  EXPECT_LT(LogNormalTail(100), LogNormalTail(50));
}

TEST(FindingsStatistics, DiscoveriesFollowBenjaminiAndHochberg) {
  // p: 0.001, 0.02, 0.03, 0.5 of 4 tests at 0.05: 0.001 <= 0.0125, 0.02 <= 0.025, 0.03 <= 0.0375.
  std::vector<double> log_p;
  for (const double p : {0.5, 0.03, 0.001, 0.02}) log_p.push_back(std::log(p));
  EXPECT_NEAR(DiscoveryThreshold(log_p, 4, 0.05), std::log(0.03), 1e-12);
  EXPECT_TRUE(std::isinf(DiscoveryThreshold({std::log(0.5)}, 4, 0.05)));
  EXPECT_TRUE(std::isinf(DiscoveryThreshold({}, 4, 0.05)));
}

}  // namespace
}  // namespace telltale::collectives
