// What is promised of an ingest that is killed, runs out of space, or meets another process: each
// source is wholly in or wholly out, the store opens, and the same command completes it.

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "readers/ingest.h"
#include "simulate/training.h"
#include "store/query.h"
#include "store/store.h"
#include "tests/program.h"

namespace telltale::tests {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class ReliabilityTest : public testing::Test {
 protected:
  // Five sources, one of them large: about 60,000 records with dump_stats lines between them.
  static void SetUpTestSuite() {
    shared_ = new Folder;
    simulate::TrainingOptions job;
    job.ranks = 8;
    job.target_records = 60'000;
    job.format = simulate::InspectorFormat::kV41;
    job.seed = 11;
    job.threads = 1;
    job.directory = *shared_ / "made";
    const auto summary = simulate::SimulateTraining(job);
    ASSERT_TRUE(summary) << summary.error().message;
    const std::vector<std::string> files = FilesOf(*shared_ / "made");
    ASSERT_EQ(files.size(), 8U);
    std::string large;
    for (size_t i = 0; i < 4; ++i) large += ReadFile(files[i]);
    WriteFile(*shared_ / "job/large.log", large);
    WriteFile(*shared_ / "job/packed.log.gz", GzipOf(ReadFile(files[4])));
    for (size_t i = 5; i < 8; ++i) fs::rename(files[i], *shared_ / ("job/" + std::to_string(i)));
    const auto start = Clock::now();
    ASSERT_EQ(Wait(Start(*shared_ / "whole.duckdb")), 0);
    undisturbed_ = Clock::now() - start;
    expected_ = Contents(*shared_ / "whole.duckdb");
    ASSERT_FALSE(expected_.empty());
  }
  static void TearDownTestSuite() {
    delete shared_;
    shared_ = nullptr;
  }

  static IngestOptions Options() {
    IngestOptions options;
    options.paths = {*shared_ / "job"};
    options.threads = 2;
    options.large_file_bytes = fs::file_size(*shared_ / "job/large.log");
    options.pending_records = 8'000;  // several parts of the large file, several commits
    return options;
  }

  // An ingest in another process; exit status 0, 1 (not ingested) or 2 (not opened).
  static pid_t Start(const std::string& store_path) {
    const pid_t child = fork();
    if (child != 0) return child;
    auto store = Store::Open(store_path, IngestStoreOptions());
    if (!store) _exit(2);
    const auto report = Ingest(**store, Options());
    store->reset();
    _exit(report ? 0 : 1);
  }
  static int Wait(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  // The rows of everything that people read, however they lie and are numbered.
  static std::vector<std::string> Contents(const std::string& store_path) {
    const auto store = Store::Open(store_path, {});
    EXPECT_TRUE(store) << store.error().message;
    if (!store) return {};
    const auto connection = (*store)->Connect();
    std::vector<std::string> contents;
    const std::string sum = "SELECT count(*), sum(hash(x)::HUGEINT) FROM ";
    for (const std::string& sql :
         {sum + "(SELECT * EXCLUDE (source, series, communicator) FROM operations) x",
          sum + "(SELECT * EXCLUDE (source, communicator_rank) FROM dump_stats) x",
          sum + "(SELECT first_sequence, last_sequence, after_full_ring FROM sequence_run) x",
          sum + "(SELECT * EXCLUDE (communicator, run) FROM communicator) x",
          sum + "(SELECT kind, class, count, first_position, operation, detail, derived FROM "
                "ingest_loss) x",
          std::string(
              "SELECT path, format_version, compression, size_bytes, fingerprint, lines, rows, "
              "damage FROM source ORDER BY path"),
          std::string("SELECT name, folder FROM run WHERE run IN (SELECT run FROM source)")}) {
      const auto table = (*connection)->Query(sql);
      EXPECT_TRUE(table) << sql << ": " << table.error().message;
      if (!table) continue;
      for (const auto& row : table->rows) {
        std::string& line = contents.emplace_back();
        for (const Cell& cell : row) line += CellText(cell) + "|";
      }
    }
    return contents;
  }

  // Every source that is listed is whole, and there are no rows of others. How many sources there
  // are.
  static int64_t ExpectWholeSources(const std::string& store_path) {
    const auto store = Store::Open(store_path, {});
    EXPECT_TRUE(store) << store.error().message;
    if (!store) return -1;
    const auto connection = (*store)->Connect();
    const auto integer = [&](const std::string& sql) {
      const auto value = (*connection)->QueryInteger(sql);
      EXPECT_TRUE(value) << sql << ": " << value.error().message;
      return value ? *value : -1;
    };
    EXPECT_EQ(integer("SELECT count(*) FROM source f WHERE rows <> "
                      "(SELECT count(*) FROM operations o WHERE o.source = f.source) + "
                      "(SELECT count(*) FROM dump_stats d WHERE d.source = f.source)"),
              0)
        << "a source is not whole";
    EXPECT_EQ(integer("SELECT count(*) FROM operation_record WHERE block >> 16 NOT IN "
                      "(SELECT series FROM operation_series)"),
              0);
    EXPECT_EQ(integer("SELECT count(*) FROM operation_block WHERE series NOT IN "
                      "(SELECT series FROM operation_series)"),
              0);
    EXPECT_EQ(integer("SELECT count(*) FROM sequence_run WHERE counter NOT IN "
                      "(SELECT counter FROM operation_counter)"),
              0);
    for (const std::string table :
         {"operation_series", "process", "communicator_rank", "dump_stats", "operation_counter"}) {
      EXPECT_EQ(integer("SELECT count(*) FROM " + table +
                        " WHERE source NOT IN (SELECT source FROM source)"),
                0)
          << table;
    }
    for (const std::string table : {"source", "operation_series", "communicator_rank", "process"}) {
      const std::string id = table == "operation_series" ? "series" : table;
      EXPECT_EQ(integer("SELECT count(*) - count(DISTINCT " + id + ") FROM " + table), 0) << table;
    }
    return integer("SELECT count(*) FROM source");
  }

  static uint64_t SizeWithLog(const std::string& store_path) {
    uint64_t bytes = 0;
    for (const char* end : {"", ".wal"}) {
      std::error_code error;
      const uint64_t size = fs::file_size(store_path + end, error);
      if (!error) bytes += size;
    }
    return bytes;
  }

  static void ExpectAdvice(const std::string& error) {
    EXPECT_TRUE(Contains(error, "run the same command again") ||
                Contains(error, "a new store cannot be made at "))
        << error;
    EXPECT_FALSE(Contains(error, "Stack Trace")) << error;
  }

  static void ExpectCompletes(const std::string& store_path) {
    ASSERT_EQ(Wait(Start(store_path)), 0);
    (void)ExpectWholeSources(store_path);
    EXPECT_EQ(Contents(store_path), expected_);
  }

  static inline Folder* shared_ = nullptr;
  static inline Clock::duration undisturbed_;
  static inline std::vector<std::string> expected_;
  Folder folder_;
};

TEST_F(ReliabilityTest, AnUndisturbedIngestTakesEverything) {
  EXPECT_EQ(ExpectWholeSources(*shared_ / "whole.duckdb"), 5);
  // The program, with its own options, comes to the same.
  const std::string store = folder_ / "s.duckdb";
  ASSERT_EQ(Telltale({"--store", store, "ingest", *shared_ / "job"}).code, 0);
  EXPECT_EQ(Contents(store), expected_);
}

TEST_F(ReliabilityTest, AKillAtAnyMomentLosesNoWholeSource) {
  std::mt19937_64 random(20261129);
  const auto span_us = std::chrono::duration_cast<std::chrono::microseconds>(undisturbed_).count();
  const uint64_t whole_bytes = fs::file_size(*shared_ / "whole.duckdb");
  std::map<int64_t, int> seen;
  for (int i = 0; i < 20; ++i) {
    const std::string store = folder_ / ("s" + std::to_string(i) + ".duckdb");
    // A moment in each twentieth of the time that it takes.
    const auto moment = std::chrono::microseconds(
        (span_us * i + static_cast<int64_t>(random() % static_cast<uint64_t>(span_us))) / 20);
    // Every other time instead: when so much has been written.
    const uint64_t written = i % 2 == 0 ? 0 : 1 + random() % whole_bytes;
    const auto start = Clock::now();
    const pid_t child = Start(store);
    if (written == 0) std::this_thread::sleep_for(moment);
    while (SizeWithLog(store) < written && Clock::now() - start < 2 * undisturbed_) usleep(200);
    kill(child, SIGKILL);
    (void)Wait(child);
    SCOPED_TRACE("killed after " + std::to_string(moment.count()) + " us of " +
                 std::to_string(span_us) + ", or " + std::to_string(written) + " bytes");
    if (fs::exists(store)) ++seen[ExpectWholeSources(store)];
    ExpectCompletes(store);
    if (HasFailure()) break;
    fs::remove(store);
  }
  for (const auto& [sources, times] : seen) {
    RecordProperty("kills_with_" + std::to_string(sources) + "_sources", times);
  }
}

TEST_F(ReliabilityTest, KillsInARowLoseNothing) {
  std::mt19937_64 random(7);
  const auto span_us = std::chrono::duration_cast<std::chrono::microseconds>(undisturbed_).count();
  const std::string store = folder_ / "s.duckdb";
  int64_t sources = 0;
  for (int i = 0; i < 8; ++i) {
    const pid_t child = Start(store);
    std::this_thread::sleep_for(
        std::chrono::microseconds(random() % static_cast<uint64_t>(span_us)));
    kill(child, SIGKILL);
    (void)Wait(child);
    if (!fs::exists(store)) continue;
    const int64_t now = ExpectWholeSources(store);
    EXPECT_GE(now, sources) << "a source that was in is gone";
    sources = now;
  }
  ExpectCompletes(store);
}

// --- No room ---

TEST_F(ReliabilityTest, ALimitOnFileSizeIsAClearError) {
  const uint64_t whole = fs::file_size(*shared_ / "whole.duckdb");
  bool failed = false;
  for (const uint64_t limit : {whole / 8, whole / 2, whole * 3 / 4, whole - 4096}) {
    SCOPED_TRACE("limit " + std::to_string(limit) + " of " + std::to_string(whole));
    const std::string store = folder_ / ("s" + std::to_string(limit) + ".duckdb");
    Call call;
    call.arguments = {"--store", store, "ingest", *shared_ / "job"};
    call.max_file_bytes = limit;
    const Outcome outcome = Telltale(call);
    if (outcome.code != 0) {
      failed = true;
      EXPECT_EQ(outcome.code, 1) << "signal " << outcome.signal;
      EXPECT_TRUE(outcome.err.starts_with("telltale: ")) << outcome.err;
      EXPECT_TRUE(Contains(outcome.err, "File too large")) << outcome.err;
      ExpectAdvice(outcome.err);
    }
    if (fs::exists(store)) (void)ExpectWholeSources(store);
    ExpectCompletes(store);
  }
  EXPECT_TRUE(failed) << "no limit was low enough to be met";
}

TEST_F(ReliabilityTest, AFullDiskIsAClearError) {
  const std::string disk = folder_ / "disk";
  fs::create_directory(disk);
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=64m") != 0)
    GTEST_SKIP() << "not permitted to mount";
  const uint64_t whole = fs::file_size(*shared_ / "whole.duckdb") >> 10;
  for (const uint64_t kib : {uint64_t{512}, whole / 2, whole * 3 / 4, whole, whole * 5 / 4}) {
    SCOPED_TRACE("room for " + std::to_string(kib) + " of " + std::to_string(whole) + " KiB");
    fs::remove(disk + "/s.duckdb");
    fs::remove(disk + "/s.duckdb.wal");
    ASSERT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT,
                    ("size=" + std::to_string(kib) + "k").c_str()),
              0);
    const Outcome outcome = Telltale({"--store", disk + "/s.duckdb", "ingest", *shared_ / "job"});
    if (outcome.code != 0) {
      EXPECT_EQ(outcome.code, 1) << "signal " << outcome.signal;
      EXPECT_TRUE(Contains(outcome.err, "No space left on device")) << outcome.err;
      ExpectAdvice(outcome.err);
    }
    if (fs::exists(disk + "/s.duckdb")) (void)ExpectWholeSources(disk + "/s.duckdb");
    ASSERT_EQ(mount("tmpfs", disk.c_str(), "tmpfs", MS_REMOUNT, "size=64m"), 0);
    ExpectCompletes(disk + "/s.duckdb");
  }
  umount2(disk.c_str(), MNT_DETACH);
}

// --- Others ---

// An ingest that waits for a pipe while it holds the store.
class WaitingIngest {
 public:
  WaitingIngest(const std::string& store, const std::string& pipe) {
    EXPECT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    Call call;
    call.arguments = {"--store", store, "ingest", pipe};
    running_ = std::make_unique<Running>(call);
    writer_ = OpenPipe(pipe);
  }
  ~WaitingIngest() {
    if (writer_ >= 0) close(writer_);
  }
  WaitingIngest(const WaitingIngest&) = delete;
  WaitingIngest& operator=(const WaitingIngest&) = delete;
  pid_t pid() const { return running_->pid(); }
  Outcome Feed(const std::string& bytes) {
    EXPECT_EQ(write(writer_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(std::exchange(writer_, -1));
    return running_->Wait();
  }

 private:
  int writer_ = -1;
  std::unique_ptr<Running> running_;
};

TEST_F(ReliabilityTest, WhoeverComesToARunningIngestIsToldWhoItIs) {
  const std::string store = folder_ / "s.duckdb";
  WaitingIngest first(store, folder_ / "pipe");
  const std::string message =
      "telltale: store " + store + " is in use by process " + std::to_string(first.pid());
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"ingest", *shared_ / "job"},
        {"sources"},
        {"sql", "SELECT 1"},
        {"export", "parquet", "--out", folder_ / "out"}}) {
    std::vector<std::string> arguments = {"--store", store};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome outcome = Telltale(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_EQ(outcome.out, "");
    EXPECT_TRUE(outcome.err.starts_with(message)) << outcome.err;
  }
  const Outcome done = first.Feed(ReadFile(*shared_ / "job/5"));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(ExpectWholeSources(store), 1);
  EXPECT_EQ(Wait(Start(store)), 0);
  EXPECT_EQ(ExpectWholeSources(store), 5)
      << "the file from the pipe is a copy of one in the folder";
}

TEST_F(ReliabilityTest, AnIngestBesideAReaderIsToldWhoItIs) {
  const std::string store = folder_ / "s.duckdb";
  ASSERT_EQ(Wait(Start(store)), 0);
  const std::string bytes = ReadFile(store);
  {
    const auto reader = Store::Open(store, {});
    ASSERT_TRUE(reader);
    const Outcome outcome = Telltale({"--store", store, "ingest", *shared_ / "job"});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(outcome.err.starts_with("telltale: store " + store + " is in use by process " +
                                        std::to_string(getpid())))
        << outcome.err;
    EXPECT_EQ(Telltale({"--store", store, "sources"}).code, 0) << "readers may share";
  }
  EXPECT_TRUE(ReadFile(store) == bytes);
}

}  // namespace
}  // namespace telltale::tests
