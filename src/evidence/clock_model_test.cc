// The clock model against simulated jobs whose clocks are known.

#include "evidence/clock_model.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <gtest/gtest.h>

#include "tests/support/clock_job.h"

namespace telltale::evidence {
namespace {

using test::ClockJob;
using test::ClockJobOptions;

struct Score {
  size_t bounded = 0;
  size_t wrong = 0;
  size_t unknown = 0;
  std::vector<double> halves;  // half widths, as parts of the mean transfer time
  double Median() {
    if (halves.empty()) return 0;
    std::nth_element(halves.begin(), halves.begin() + static_cast<ptrdiff_t>(halves.size() / 2),
                     halves.end());
    return halves[halves.size() / 2];
  }
};

void Count(const ClockJob& job, const ClockModel& model, std::mt19937_64& random, Score& score) {
  const uint32_t reference = model.reference;
  ASSERT_EQ(model.hosts[reference].segments.size(), 1U);
  const std::vector<ClockKnot>& run = model.hosts[reference].segments[0].knots;
  const int64_t begin = run.front().time_ns;
  const int64_t end = run.back().time_ns;
  std::uniform_int_distribution<int64_t> anywhere(begin, end);
  for (uint32_t host = 0; host < model.hosts.size(); ++host) {
    if (host == reference) continue;
    for (const int64_t time :
         {begin, begin + (end - begin) / 2, end, anywhere(random), anywhere(random)}) {
      const auto bound = OffsetAt(model.hosts[host], time);
      if (!bound) {
        ++score.unknown;
        continue;
      }
      ++score.bounded;
      const long double truth = job.Offset(host, reference, time);
      const bool holds = static_cast<long double>(bound->lower_ns) <= truth &&
                         truth <= static_cast<long double>(bound->upper_ns);
      if (!holds) ++score.wrong;
      score.halves.push_back(static_cast<double>(bound->upper_ns - bound->lower_ns) / 2 /
                             job.mean_transfer_ns());
      // The straight of the summary holds as well.
      for (const ClockSegment& segment : model.hosts[host].segments) {
        if (time < segment.knots.front().time_ns || time > segment.knots.back().time_ns) continue;
        const long double line =
            segment.offset_ns + static_cast<long double>(segment.drift_ppb) * 1e-9L *
                                    static_cast<long double>(time - segment.reference_time_ns);
        if (holds) {
          EXPECT_LE(std::abs(truth - line), segment.error_ns + 1);
        }
      }
    }
  }
}

// For those who read the tests' XML.
void Record(Score& score) {
  testing::Test::RecordProperty("bounded", static_cast<int>(score.bounded));
  testing::Test::RecordProperty("unknown", static_cast<int>(score.unknown));
  testing::Test::RecordProperty("wrong", static_cast<int>(score.wrong));
  testing::Test::RecordProperty("median_half_width_percent_of_transfer",
                                static_cast<int>(100 * score.Median()));
}

ClockJobOptions RandomOptions(std::mt19937_64& random) {
  const auto between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
  };
  ClockJobOptions options;
  options.hosts = static_cast<uint32_t>(2 + random() % 15);
  options.ranks_per_host = static_cast<uint32_t>(1 + random() % 4);
  options.operations = static_cast<size_t>(between(100, 5000));
  if (options.hosts > 8) options.operations = std::min<size_t>(options.operations, 1500);
  options.seconds = between(60, 3600);
  options.wait_us = between(10, 10'000);
  options.transfer_us = between(10, 1000);
  options.resolution_ns = random() % 2 == 0 ? 1 : 1000;
  options.lost_part = random() % 2 == 0 ? 0 : 0.03;
  return options;
}

TEST(ClockModel, HoldsTheTruthInEveryJob) {
  std::mt19937_64 random(1);
  Score score;
  for (int i = 0; i < 500; ++i) {
    const ClockJobOptions options = RandomOptions(random);
    const ClockJob job(options, random());
    const ClockModel model = EstimateClocks(job.evidence(), {});
    Count(job, model, random, score);
    for (const HostClock& clock : model.hosts) EXPECT_EQ(clock.contradictions, 0U);
  }
  Record(score);
  EXPECT_EQ(score.wrong, 0U);
  EXPECT_EQ(score.unknown, 0U);
  EXPECT_LT(score.Median(), 1.5);
}

TEST(ClockModel, LeavesWrongMatchesOut) {
  std::mt19937_64 random(2);
  Score score;
  size_t contradictions = 0;
  for (int i = 0; i < 200; ++i) {
    ClockJobOptions options = RandomOptions(random);
    options.swapped_part = i % 2 == 0 ? 0.001 : 0.008;
    const ClockJob job(options, random());
    const ClockModel model = EstimateClocks(job.evidence(), {});
    Count(job, model, random, score);
    for (const HostClock& clock : model.hosts) contradictions += clock.contradictions;
  }
  Record(score);
  EXPECT_GT(contradictions, 0U);
  EXPECT_LE(score.wrong * 100, score.bounded);
  EXPECT_LE(score.unknown * 10, score.bounded);
}

TEST(ClockModel, AClockThatIsSetHasTwoPartsOrIsContradictory) {
  std::mt19937_64 random(3);
  Score score;
  size_t in_parts = 0;
  for (int i = 0; i < 100; ++i) {
    ClockJobOptions options = RandomOptions(random);
    options.operations = std::min<size_t>(options.operations, 1000);
    options.hosts = static_cast<uint32_t>(2 + random() % 5);
    const double size = std::exp(std::uniform_real_distribution<double>(-4, 0)(random));
    options.step_seconds = random() % 2 == 0 ? size : -size;
    options.step_at_part = std::uniform_real_distribution<double>(0.05, 0.95)(random);
    const ClockJob job(options, random());
    const ClockModel model = EstimateClocks(job.evidence(), {});
    if (model.reference == 1) continue;  // the job's truth is for references that are not set
    in_parts += model.hosts[1].segments.size() == 2 ? 1 : 0;
    Count(job, model, random, score);
  }
  Record(score);
  EXPECT_LE(score.wrong * 100, score.bounded);
  EXPECT_GT(in_parts, 50U);
}

// Frequencies that wander are not linear. Where that shows, the bound is not
// made up.
TEST(ClockModel, AClockThatWandersFarIsContradictory) {
  ClockJobOptions options;
  options.hosts = 3;
  options.seconds = 600;
  options.transfer_us = 20;
  options.wander_us = 5'000;
  const ClockJob job(options, 8);
  const ClockModel model = EstimateClocks(job.evidence(), {});
  EXPECT_EQ(model.hosts[1].basis, ClockBasis::kContradictory);
  EXPECT_EQ(model.hosts[0].basis, ClockBasis::kCollectives);
  EXPECT_EQ(model.hosts[2].basis, ClockBasis::kCollectives);
}

// Loose limits: the machine may be busy. A tenth of them is usual.
TEST(ClockModel, AMillionConstraintsAreQuick) {
  ClockJobOptions options;
  options.ranks_per_host = 1;
  options.operations = 500'000;
  options.seconds = 3'600;
  for (const double step_seconds : {0.0, 0.05}) {
    options.step_seconds = step_seconds;
    const ClockJob job(options, 3);
    const auto begin = std::chrono::steady_clock::now();
    const ClockModel model = EstimateClocks(job.evidence(), {});
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(taken.count(), 20);
    EXPECT_FALSE(model.hosts[1].segments.empty());
  }
}

}  // namespace
}  // namespace telltale::evidence
