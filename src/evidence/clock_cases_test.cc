// The clock model in cases whose answers are known by hand, and with input that
// cannot be.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "evidence/clock_model.h"
#include "tests/support/clock_job.h"

namespace telltale::evidence {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

ClockOptions Exact() {
  ClockOptions options;
  options.slack_ns = 0;
  return options;
}

// Host b is 1,000,000 ns ahead of a. In the first operation a came last, in the
// second b.
ClockEvidence TwoOperations() {
  ClockEvidence evidence;
  evidence.hosts = {"a", "b"};
  evidence.sightings = {{1, 0, 500, 600},
                        {1, 1, 1'000'100, 1'000'620},
                        {2, 0, 1'100, 1'640},
                        {2, 1, 1'001'500, 1'001'630}};
  return evidence;
}

TEST(ClockCases, TwoOperationsBoundBothSides) {
  const ClockModel model = EstimateClocks(TwoOperations(), Exact());
  ASSERT_EQ(model.hosts[1].segments.size(), 1U);
  EXPECT_EQ(model.hosts[1].reference_host, "a");
  EXPECT_EQ(model.hosts[1].basis, ClockBasis::kCollectives);
  EXPECT_EQ(model.hosts[1].operations, 2U);
  // b ends the first at 1,000,620, after a has begun at 500; a ends the second
  // at 1,640, after b has begun at 1,001,500. Drift may add half a nanosecond a
  // microsecond.
  const auto bound = OffsetAt(model.hosts[1], 1'000);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(static_cast<double>(bound->upper_ns), 1'000'120, 3);
  EXPECT_NEAR(static_cast<double>(bound->lower_ns), 999'860, 3);
  const auto own = OffsetAt(model.hosts[0], 1'000);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->lower_ns, 0);
  EXPECT_EQ(own->upper_ns, 0);
  EXPECT_FALSE(OffsetAt(model.hosts[1], kMost));
  EXPECT_FALSE(OffsetAt(model.hosts[1], kLeast));
}

TEST(ClockCases, SlackWidensBothSides) {
  ClockOptions options;
  options.slack_ns = 1'000;
  const auto bound = OffsetAt(EstimateClocks(TwoOperations(), options).hosts[1], 1'000);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(static_cast<double>(bound->upper_ns), 1'002'120, 3);
  EXPECT_NEAR(static_cast<double>(bound->lower_ns), 997'860, 3);
}

TEST(ClockCases, OrderIsKnownOutsideOfTheBound) {
  const ClockModel model = EstimateClocks(TwoOperations(), Exact());
  EXPECT_EQ(CompareAcrossHosts(model, 1'000, 0, 1'001'200, 1), Order::kBefore);
  EXPECT_EQ(CompareAcrossHosts(model, 1'001'200, 1, 1'000, 0), Order::kAfter);
  EXPECT_EQ(CompareAcrossHosts(model, 1'300, 0, 1'001'000, 1), Order::kAfter);
  EXPECT_EQ(CompareAcrossHosts(model, 1'000, 0, 1'001'050, 1), Order::kUncertain);
  EXPECT_EQ(CompareAcrossHosts(model, 5, 0, 6, 0), Order::kBefore);
  EXPECT_EQ(CompareAcrossHosts(model, 6, 0, 6, 0), Order::kUncertain);
  EXPECT_EQ(CompareAcrossHosts(model, kLeast, 0, kMost, 1), Order::kUncertain);
  EXPECT_EQ(CompareAcrossHosts(model, 1, 7, 2, 8), Order::kUncertain);
}

TEST(ClockCases, OrderOfEventsOfAJobIsNeverWrong) {
  test::ClockJobOptions options;
  options.hosts = 6;
  const test::ClockJob job(options, 11);
  const ClockModel model = EstimateClocks(job.evidence(), {});
  std::mt19937_64 random(12);
  size_t known = 0;
  constexpr size_t kEvents = 20'000;
  for (size_t i = 0; i < kEvents; ++i) {
    const auto a = static_cast<uint32_t>(random() % options.hosts);
    const auto b = static_cast<uint32_t>(random() % options.hosts);
    const double part = std::uniform_real_distribution<double>(0.1, 0.9)(random);
    const double apart = std::uniform_real_distribution<double>(-2e-5, 2e-5)(random);
    const Order order =
        CompareAcrossHosts(model, job.TimeAt(a, part), a, job.TimeAt(b, part + apart), b);
    if (order == Order::kUncertain) continue;
    ++known;
    EXPECT_EQ(order == Order::kBefore, apart > 0);
  }
  EXPECT_GT(known, kEvents / 2);
}

TEST(ClockCases, TransfersBothWaysAreEnough) {
  ClockEvidence evidence;
  evidence.hosts = {"a", "b"};
  evidence.transfers = {{1, 0, 1, 1'000, 5'300}, {2, 1, 0, 5'900, 2'200}};
  const ClockModel model = EstimateClocks(evidence, Exact());
  const auto bound = OffsetAt(model.hosts[1], 1'500);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(static_cast<double>(bound->upper_ns), 4'300, 3);
  EXPECT_NEAR(static_cast<double>(bound->lower_ns), 3'700, 3);
  // One way bounds one side, which is no bound.
  evidence.transfers.pop_back();
  EXPECT_EQ(EstimateClocks(evidence, Exact()).hosts[1].basis, ClockBasis::kNone);
}

TEST(ClockCases, AnchorsStandInForOperations) {
  ClockEvidence evidence = TwoOperations();
  evidence.hosts.push_back("c");
  evidence.hosts.push_back("d");
  // UTC is 10 ms after a's clock, give or take 200 ns; c's clock is 5 ms after
  // UTC.
  evidence.anchors = {{0, 1'000, 10'001'000, 200}, {2, 15'001'000, 10'001'000, 300}};
  const ClockModel model = EstimateClocks(evidence, Exact());
  EXPECT_EQ(model.hosts[1].basis, ClockBasis::kCollectives);
  EXPECT_EQ(model.hosts[2].basis, ClockBasis::kAnchor);
  EXPECT_EQ(model.hosts[3].basis, ClockBasis::kNone);
  const auto bound = OffsetAt(model.hosts[2], 1'000);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(static_cast<double>(bound->upper_ns), 15'000'500, 10);
  EXPECT_NEAR(static_cast<double>(bound->lower_ns), 14'999'500, 10);
}

TEST(ClockCases, AnchorsThatContradictOperationsAreNotUsed) {
  ClockEvidence evidence = TwoOperations();
  evidence.anchors = {{0, 1'000, 1'000, 100}, {1, 9'001'000, 1'000, 100}};
  const ClockModel model = EstimateClocks(evidence, Exact());
  const auto bound = OffsetAt(model.hosts[1], 1'000);
  ASSERT_TRUE(bound);
  EXPECT_NEAR(static_cast<double>(bound->upper_ns), 1'000'120, 3);
  EXPECT_GT(model.hosts[1].contradictions, 0U);
}

TEST(ClockCases, AnchorsNarrowWhatOperationsAllow) {
  ClockEvidence evidence = TwoOperations();
  evidence.anchors = {{0, 1'000, 1'000, 10}, {1, 1'001'000, 1'000, 10}};
  const auto bound = OffsetAt(EstimateClocks(evidence, Exact()).hosts[1], 1'000);
  ASSERT_TRUE(bound);
  EXPECT_LE(bound->upper_ns - bound->lower_ns, 50);
  EXPECT_LE(bound->lower_ns, 1'000'000);
  EXPECT_GE(bound->upper_ns, 1'000'000);
}

TEST(ClockCases, AFewContradictionsAmongFewAreNoMajority) {
  ClockEvidence evidence = TwoOperations();
  evidence.sightings.push_back({3, 0, 2'000, 2'100});
  evidence.sightings.push_back({3, 1, 7'000'000, 7'000'100});
  const ClockModel model = EstimateClocks(evidence, Exact());
  const uint32_t other = 1 - model.reference;
  // Two parts, of which the second rests on one operation, or none.
  for (const ClockSegment& segment : model.hosts[other].segments) {
    EXPECT_LT(segment.knots.back().time_ns, 2'000'000);
  }
  EXPECT_TRUE(model.hosts[other].basis == ClockBasis::kContradictory ||
              model.hosts[other].segments.size() <= 2);
}

TEST(ClockCases, RanksOfAHostCannotContradictEachOther) {
  ClockEvidence evidence = TwoOperations();
  // A second rank of a that began after the first had ended: not the same
  // operation.
  evidence.sightings.push_back({2, 0, 5'000, 5'100});
  const ClockModel model = EstimateClocks(evidence, Exact());
  EXPECT_EQ(model.hosts[0].contradictions, 1U);
  EXPECT_EQ(model.hosts[0].operations, 1U);
}

TEST(ClockCases, PairsThatContradictEachOtherTogetherAreFound) {
  // a and b agree, b and c agree, c is 1 s off a: each pair by itself is
  // possible.
  ClockEvidence evidence;
  evidence.hosts = {"a", "b", "c"};
  constexpr int64_t kAhead = 1'000'000'000;
  for (int64_t i = 0; i < 60; ++i) {
    const auto operation = static_cast<uint64_t>(i);
    const int64_t time = i * 1'000'000;
    const uint32_t first = i % 3 == 0 ? 1 : 0;
    const uint32_t second = i % 3 == 1 ? 1 : 2;
    const int64_t ahead = i % 3 == 2 ? kAhead : 0;
    evidence.sightings.push_back({operation, first, time, time + 100});
    evidence.sightings.push_back({operation, second, time + ahead, time + ahead + 100});
  }
  const ClockModel model = EstimateClocks(evidence, Exact());
  size_t contradictory = 0;
  for (const HostClock& clock : model.hosts) {
    contradictory += clock.basis == ClockBasis::kContradictory ? 1 : 0;
  }
  EXPECT_EQ(contradictory, 1U);
}

TEST(ClockCases, AbsurdTimesAreIgnored) {
  ClockEvidence evidence = TwoOperations();
  evidence.hosts.push_back("c");
  for (const int64_t time : {kLeast, kMost, kLeast + 1, kMost - 1}) {
    for (uint64_t operation = 1; operation < 4; ++operation) {
      evidence.sightings.push_back({operation, 2, time, time});
      evidence.sightings.push_back({operation, 2, kLeast, kMost});
      evidence.sightings.push_back({operation, 9, 0, 1});
      evidence.sightings.push_back({operation, 1, 10, 5});
      evidence.transfers.push_back({operation, 0, 2, time, -time - 1});
      evidence.anchors.push_back({2, time, -time - 1, kMost});
      evidence.anchors.push_back({2, time, 0, -1});
    }
  }
  ClockOptions options;
  for (const int64_t slack : {kLeast, int64_t{0}, kMost}) {
    options.slack_ns = slack;
    const ClockModel model = EstimateClocks(evidence, options);
    EXPECT_GE(model.ignored, 84U);
    EXPECT_TRUE(OffsetAt(model.hosts[1], 1'000));
    EXPECT_EQ(model.hosts[2].basis, ClockBasis::kNone);
  }
}

TEST(ClockCases, AnyNumbersEnd) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    ClockEvidence evidence;
    evidence.hosts.resize(random() % 6);
    const auto shift = static_cast<unsigned>(random() % 64);
    const auto time = [&] { return static_cast<int64_t>(random()) >> shift; };
    for (size_t i = random() % 200; i-- > 0;) {
      evidence.sightings.push_back(
          {random() % 50, static_cast<uint32_t>(random() % 7), time(), time()});
      evidence.transfers.push_back({random() % 50, static_cast<uint32_t>(random() % 7),
                                    static_cast<uint32_t>(random() % 7), time(), time()});
      evidence.anchors.push_back({static_cast<uint32_t>(random() % 7), time(), time(), time()});
    }
    const ClockModel model = EstimateClocks(evidence, {});
    for (const HostClock& clock : model.hosts) {
      for (const ClockSegment& segment : clock.segments) {
        EXPECT_GE(segment.error_ns, 0);
        for (const ClockKnot& knot : segment.knots) EXPECT_LE(knot.lower_ns, knot.upper_ns);
        EXPECT_TRUE(OffsetAt(clock, segment.knots.front().time_ns));
        ReferenceTimesOf(clock, time());
      }
    }
  }
}

TEST(ClockCases, NothingIsNothing) {
  EXPECT_TRUE(EstimateClocks({}, {}).hosts.empty());
  ClockEvidence evidence;
  evidence.hosts = {"a", "b"};
  const ClockModel model = EstimateClocks(evidence, {});
  EXPECT_EQ(model.hosts[0].basis, ClockBasis::kNone);
  EXPECT_EQ(model.hosts[1].basis, ClockBasis::kNone);
  evidence.sightings = {{1, 0, 5, 5}, {1, 0, 5, 5}, {2, 1, 7, 7}};
  EXPECT_EQ(EstimateClocks(evidence, {}).hosts[1].basis, ClockBasis::kNone);
  evidence.sightings = {{1, 0, 5, 5}, {1, 1, 5, 5}, {1, 1, 5, 5}};
  const auto bound = OffsetAt(EstimateClocks(evidence, Exact()).hosts[1], 5);
  ASSERT_TRUE(bound);
  EXPECT_LE(bound->upper_ns, 1);
  EXPECT_GE(bound->lower_ns, -1);
}

TEST(ClockCases, OrderOfInputDoesNotMatter) {
  test::ClockJobOptions options;
  options.hosts = 5;
  options.swapped_part = 0.004;
  ClockEvidence evidence = test::ClockJob(options, 21).evidence();
  const ClockModel model = EstimateClocks(evidence, {});
  std::shuffle(evidence.sightings.begin(), evidence.sightings.end(), std::mt19937_64(4));
  const ClockModel shuffled = EstimateClocks(evidence, {});
  ASSERT_EQ(model.reference, shuffled.reference);
  for (size_t i = 0; i < model.hosts.size(); ++i) {
    ASSERT_EQ(model.hosts[i].segments.size(), shuffled.hosts[i].segments.size());
    for (size_t j = 0; j < model.hosts[i].segments.size(); ++j) {
      EXPECT_EQ(model.hosts[i].segments[j].offset_ns, shuffled.hosts[i].segments[j].offset_ns);
      EXPECT_EQ(model.hosts[i].segments[j].error_ns, shuffled.hosts[i].segments[j].error_ns);
    }
  }
}

}  // namespace
}  // namespace telltale::evidence
