// Files and folders into the store: what is taken, what is skipped, and that the outcome depends
// neither on the order, nor on the number of threads, nor on how the files are packed or cut.

#include "readers/ingest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <random>

#include <fmt/format.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

std::string Operations(InspectorLine line, uint64_t first, uint64_t last) {
  std::string bytes;
  for (line.sequence = first; line.sequence <= last; ++line.sequence) bytes += line.Text();
  return bytes;
}

// Status, rows and message by file name.
std::map<std::string, SourceReport> ByName(const IngestReport& report) {
  std::map<std::string, SourceReport> by_name;
  for (const SourceReport& source : report.sources) {
    by_name[fs::path(source.path).filename().string()] = source;
  }
  return by_name;
}

class IngestFiles : public testing::Test {
 protected:
  int64_t Count(const std::string& what) { return store_.Integer("SELECT count(*) FROM " + what); }

  TempFolder folder_;
  TestStore store_;
};

TEST_F(IngestFiles, FolderOfAllSorts) {
  const InspectorLine line;
  folder_.Write("node1-pid1.log", Operations(line, 0, 9));
  folder_.Write("sub/deeper/node2-pid2.jsonl", Operations(line, 10, 19));
  folder_.Write("node3-pid3.log", "");
  folder_.Write("node4-pid4.log.gz", Gzipped(""));
  folder_.Write("node5-pid5.log", R"({"header":{"id":"0x)");
  folder_.Write("metrics.prom", "nccl_bus_bandwidth_gbs{version=\"v5.1\"} 17\n");
  folder_.Write("README.md", "# What this is\n");
  folder_.Write("core", std::string("\x7f"
                                    "ELF\0\0\xff\xfe",
                                    8));
  folder_.Write("other.json", R"({"events":[]})");
  folder_.Write("empty", "");
  std::map<std::string, SourceReport> reports = ByName(store_.Ingest({folder_.path()}));
  EXPECT_EQ(reports.size(), 10U);
  EXPECT_EQ(reports["node1-pid1.log"].rows, 10U);
  EXPECT_EQ(reports["node2-pid2.jsonl"].rows, 10U);
  for (const char* name : {"node3-pid3.log", "node4-pid4.log.gz"}) {
    EXPECT_EQ(reports[name].status, SourceStatus::kIngested) << name;
    EXPECT_EQ(reports[name].records, 0U);
    ASSERT_EQ(reports[name].losses.size(), 1U) << name;
    EXPECT_EQ(reports[name].losses[0].kind, "empty_file");
  }
  EXPECT_EQ(reports["node5-pid5.log"].records, 1U);
  EXPECT_EQ(LineLossesOf(reports["node5-pid5.log"]), 1U);
  for (const char* name : {"metrics.prom", "README.md", "core", "other.json", "empty"}) {
    EXPECT_EQ(reports[name].status, SourceStatus::kNotRecognised) << name;
    EXPECT_FALSE(reports[name].message.empty()) << name;
  }
  EXPECT_NE(reports["metrics.prom"].message.find("Prometheus"), std::string::npos);
  EXPECT_EQ(Count("operations"), 20);
  EXPECT_EQ(Count("source"), 5);
  EXPECT_EQ(store_.Lost("empty_file"), 2);
}

TEST_F(IngestFiles, PathsThatCannotBeRead) {
  const std::string good = folder_.Write("node1-pid1.log", InspectorLine().Text());
  const IngestReport report = store_.Ingest({folder_ / "not there", good, good});
  ASSERT_EQ(report.sources.size(), 2U);
  EXPECT_EQ(report.sources[0].status, SourceStatus::kFailed);
  EXPECT_FALSE(report.sources[0].message.empty());
  EXPECT_EQ(report.sources[1].status, SourceStatus::kIngested);
  EXPECT_EQ(Count("operations"), 1);
}

TEST_F(IngestFiles, TheSameAgainChangesNothing) {
  InspectorLine line;
  folder_.Write("a/node1-pid1.log", Operations(line, 0, 9) + "broken\n");
  line.rank = 1;
  folder_.Write("a/node1-pid2.log", Operations(line, 3, 7));
  line.version = "v4.3";
  folder_.Write("b/node2-pid1.log.gz", Gzipped(line.Marker(2) + line.Payload()));
  folder_.Write("b/node2-pid2.log", "");
  folder_.Write("b/node2-pid3.log", "");
  folder_.Write("b/README", "text");
  store_.Ingest({folder_.path()}, "", 2);
  const Strings before = store_.Dump();
  EXPECT_GT(before.size(), 20U);
  for (int i = 0; i < 2; ++i) {
    const IngestReport again = store_.Ingest({folder_.path()}, "", 2);
    for (const SourceReport& source : again.sources) {
      EXPECT_EQ(source.status, source.path.ends_with("README") ? SourceStatus::kNotRecognised
                                                               : SourceStatus::kAlreadyThere)
          << source.path;
    }
    EXPECT_TRUE(SameFacts(store_.Dump(), before));
  }
}

TEST_F(IngestFiles, SamplesAgainChangeNothing) {
  const Strings folders = InspectorSampleFolders();
  if (folders.empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
  store_.Ingest(folders, "", 2);
  const Strings before = store_.Dump();
  store_.Ingest(folders, "", 2);
  EXPECT_TRUE(SameFacts(store_.Dump(), before));
}

TEST_F(IngestFiles, GrownFileReplacesItsRows) {
  InspectorLine line;
  InspectorLine other = line;
  other.rank = 1;
  other.pid = 101;
  folder_.Write("node1-pid101.log", Operations(other, 0, 9));
  const std::string all = Operations(line, 0, 9) + "broken\n" +
                          Replaced(line.Text(), "}}\n",
                                   R"(,"event_trace_sn":{"coll_start_sn":1,)"
                                   R"("kernel_events":[{"channel_id":0}]}}})"
                                   "\n");
  const std::string path = folder_.Write("node1-pid100.log", all.substr(0, all.size() / 2));
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Lost("cut_last_line"), 1);
  folder_.Write("node1-pid100.log", all);
  std::map<std::string, SourceReport> reports = ByName(store_.Ingest({folder_.path()}));
  EXPECT_EQ(reports["node1-pid100.log"].status, SourceStatus::kIngested);
  EXPECT_NE(reports["node1-pid100.log"].message.find("grown"), std::string::npos);
  EXPECT_EQ(reports["node1-pid101.log"].status, SourceStatus::kAlreadyThere);
  // The store is as if the file had always been whole, without a row of before in any table.
  TestStore fresh;
  fresh.Ingest({folder_.path()});
  EXPECT_TRUE(SameFacts(store_.Contents(), fresh.Contents()));
  for (const char* table :
       {"source", "process", "communicator", "communicator_rank", "operation_series",
        "operation_block", "operation_record", "operation_record_irregular", "operation_event",
        "kernel_event", "operation_counter", "sequence_run", "ingest_loss"}) {
    EXPECT_EQ(Count(table), fresh.Integer(std::string("SELECT count(*) FROM ") + table)) << table;
  }
}

TEST_F(IngestFiles, EmptyFileThatGrows) {
  folder_.Write("node1-pid100.log", "");
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Lost("empty_file"), 1);
  folder_.Write("node1-pid100.log", InspectorLine().Text());
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Lost("empty_file"), 0);
  EXPECT_EQ(Count("source"), 1);
  EXPECT_EQ(Count("operations"), 1);
}

// Its earlier rows go, whichever of the two the store then names.
TEST_F(IngestFiles, GrownFileOfWhichThereIsACopy) {
  const std::string bytes = Operations(InspectorLine(), 0, 29);
  for (const std::string copy : {"a-pid1.log", "z-pid1.log"}) {
    TestStore store;
    const TempFolder folder;
    folder.Write("node1-pid100.log", Operations(InspectorLine(), 0, 9));
    store.Ingest({folder.path()});
    folder.Write("node1-pid100.log", bytes);
    folder.Write(copy, bytes);
    store.Ingest({folder.path()}, "", 2);
    EXPECT_EQ(store.Integer("SELECT count(*) FROM source"), 1) << copy;
    EXPECT_EQ(store.Integer("SELECT count(*) FROM operations"), 30) << copy;
    EXPECT_TRUE(store.Text("SELECT path FROM source").ends_with("node1-pid100.log")) << copy;
  }
}

TEST_F(IngestFiles, GrownFileWhoseContentIsThereAlready) {
  const std::string bytes = Operations(InspectorLine(), 0, 29);
  folder_.Write("whole/node1-pid100.log", bytes);
  folder_.Write("half/node1-pid100.log", Operations(InspectorLine(), 0, 9));
  store_.Ingest({folder_.path()}, "job");
  EXPECT_EQ(Count("operations"), 40);
  folder_.Write("half/node1-pid100.log", bytes);
  const IngestReport report = store_.Ingest({folder_.path()}, "job");
  for (const SourceReport& source : report.sources) {
    EXPECT_EQ(source.status, SourceStatus::kAlreadyThere);
  }
  EXPECT_EQ(Count("source"), 1);
  EXPECT_EQ(Count("operations"), 30);
  EXPECT_EQ(store_.Integer("SELECT sum(operations)::BIGINT FROM operation_cell"), 30);
}

TEST_F(IngestFiles, TwoEmptyFilesThatGrowToTheSame) {
  for (const char* name : {"a-pid1.log", "b-pid2.log"}) folder_.Write(name, "");
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Lost("empty_file"), 2);
  for (const char* name : {"a-pid1.log", "b-pid2.log"}) {
    folder_.Write(name, InspectorLine().Text());
  }
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Lost("empty_file"), 0);
  EXPECT_EQ(Count("source"), 1);
}

// With the newest line first every record is a block of its own, and blocks run out.
TEST_F(IngestFiles, MoreRecordsInReverseThanASeriesHasBlocks) {
  constexpr uint64_t kRecords = 66'000;
  for (const std::string host : {"node1", "node2"}) {
    std::vector<std::string> lines;
    InspectorLine line;
    line.rank = host == "node1" ? 0 : 1;
    for (line.sequence = 0; line.sequence < kRecords; ++line.sequence) {
      line.exec_time_us = 50 + line.sequence % 90;
      lines.push_back(line.Text());
    }
    std::string bytes;
    if (host == "node1") std::reverse(lines.begin(), lines.end());
    for (const std::string& text : lines) bytes += text;
    folder_.Write(host + "-pid1.log", bytes);
  }
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Rows("SELECT rank, count(*), count(DISTINCT sequence), min(sequence), "
                        "max(sequence), count(DISTINCT line), min(line), max(line), "
                        "sum(exec_time_us)::BIGINT FROM operations GROUP BY rank ORDER BY rank"),
            (Strings{"0|66000|66000|0|65999|66000|1|66000|6236100",
                     "1|66000|66000|0|65999|66000|1|66000|6236100"}));
  EXPECT_EQ(Count("operations WHERE line + sequence = 66000 AND rank = 0"), 66'000);
  EXPECT_EQ(Count("operations WHERE line = sequence + 1 AND rank = 1"), 66'000);
  EXPECT_EQ(store_.Integer("SELECT count(*) - count(DISTINCT block) FROM operation_block"), 0);
}

// A restarted container that writes to the same name: both belong to the run.
TEST_F(IngestFiles, FileThatWasWrittenAnew) {
  InspectorLine line;
  folder_.Write("node1-pid100.log", Operations(line, 0, 9));
  store_.Ingest({folder_.path()});
  line.dump_timestamp_us += 1'000'000'000;
  folder_.Write("node1-pid100.log", Operations(line, 0, 19));
  store_.Ingest({folder_.path()});
  EXPECT_EQ(Count("source"), 2);
  EXPECT_EQ(Count("operations"), 30);
  EXPECT_EQ(store_.Lost("same_process_twice"), 2);
}

TEST_F(IngestFiles, CopyUnderAnotherName) {
  const std::string bytes = Operations(InspectorLine(), 0, 9);
  folder_.Write("node1-pid100.log", bytes);
  folder_.Write("node1-pid100.log.copy", bytes);
  std::map<std::string, SourceReport> reports = ByName(store_.Ingest({folder_.path()}, "", 2));
  EXPECT_EQ(reports["node1-pid100.log"].status, SourceStatus::kIngested);
  EXPECT_EQ(reports["node1-pid100.log.copy"].status, SourceStatus::kAlreadyThere);
  EXPECT_NE(reports["node1-pid100.log.copy"].message.find("node1-pid100.log"), std::string::npos);
  const Strings before = store_.Dump();
  folder_.Write("later/other.log", bytes);
  reports = ByName(store_.Ingest({folder_ / "later"}));
  EXPECT_EQ(reports["other.log"].status, SourceStatus::kAlreadyThere);
  EXPECT_EQ(Count("operations"), 10);
  EXPECT_EQ(Count("source"), 1);
}

// The files of a job with everything in it that depends on other files.
std::vector<std::string> JobFiles(const TempFolder& folder) {
  std::vector<std::string> files;
  const auto add = [&](const std::string& name, const std::string& bytes) {
    files.push_back(folder.Write("job/" + name, bytes));
  };
  for (int64_t rank = 0; rank < 6; ++rank) {
    if (rank == 4) continue;  // missing
    InspectorLine line;
    line.rank = rank;
    line.n_ranks = 6;
    line.nnodes = 3;
    line.host = fmt::format("node{}", rank / 2);
    line.pid = 100 + static_cast<uint64_t>(rank);
    std::string bytes = Operations(line, 0, rank == 2 ? 15 : 20);
    if (rank == 3) bytes += Operations(line, 25, 30);
    InspectorLine pair = line;  // one id for all hosts
    pair.id = "0xpair";
    pair.name = "TP";
    pair.rank = rank % 2;
    pair.n_ranks = 2;
    pair.nnodes = 1;
    bytes += Operations(pair, 0, 4);
    InspectorLine shared = line;  // cannot be told apart
    shared.id = "0xshared";
    shared.rank = rank % 3;
    shared.n_ranks = 3;
    bytes += Operations(shared, 0, 4);
    if (rank == 5) bytes.resize(bytes.size() - 30);
    add(fmt::format("{}-pid{}.log", line.host, line.pid), bytes);
  }
  InspectorLine newer;
  newer.id = "0xnew";
  newer.version = "v4.3";
  newer.pid = 200;
  add("node9-pid200.log", newer.Marker(3) + newer.Payload() + newer.Payload());
  newer.version = "v4.1";
  newer.rank = 1;
  newer.pid = 201;
  newer.busbw = "1.000000";
  add("node9-pid201.log", newer.Marker(2) + newer.Text() + newer.Text());
  add("node9-pid202.log", "");
  return files;
}

TEST_F(IngestFiles, OrderAndThreadsDoNotMatter) {
  Strings files = JobFiles(folder_);
  for (const std::string& folder : InspectorSampleFolders()) {
    if (folder.find("verbose") == std::string::npos && folder.find("v4.3") == std::string::npos)
      continue;
    for (const std::string& file : FilesIn(folder)) files.push_back(file);
  }
  store_.Ingest(files, "run", 1);
  const Strings expected = store_.Contents();
  EXPECT_EQ(store_.Lost("ambiguous_communicator") > 0, true);
  std::mt19937_64 random(1);
  for (const unsigned threads : {1U, 2U, 4U}) {
    std::shuffle(files.begin(), files.end(), random);
    TestStore store;
    if (threads == 2) {
      // In two goes.
      const auto half = files.begin() + static_cast<ptrdiff_t>(files.size() / 2);
      store.Ingest(Strings(files.begin(), half), "run", threads);
      store.Ingest(Strings(half, files.end()), "run", threads);
    } else {
      store.Ingest(files, "run", threads);
    }
    EXPECT_TRUE(SameFacts(store.Contents(), expected)) << threads << " threads";
  }
}

// Large files are read in ranges, and records go to the store in parts: the same comes out.
TEST_F(IngestFiles, PartsDoNotMatter) {
  Strings files = JobFiles(folder_);
  for (const std::string& folder : InspectorSampleFolders()) {
    for (const std::string& file : FilesIn(folder)) files.push_back(file);
  }
  IngestOptions options;
  options.paths = files;
  options.run = "run";
  options.threads = 2;
  store_.Ingest(options);
  const Strings expected = store_.Contents();
  {
    TestStore store;
    options.large_file_bytes = 1;
    store.Ingest(options);
    EXPECT_TRUE(SameFacts(store.Contents(), expected)) << "read as large files";
  }
  {
    TestStore store;
    options.large_file_bytes = uint64_t{256} << 20;
    options.pending_records = 1;
    store.Ingest(options);
    EXPECT_TRUE(SameFacts(store.Contents(), expected)) << "few records in memory";
  }
}

TEST_F(IngestFiles, PackedInAnyWay) {
  InspectorLine line;
  line.version = "v4.3";
  std::string bytes;
  for (int dump = 0; dump < 200; ++dump) {
    bytes += line.Marker(5);
    for (int i = 0; i < 5; ++i, ++line.sequence) bytes += line.Payload();
  }
  const std::string query =
      "SELECT * EXCLUDE (communicator, run, source, series) FROM operations ORDER BY line";
  store_.Ingest({folder_.Write("plain/node1-pid1.log", bytes)});
  const Strings plain = store_.Rows(query);
  ASSERT_EQ(plain.size(), 1000U);
  const std::pair<const char*, std::string> packed[] = {
      {"gzip", Gzipped(bytes)},
      {"gzip", Gzipped(bytes, 7)},
      {"zstd", Zstandard(bytes)},
      {"zstd", Zstandard(bytes.substr(0, 5000)) + Zstandard(bytes.substr(5000))}};
  for (const auto& [compression, packed_bytes] : packed) {
    TestStore store;
    // Told by content: the name says nothing.
    const IngestReport report =
        store.Ingest({folder_.Write("packed/node1-pid1.log", packed_bytes)});
    EXPECT_EQ(report.sources.at(0).records, 1200U);
    EXPECT_EQ(store.Rows("SELECT compression, size_bytes, expanded_bytes, damage FROM source"),
              Strings{fmt::format("{}|{}|{}|-", compression, packed_bytes.size(), bytes.size())});
    EXPECT_TRUE(SameFacts(store.Rows(query), plain)) << compression;
  }
}

TEST_F(IngestFiles, DamagedCompression) {
  const std::string bytes = Operations(InspectorLine(), 0, 999);
  for (const std::string& whole : {Gzipped(bytes, 3), Zstandard(bytes)}) {
    TestStore store;
    const IngestReport report =
        store.Ingest({folder_.Write("node1-pid1.log", whole.substr(0, whole.size() * 3 / 4))});
    const SourceReport& source = report.sources.at(0);
    EXPECT_EQ(source.status, SourceStatus::kIngested);
    EXPECT_EQ(source.records, source.rows + LineLossesOf(source));
    EXPECT_LT(source.rows, 1000U);
    EXPECT_EQ(store.Lost("damaged_compression"), 1);
    EXPECT_EQ(store.Integer("SELECT count(*) FROM operations"), static_cast<int64_t>(source.rows));
    EXPECT_EQ(store.Integer("SELECT count(*) FROM source WHERE damage IS NOT NULL"), 1);
  }
}

TEST_F(IngestFiles, ExtremeValuesComeBack) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  InspectorLine line;
  line.n_ranks = std::numeric_limits<int64_t>::max();
  line.rank = std::numeric_limits<int64_t>::min();
  line.pid = line.nnodes = line.sequence = line.message_bytes = line.exec_time_us =
      line.dump_timestamp_us = kMax;
  line.algobw = "\"nan\"";
  line.busbw = "-1.5e300";
  line.name = R"(nul \u0000 quote \" caf\u00e9)";
  std::string bytes = line.Text();
  line = {};
  line.sequence = 4294967295;
  line.exec_time_us = 4294967295;
  line.dump_timestamp_us = 9223372036854775;
  bytes += line.Text();
  line = {};
  line.dump_timestamp_us = 0;
  bytes += line.Text();
  bytes +=
      R"({"header":{"id":"","rank":-1,"n_ranks":0},"p2p_perf":{"p2p":"","p2p_sn":0,"p2p_peer":-7}})"
      "\n";
  const IngestReport report = store_.Ingest({folder_.Write("node1-pid1.log", bytes)});
  EXPECT_EQ(report.sources.at(0).rows, 4U);
  EXPECT_EQ(
      store_.Rows(
          "SELECT line, rank, n_ranks, nnodes, pid, sequence, message_bytes, exec_time_us, "
          "dump_timestamp_us, dump_time_ns, algobw_gbs, busbw_gbs, peer, length(communicator_name) "
          "FROM operations ORDER BY line"),
      (Strings{
          "1|-9223372036854775808|9223372036854775807|18446744073709551615|18446744073709551615|"
          "18446744073709551615|18446744073709551615|18446744073709551615|18446744073709551615|-|"
          "nan|"
          "-1.5e+300|-|18",
          "2|0|2|1|100|4294967295|1048576|4294967295|9223372036854775|9223372036854775000|0|0|-|5",
          "3|0|2|1|100|0|1048576|100|0|0|10.48576|10.48576|-|5", "4|-1|0|-|-|0|-|-|-|-|-|-|-7|-"}));
  // Everything that reads the store copes with them.
  EXPECT_EQ(Count("(SELECT * FROM operations)"), 4);
  EXPECT_EQ(Count("collectives"), 3);
  EXPECT_EQ(Count("p2p"), 1);
}

// Half of a surrogate pair is no text: the line may be lost, the ingest not.
TEST_F(IngestFiles, HalfASurrogatePair) {
  std::string bytes;
  for (const char* name : {R"(\ud800)", R"(\udc00)", R"(x\udfffx)", R"(\ud800\ud800)"}) {
    InspectorLine line;
    line.name = name;
    line.host = name;
    bytes += line.Text();
  }
  bytes += InspectorLine().Text();
  const IngestReport report = store_.Ingest({folder_.Write("node1-pid1.log", bytes)});
  ASSERT_EQ(report.sources.size(), 1U);
  EXPECT_EQ(report.sources[0].records, 5U);
  EXPECT_EQ(report.sources[0].records, report.sources[0].rows + LineLossesOf(report.sources[0]));
  EXPECT_GE(Count("operations"), 1);
}

TEST_F(IngestFiles, MoreSizesThanAreKeptApart) {
  InspectorLine line;
  std::string bytes;
  for (line.sequence = 0; line.sequence < 1500; ++line.sequence) {
    line.message_bytes = 9000 + 13 * line.sequence;
    bytes += line.Text();
  }
  for (const uint64_t large_file_bytes : {uint64_t{1}, uint64_t{1} << 30}) {
    TestStore store;
    IngestOptions options;
    options.paths = {folder_.Write("node1-pid100.log", bytes)};
    options.large_file_bytes = large_file_bytes;
    store.Ingest(options);
    EXPECT_EQ(
        store.Integer("SELECT count(*) FROM operations WHERE message_bytes = 9000 + 13 * sequence "
                      "AND abs(algobw_gbs - message_bytes / 1e5) < 1e-6 AND line = sequence + 1"),
        1500);
    EXPECT_EQ(store.Lost("many_sizes"), 1500 - 512);
  }
}

TEST_F(IngestFiles, RunsByFolderOrByName) {
  InspectorLine line;
  folder_.Write("job1/node1-pid1.log", Operations(line, 0, 1));
  folder_.Write("job2/node1-pid1.log", Operations(line, 0, 2));
  store_.Ingest({folder_.path()});
  EXPECT_EQ(store_.Rows("SELECT run, count(*) FROM operations GROUP BY ALL ORDER BY ALL"),
            (Strings{"job1|2", "job2|3"}));
  folder_.Write("job1/node1-pid2.log", Operations(line, 5, 8));
  store_.Ingest({folder_ / "job1"});
  EXPECT_EQ(store_.Rows("SELECT run, count(*) FROM operations GROUP BY ALL ORDER BY ALL"),
            (Strings{"job1|6", "job2|3"}));
  TestStore named;
  named.Ingest({folder_.path()}, "all");
  EXPECT_EQ(named.Rows("SELECT run, count(*) FROM operations GROUP BY ALL ORDER BY ALL"),
            Strings{"all|9"});
}

}  // namespace
}  // namespace telltale::test
