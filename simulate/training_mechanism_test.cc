// Each fault is felt where it should be, by the amount that was asked for, and nowhere else.

#include "simulate/training_test_job.h"

namespace telltale::simulate {
namespace {

// Times of one communicator's operation, by (sequence, rank).
using Times = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;
Times TimesOf(const std::string& directory, const std::string& communicator,
              const std::string& function) {
  Times times;
  for (const std::string& file : FilesIn(directory)) {
    for (const Line& line : LinesOf(Bytes(file))) {
      if (line.communicator != communicator || line.function != function) continue;
      times[{line.sequence, line.rank}] = line.exec_time_us;
    }
  }
  return times;
}

// The mean over operations in [begin, end) of the shortest time: what the transfer itself takes.
double MeanIntrinsic(const Times& times, uint64_t begin, uint64_t end) {
  std::map<uint64_t, uint64_t> shortest;
  for (const auto& [key, time] : times) {
    if (key.first < begin || key.first >= end) continue;
    const auto entry = shortest.emplace(key.first, time).first;
    entry->second = std::min(entry->second, time);
  }
  double sum = 0;
  for (const auto& [sequence, time] : shortest) sum += static_cast<double>(time);
  return sum / static_cast<double>(shortest.size());
}

TEST(TrainingMechanism, LateRankHasTheShortestTime) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  Inject(options, "late-rank:rank=11,ms=3,from=0.3,to=0.5");
  Simulate(options);
  // Two WORLD AllReduces a step, the second too small to be recorded: steps 12 to 19.
  const Times times = TimesOf(options.directory, "WORLD", "AllReduce");
  for (uint64_t sequence = 0; sequence < 80; sequence += 2) {
    const uint64_t late = times.at({sequence, 11});
    const bool is_faulty = sequence >= 24 && sequence < 40;
    for (uint64_t rank = 0; rank < 16; ++rank) {
      if (rank == 11) continue;
      EXPECT_EQ(times.at({sequence, rank}) > late + 2900, is_faulty) << sequence << " " << rank;
    }
  }
  const std::string truth = Bytes(options.directory + ".truth.json");
  EXPECT_NE(truth.find(R"("kind":"late-rank","text":"late-rank:rank=11,ms=3,from=0.3,to=0.5",)"
                       R"("first_step":12,"end_step":20,"place":{"global_rank":11,"host":1,)"),
            std::string::npos);
  EXPECT_NE(
      truth.find(R"("function":"AllReduce","rank":null,"first_sequence":24,"last_sequence":39)"),
      std::string::npos);
}

TEST(TrainingMechanism, SlowLinkSlowsOneCommunicatorByItsFactor) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  Inject(options, "slow-link:comm=DP Group 3,factor=4,from=0.5");
  Simulate(options);
  const Times slow = TimesOf(options.directory, "DP Group 3", "AllGather");
  const uint64_t middle = (slow.rbegin()->first.first + 1) / 2;
  EXPECT_NEAR(MeanIntrinsic(slow, middle, 2 * middle) / MeanIntrinsic(slow, 0, middle), 4, 0.15);
  const Times healthy = TimesOf(options.directory, "DP Group 4", "AllGather");
  EXPECT_NEAR(MeanIntrinsic(healthy, middle, 2 * middle) / MeanIntrinsic(healthy, 0, middle), 1,
              0.05);
}

TEST(TrainingMechanism, SlowHostAndSlowLinkBetweenHostsSlowWhoUsesThem) {
  const Folder folder;
  const auto ratio = [&](const char* name, const char* fault, const char* communicator) {
    TrainingOptions options = SmallJob(folder / name);
    options.ranks = 32;
    options.steps = 10;
    options.pipeline_parallel = 2;  // DP groups 0 to 7 on hosts 0 and 1, 8 to 15 on hosts 2 and 3
    options.force = true;
    Inject(options, fault);
    Simulate(options);
    const Times times = TimesOf(options.directory, communicator, "ReduceScatter");
    const uint64_t middle = (times.rbegin()->first.first + 1) / 2;
    return MeanIntrinsic(times, middle, 2 * middle) / MeanIntrinsic(times, 0, middle);
  };
  EXPECT_NEAR(ratio("host", "slow-host:host=3,factor=2,from=0.5", "DP Group 8"), 2, 0.1);
  EXPECT_NEAR(ratio("host", "slow-host:host=3,factor=2,from=0.5", "DP Group 0"), 1, 0.05);
  EXPECT_NEAR(ratio("host", "slow-host:host=3,factor=2,from=0.5", "TP Group 3"), 1, 0.05);
  EXPECT_NEAR(ratio("link", "slow-link:hosts=0-1,factor=3,from=0.5", "DP Group 0"), 3, 0.15);
  EXPECT_NEAR(ratio("link", "slow-link:hosts=0-1,factor=3,from=0.5", "DP Group 8"), 1, 0.05);
  EXPECT_NEAR(ratio("all", "congestion:factor=1.5,from=0.5", "DP Group 8"), 1.5, 0.1);
  EXPECT_NEAR(ratio("all", "congestion:factor=1.5,from=0.5", "TP Group 0"), 1, 0.05);
}

TEST(TrainingMechanism, SlowHostSlowsTransfersThroughIt) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.ranks = 32;
  options.pipeline_parallel = 2;  // PP groups 0 to 7 join hosts 0 and 2, 8 to 15 hosts 1 and 3
  options.steps = 10;
  Inject(options, "slow-host:host=3,factor=2");
  Simulate(options);
  const auto shortest_us = [&](const char* communicator) {
    uint64_t shortest = UINT64_MAX;
    for (const auto& [key, time] : TimesOf(options.directory, communicator, "Send")) {
      shortest = std::min(shortest, time);
    }
    return static_cast<double>(shortest);
  };
  EXPECT_NEAR(shortest_us("PP Group 8") / shortest_us("PP Group 0"), 1.93, 0.1);
}

TEST(TrainingMechanism, JitterOfAHostMakesTheOthersWait) {
  const Folder folder;
  const auto mean_wait_us = [&](const char* name, bool has_fault) {
    TrainingOptions options = SmallJob(folder / name);
    if (has_fault) Inject(options, "jitter:host=1,percent=20");
    Simulate(options);
    std::map<uint64_t, std::pair<uint64_t, uint64_t>> range;
    for (const auto& [key, time] : TimesOf(options.directory, "TP Group 1", "ReduceScatter")) {
      auto& [shortest, longest] = range.emplace(key.first, std::pair(time, time)).first->second;
      shortest = std::min(shortest, time);
      longest = std::max(longest, time);
    }
    uint64_t sum = 0;
    for (const auto& [sequence, times] : range) sum += times.second - times.first;
    return static_cast<double>(sum) / static_cast<double>(range.size());
  };
  EXPECT_GT(mean_wait_us("jitter", true), 5 * mean_wait_us("healthy", false));
}

TEST(TrainingMechanism, RingLossIsCountedInMarkersAndTruth) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.format = InspectorFormat::kV43;
  Inject(options, "ring-loss:ring=16");
  const TrainingSummary summary = Simulate(options);
  uint64_t dropped = 0;
  for (const std::string& file : FilesIn(options.directory)) {
    std::map<std::string, uint64_t> total;
    uint64_t announced = 0;
    for (const Line& line : LinesOf(Bytes(file))) {
      if (line.kind == "dump_stats") {
        EXPECT_EQ(announced, 0U) << "a marker came before all records of the last one";
        announced = Number(line.text, "coll_records") + Number(line.text, "p2p_records");
        EXPECT_LE(announced, 16U);
        dropped += Number(line.text, "coll_dropped_since_last_dump");
        total[line.communicator] = Number(line.text, "coll_dropped_total");
      } else {
        EXPECT_EQ(line.text.rfind("{\"coll_perf\":{", 0), 0U) << line.text;
        --announced;
      }
    }
    EXPECT_EQ(announced, 0U);
    for (const auto& [communicator, count] : total) dropped -= count;
  }
  EXPECT_EQ(dropped, 0U) << "the totals are the sums of the parts";
  TrainingOptions lossless = SmallJob(folder / "lossless");
  lossless.ring_size = 1 << 20;
  const TrainingSummary all = Simulate(lossless);
  EXPECT_LT(summary.records, all.records);
  EXPECT_EQ(summary.records + summary.lost, all.records + all.lost);
}

TEST(TrainingMechanism, ClockOffsetMovesOneHostsTimestamps) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "healthy");
  options.verbose_events = true;
  Simulate(options);
  const auto healthy = ContentsOf(options.directory);
  options.directory = folder / "offset";
  Inject(options, "clock-offset:host=1,ms=-250");
  Simulate(options);
  for (const auto& [name, content] : ContentsOf(options.directory)) {
    if (name.starts_with("node001")) {
      EXPECT_EQ(content, healthy.at(name));
      continue;
    }
    const std::vector<Line> moved = LinesOf(content);
    const std::vector<Line> lines = LinesOf(healthy.at(name));
    ASSERT_EQ(moved.size(), lines.size());
    for (size_t i = 0; i < lines.size(); ++i) {
      ASSERT_EQ(moved[i].timestamp_us + 250'000, lines[i].timestamp_us);
      ASSERT_EQ(Number(moved[i].text, "kernel_start_ts") + 250'000,
                Number(lines[i].text, "kernel_start_ts"));
    }
  }
}

TEST(TrainingMechanism, MissingFileIsMissingAndCounted) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "healthy");
  const TrainingSummary healthy = Simulate(options);
  const auto files = ContentsOf(options.directory);
  options.directory = folder / "missing";
  Inject(options, "missing-rank-file:rank=5");
  const TrainingSummary summary = Simulate(options);
  EXPECT_EQ(summary.files, 15U);
  EXPECT_EQ(summary.records + summary.lost, healthy.records + healthy.lost);
  const auto left = ContentsOf(options.directory);
  EXPECT_EQ(left.size(), 15U);
  for (const auto& [name, content] : left) EXPECT_EQ(content, files.at(name));
}

TEST(TrainingMechanism, LastIntervalCanBeLost) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "whole");
  const TrainingSummary whole = Simulate(options);
  options.directory = folder / "cut";
  options.lose_last_interval = true;
  const TrainingSummary cut = Simulate(options);
  EXPECT_LT(cut.records, whole.records);
  EXPECT_EQ(cut.records + cut.lost, whole.records + whole.lost);
}

}  // namespace
}  // namespace telltale::simulate
