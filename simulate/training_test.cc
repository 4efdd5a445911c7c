#include "simulate/training.h"

#include <zlib.h>

#include <memory>
#include <tuple>

#include "simulate/training_test_job.h"

namespace telltale::simulate {
namespace {

std::string ErrorOf(const TrainingOptions& options) {
  const auto summary = SimulateTraining(options);
  return summary ? "none" : summary.error().message;
}

TEST(Training, SameOptionsGiveTheSameBytesOnAnyNumberOfThreads) {
  const Folder folder;
  for (const bool gzip : {false, true}) {
    TrainingOptions options = SmallJob(folder / (gzip ? "a.gz" : "a"));
    options.gzip = gzip;
    options.format = InspectorFormat::kV42;
    Simulate(options);
    const auto first = ContentsOf(options.directory);
    options.directory = folder / (gzip ? "b.gz" : "b");
    options.threads = 5;
    Simulate(options);
    EXPECT_EQ(ContentsOf(options.directory), first);
    options.directory = folder / (gzip ? "c.gz" : "c");
    options.seed = 2;
    Simulate(options);
    EXPECT_NE(ContentsOf(options.directory), first);
  }
}

TEST(Training, SummaryCountsTheLines) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.pipeline_parallel = 2;
  options.format = InspectorFormat::kV41;
  const TrainingSummary summary = Simulate(options);
  uint64_t records = 0;
  uint64_t markers = 0;
  uint64_t bytes = 0;
  for (const auto& [name, content] : ContentsOf(options.directory)) {
    bytes += content.size();
    for (const Line& line : LinesOf(content)) ++(line.kind == "dump_stats" ? markers : records);
  }
  EXPECT_EQ(summary.files, 16U);
  EXPECT_EQ(summary.records, records);
  EXPECT_EQ(summary.dump_stats, markers);
  EXPECT_EQ(summary.text_bytes, bytes);
  EXPECT_GT(markers, 0U);
}

TEST(Training, SequenceNumbersCountAsNcclDoes) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.ranks = 32;
  options.pipeline_parallel = 2;
  Simulate(options);
  for (const std::string& file : FilesIn(options.directory)) {
    std::map<std::pair<std::string, std::string>, std::vector<uint64_t>> sequences;
    for (const Line& line : LinesOf(Bytes(file))) {
      const std::string counter = line.kind == "p2p_perf" ? "p2p" : line.function;
      sequences[{line.communicator, counter}].push_back(line.sequence);
    }
    for (auto& [key, seen] : sequences) {
      std::sort(seen.begin(), seen.end());
      const bool is_p2p = key.second == "p2p";
      const bool has_small_ones = key.first == "WORLD" || key.second == "AllReduce";
      EXPECT_EQ(seen.front(), is_p2p ? 1U : (key.second == "Broadcast" ? 1U : 0U)) << key.first;
      const uint64_t missing = seen.back() - seen.front() + 1 - seen.size();
      EXPECT_EQ(missing > 0, has_small_ones) << key.first << " " << key.second;
    }
    EXPECT_EQ(sequences.size(), 8U) << file;
  }
}

TEST(Training, RecordsOfATransferMatchOnBothEnds) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.ranks = 32;
  options.pipeline_parallel = 4;
  Simulate(options);
  // Sends and receives of each pair of ranks, in order, are the same messages.
  using Pair = std::tuple<std::string, uint64_t, uint64_t>;
  std::map<Pair, std::vector<uint64_t>> sent;
  std::map<Pair, std::vector<uint64_t>> received;
  for (const std::string& file : FilesIn(options.directory)) {
    for (const Line& line : LinesOf(Bytes(file))) {
      if (line.function == "Send") {
        sent[{line.communicator, line.rank, line.peer}].push_back(line.message_bytes);
      } else if (line.function == "Recv") {
        received[{line.communicator, line.peer, line.rank}].push_back(line.message_bytes);
      }
    }
  }
  EXPECT_FALSE(sent.empty());
  EXPECT_EQ(sent, received);
}

TEST(Training, OlderReleasesWriteTheLastOperationOfEachDump) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.ranks = 32;
  options.pipeline_parallel = 2;
  options.interval_ms = 100;
  options.nccl = NcclVersion::k229;
  const TrainingSummary summary = Simulate(options);
  EXPECT_GT(summary.lost, 3 * summary.records);
  for (const std::string& file : FilesIn(options.directory)) {
    uint64_t last_us = 0;
    std::string last_id;
    for (const Line& line : LinesOf(Bytes(file))) {
      EXPECT_EQ(line.kind, "coll_perf");
      EXPECT_EQ(line.text.find("comm_name"), std::string::npos);
      const std::string id = Text(line.text, "id");
      EXPECT_TRUE(id != last_id || line.timestamp_us > last_us + 90'000) << "two in one dump";
      last_id = id;
      last_us = line.timestamp_us;
    }
  }
}

TEST(Training, GzipHoldsThePlainText) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "plain");
  Simulate(options);
  options.directory = folder / "gzip";
  options.gzip = true;
  Simulate(options);
  for (const auto& [name, content] : ContentsOf(folder / "plain")) {
    const std::string path = options.directory + "/" + name + ".gz";
    EXPECT_LT(fs::file_size(path), content.size() / 5);
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    std::string text(content.size() + 1, '\0');
    const int size = gzread(file.get(), text.data(), static_cast<unsigned>(text.size()));
    ASSERT_EQ(size, static_cast<int>(content.size()));
    text.resize(content.size());
    EXPECT_EQ(text, content);
  }
}

TEST(Training, TargetsAreMetWithinAStep) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "records");
  options.target_records = 100'000;
  EXPECT_NEAR(static_cast<double>(Simulate(options).records), 100e3, 5e3);
  options.directory = folder / "bytes";
  options.target_records.reset();
  options.target_bytes = 30'000'000;
  options.format = InspectorFormat::kV43;
  EXPECT_NEAR(static_cast<double>(Simulate(options).text_bytes), 30e6, 1.5e6);
}

TEST(Training, AnyShapeRuns) {
  const Folder folder;
  for (const uint32_t ranks : {1U, 2U, 7U, 12U, 30U}) {
    TrainingOptions options = SmallJob(folder / std::to_string(ranks));
    options.ranks = ranks;
    options.steps = 3;
    const TrainingSummary summary = Simulate(options);
    EXPECT_EQ(summary.files, ranks);
    EXPECT_GT(summary.records, 0U);
  }
}

TEST(Training, SaysWhatIsWrong) {
  const Folder folder;
  const auto holds = [](const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  TrainingOptions options = SmallJob(folder / "job");
  options.steps = 1;
  Simulate(options);
  holds(ErrorOf(options), "is not empty");
  options.force = true;
  EXPECT_EQ(ErrorOf(options), "none");

  TrainingOptions wrong = options;
  wrong.pipeline_parallel = 3;
  holds(ErrorOf(wrong), "not a multiple of tensor × pipeline");
  wrong = options;
  wrong.expert_parallel = 3;
  holds(ErrorOf(wrong), "does not divide");
  wrong = options;
  wrong.nccl = NcclVersion::k228;
  wrong.format = InspectorFormat::kV41;
  holds(ErrorOf(wrong), "v4.1 is newer");
  wrong = options;
  Inject(wrong, "late-rank:rank=16,ms=1");
  holds(ErrorOf(wrong), "ranks 0 to 15 only");
  wrong = options;
  Inject(wrong, "clock-offset:host=2,ms=1");
  holds(ErrorOf(wrong), "hosts 0 to 1 only");
  wrong = options;
  Inject(wrong, "slow-link:comm=PP Group 0,factor=2");
  holds(ErrorOf(wrong), "no communicator \"PP Group 0\"");
  wrong = options;
  wrong.truth_path = options.directory + "/truth.json";
  holds(ErrorOf(wrong), "must not lie among the logs");
}

TEST(Training, WriteErrorsComeBack) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full on this system";
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.steps = 1;
  options.truth_path = "/dev/full";
  EXPECT_EQ(ErrorOf(options), "cannot write /dev/full: No space left on device");
}

TEST(Training, ProgressEndsAtOne) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "job");
  options.steps = 2;
  double last = -1;
  ASSERT_TRUE(SimulateTraining(options, [&](double part) {
    EXPECT_GE(part, last);
    last = part;
  }));
  EXPECT_GT(last, 0.9);
  EXPECT_LE(last, 1.0);
}

TEST(Training, ExpertsExchangeWithEveryPeer) {
  const Folder folder;
  TrainingOptions options = SmallJob(folder / "send-recv");
  options.tensor_parallel = 2;
  options.expert_parallel = 4;
  options.steps = 4;
  Simulate(options);
  for (const std::string& file : FilesIn(options.directory)) {
    std::map<std::pair<std::string, uint64_t>, uint64_t> messages;
    for (const Line& line : LinesOf(Bytes(file))) {
      if (line.communicator.starts_with("EP")) ++messages[{line.function, line.peer}];
    }
    ASSERT_EQ(messages.size(), 6U) << "Send to and Recv from 3 peers";
    for (const auto& [key, count] : messages) EXPECT_EQ(count, messages.begin()->second);
  }
  options.directory = folder / "native";
  options.all_to_all = AllToAll::kNative;
  Simulate(options);
  for (const std::string& file : FilesIn(options.directory)) {
    EXPECT_NE(Bytes(file).find(R"("coll":"Invalid")"), std::string::npos);
    EXPECT_EQ(Bytes(file).find("p2p_perf"), std::string::npos);
  }
}

}  // namespace
}  // namespace telltale::simulate
