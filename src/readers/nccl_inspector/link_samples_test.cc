// What is missing in the samples, held against their README (the ground truth of how they were
// made) and against a count of the records that shares no code with the reader.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tests/support/inspector_support.h"
#include "tests/support/json_value.h"

namespace telltale::test {
namespace {

// Sequence numbers of collectives by communicator, operation and rank.
struct Recorded {
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::set<uint64_t>>> numbers;
  std::map<std::string, std::set<std::string>> ranks;  // of a communicator
  std::map<std::string, uint64_t> n_ranks;

  void Add(std::string_view bytes) {
    for (const std::string& text : LinesOf(bytes)) {
      const auto line = ParseJson(text);
      if (!line || line->Find("header") == nullptr) continue;
      const JsonValue& header = *line->Find("header");
      const JsonValue* const name = header.Find("comm_name");
      const std::string communicator = header["id"] + (name == nullptr ? "" : name->text);
      ranks[communicator].insert(header["rank"]);
      n_ranks[communicator] = std::stoull(header["n_ranks"]);
      const JsonValue* const perf = line->Find("coll_perf");
      if (perf == nullptr) continue;
      numbers[{communicator, (*perf)["coll"]}][header["rank"]].insert(
          std::stoull((*perf)["coll_sn"]));
    }
  }
  void AddFolder(const std::string& folder) {
    for (const std::string& path : FilesIn(folder)) Add(BytesOf(path));
  }

  // Numbers up to each rank's last that it did not record.
  uint64_t Gaps() const {
    uint64_t gaps = 0;
    for (const auto& [key, of_rank] : numbers) {
      for (const auto& [rank, own] : of_rank) gaps += *own.rbegin() + 1 - own.size();
    }
    return gaps;
  }
  // Numbers behind a rank's last that another rank recorded.
  uint64_t Tails() const {
    uint64_t tails = 0;
    for (const auto& [key, of_rank] : numbers) {
      std::set<uint64_t> all;
      for (const auto& [rank, own] : of_rank) all.insert(own.begin(), own.end());
      for (const auto& [rank, own] : of_rank) {
        tails += static_cast<uint64_t>(std::distance(all.upper_bound(*own.rbegin()), all.end()));
      }
    }
    return tails;
  }
  uint64_t MissingRanks() const {
    uint64_t missing = 0;
    for (const auto& [communicator, seen] : ranks)
      missing += n_ranks.at(communicator) - seen.size();
    return missing;
  }
};

class InspectorLosses : public testing::Test {
 protected:
  void SetUp() override {
    if (InspectorSamples().empty()) {
      GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES to the folder that has inspector/";
    }
  }
  static std::string Folder(const std::string& name) { return InspectorSamples() + "/" + name; }
  IngestReport Ingest(const std::string& name) {
    recorded_.AddFolder(Folder(name));
    return store_.Ingest({Folder(name)});
  }
  int64_t Operations() { return store_.Integer("SELECT count(*) FROM operations"); }
  // Kinds of class operation that were found.
  std::vector<std::string> OperationLosses() {
    return store_.Rows(
        "SELECT DISTINCT kind FROM ingest_loss WHERE class = 'operation' ORDER BY kind");
  }

  TestStore store_;
  Recorded recorded_;
};

using Strings = std::vector<std::string>;

TEST_F(InspectorLosses, RingOverwritten) {
  Ingest("json-2.30.7-ringdrop-1x4");
  EXPECT_EQ(Operations(), 144);
  EXPECT_EQ(store_.Rows("SELECT rank, count(*) FROM operations GROUP BY ALL ORDER BY ALL"),
            (Strings{"0|48", "1|32", "2|32", "3|32"}));
  // 240 operations on each of 4 ranks; the last of each rank was written, so all gaps are known.
  // Each stands in front of a dump of 16, the size of the ring.
  EXPECT_EQ(144 + store_.Lost("ring_overwrite"), 960);
  EXPECT_EQ(store_.Lost("ring_overwrite"), static_cast<int64_t>(recorded_.Gaps()));
  EXPECT_EQ(OperationLosses(), Strings{"ring_overwrite"});
}

TEST_F(InspectorLosses, RingOverwrittenByTheProducersCount) {
  Ingest("reconstructed-v4.3-ringdrop-1x4");
  EXPECT_EQ(Operations(), 128);
  EXPECT_EQ(
      store_.Rows("SELECT rank, max(coll_dropped_total) FROM dump_stats "
                  "JOIN communicator_rank USING (communicator_rank) GROUP BY ALL ORDER BY ALL"),
      (Strings{"0|208", "1|208", "2|208", "3|208"}));
  // Each drop counts once, although the gaps show it as well.
  EXPECT_EQ(store_.Lost("ring_overwrite"), 832);
  EXPECT_EQ(OperationLosses(), Strings{"ring_overwrite"});
}

TEST_F(InspectorLosses, SampledBefore230) {
  Ingest("json-2.29.7-train-2x4");
  EXPECT_EQ(Operations(), 680);
  // The run had 1130; what comes after a rank's last record cannot be known.
  EXPECT_EQ(store_.Lost("sampled_producer"), static_cast<int64_t>(recorded_.Gaps()));
  EXPECT_LE(680 + store_.Lost("sampled_producer"), 1130);
  EXPECT_GE(680 + store_.Lost("sampled_producer"), 1100);
  EXPECT_EQ(OperationLosses(), Strings{"sampled_producer"});
}

TEST_F(InspectorLosses, CoarselySampled) {
  Ingest("json-2.29.7-coarse20ms-2x4");
  EXPECT_EQ(Operations(), 154);
  EXPECT_EQ(store_.Lost("sampled_producer"), static_cast<int64_t>(recorded_.Gaps()));
  EXPECT_LE(154 + store_.Lost("sampled_producer"), 1130);
  EXPECT_GT(store_.Lost("sampled_producer"), 600);
}

TEST_F(InspectorLosses, NearlyCompleteSample) {
  Ingest("json-2.28.9-train-2x4");
  EXPECT_EQ(Operations(), 1115);
  EXPECT_EQ(store_.Lost("sampled_producer"), 1130 - 1115);
  EXPECT_EQ(OperationLosses(), Strings{"sampled_producer"});
}

TEST_F(InspectorLosses, CompleteRunsHaveNone) {
  for (const char* name : {"json-2.30.7-train-2x8", "json-2.30.7-verbose-2x4",
                           "json-2.30.7-noname-1x2", "json-2.30.7-cputiming-1x4",
                           "reconstructed-v4.1-train-2x4", "reconstructed-v4.4-train-2x4"}) {
    SCOPED_TRACE(name);
    TestStore store;
    store.Ingest({Folder(name)});
    EXPECT_EQ(store.Rows("SELECT class, kind, operation, count FROM ingest_loss"), Strings());
  }
}

TEST_F(InspectorLosses, KilledWhileItWrote) {
  Ingest("json-2.30.7-killed-truncated");
  EXPECT_EQ(store_.Lost("cut_last_line"), 1);
  EXPECT_EQ(store_.Lost("cut_file"), 1);
  EXPECT_EQ(store_.Lost("last_interval"), static_cast<int64_t>(recorded_.Tails()));
  EXPECT_GT(recorded_.Tails(), 0U);
  // The cut line is the last of the file that holds it.
  EXPECT_EQ(store_.Text("SELECT l.first_position = f.lines FROM ingest_loss l JOIN source f "
                        "USING (source) WHERE l.kind = 'cut_last_line'"),
            "true");
}

TEST_F(InspectorLosses, NameThatBreaksTheJson) {
  const IngestReport report = Ingest("json-2.30.7-badname-1x2");
  EXPECT_EQ(Operations(), 42);
  EXPECT_EQ(store_.Lost("invalid_json"), 2);
  EXPECT_EQ(store_.Lost("cut_last_line"), 0);
  for (const SourceReport& source : report.sources) EXPECT_EQ(LineLossesOf(source), 1U);
}

TEST_F(InspectorLosses, IdOfTwoCommunicators) {
  Ingest("json-2.30.7-idcollision-2x2");
  const Strings shared = store_.Rows(
      "SELECT id, count(*), min(n_ranks), min(ranks_seen), bool_or(ambiguous) FROM communicator "
      "GROUP BY id HAVING count(*) > 1");
  ASSERT_EQ(shared.size(), 1U);
  EXPECT_EQ(shared[0].substr(shared[0].find('|')), "|2|2|2|false");
  // Each record is with the communicator of its own name.
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM operations o JOIN communicator k "
                           "USING (communicator) WHERE o.communicator_name != k.name"),
            0);
  EXPECT_EQ(store_.Lost("shared_communicator_id"), 2);
  EXPECT_EQ(OperationLosses(), Strings());
}

TEST_F(InspectorLosses, SizeSweep) {
  Ingest("json-2.30.7-sweep-default-2x2");
  // Operations below 8192 bytes were filtered on all ranks alike.
  EXPECT_EQ(store_.Lost("sequence_gap_filtered"), static_cast<int64_t>(recorded_.Gaps()));
  EXPECT_EQ(OperationLosses(), Strings{"sequence_gap_filtered"});
  EXPECT_EQ(store_.Integer("SELECT min(message_bytes) FROM operations"), 16384);
  EXPECT_EQ(store_.Rows(
                "SELECT operation, message_bytes, algobw_gbs, busbw_gbs, count(*) FROM operations "
                "WHERE operation = 'Invalid' GROUP BY ALL"),
            Strings{"Invalid|2097152|0|0|4"});
  EXPECT_EQ(store_.Lost("invalid_operation"), 4);
  EXPECT_EQ(store_.Rows("SELECT operation, message_bytes, count(*) FROM operations "
                        "WHERE message_bytes > 1::UBIGINT << 62 GROUP BY ALL"),
            Strings{"AllReduce|18446744073709550616|4"});
  EXPECT_EQ(store_.Lost("unknown_data_type"), 4);
}

TEST_F(InspectorLosses, SizeSweepWithoutFilter) {
  Ingest("json-2.30.7-sweep-minsize0-2x4");
  EXPECT_LT(store_.Integer("SELECT min(message_bytes) FROM operations"), 8192);
  EXPECT_EQ(store_.Lost("sequence_gap_filtered"), static_cast<int64_t>(recorded_.Gaps()));
  EXPECT_EQ(store_.Lost("unknown_data_type"), 8);
}

TEST_F(InspectorLosses, FileOfARankIsNotThere) {
  const std::vector<std::string> all = FilesIn(Folder("json-2.30.7-verbose-2x4"));
  const std::vector<std::string> some(all.begin(), all.end() - 1);
  for (const std::string& path : some) recorded_.Add(BytesOf(path));
  ASSERT_GT(recorded_.MissingRanks(), 0U);
  store_.Ingest(some);
  EXPECT_EQ(store_.Lost("missing_rank"), static_cast<int64_t>(recorded_.MissingRanks()));
  EXPECT_EQ(OperationLosses(), Strings{"missing_rank"});
  EXPECT_EQ(store_.Rows("SELECT detail FROM ingest_loss WHERE detail LIKE '% of 8'"),
            Strings{"ranks 7 of 8"});
  // Once it comes, nothing is missing.
  store_.Ingest({all.back()});
  EXPECT_EQ(OperationLosses(), Strings());
}

TEST_F(InspectorLosses, FileWithoutItsTail) {
  const TempFolder folder;
  for (const std::string& path : FilesIn(Folder("json-2.30.7-train-2x8"))) {
    std::string bytes = BytesOf(path);
    if (path.ends_with("pid15364.log")) {
      const std::vector<std::string> lines = LinesOf(bytes);
      bytes.clear();
      for (size_t i = 0; i < lines.size() * 3 / 4; ++i) bytes += lines[i];
    }
    folder.Write(std::filesystem::path(path).filename(), bytes);
    recorded_.Add(bytes);
  }
  store_.Ingest({folder.path()});
  EXPECT_GT(recorded_.Tails(), 0U);
  EXPECT_EQ(store_.Lost("last_interval"), static_cast<int64_t>(recorded_.Tails()));
  EXPECT_EQ(OperationLosses(), Strings{"last_interval"});
  EXPECT_EQ(store_.Rows("SELECT DISTINCT parse_filename(f.path) FROM ingest_loss l "
                        "JOIN source f USING (source) WHERE l.kind = 'last_interval'"),
            Strings{"node001.cluster-pid15364.log"});
}

// The two jobs have communicators of the same ids and names; they stay apart.
TEST_F(InspectorLosses, TwoRunsInOneStore) {
  Ingest("reconstructed-v4.1-train-2x4");
  const Strings before = store_.Rows(
      "SELECT id, name, n_ranks, instance, ranks_seen, type FROM communicator ORDER BY ALL");
  store_.Ingest({Folder("reconstructed-v4.2-train-2x4")});
  EXPECT_EQ(store_.Rows("SELECT name FROM run ORDER BY ALL"),
            (Strings{"reconstructed-v4.1-train-2x4", "reconstructed-v4.2-train-2x4"}));
  for (const char* run : {"reconstructed-v4.1-train-2x4", "reconstructed-v4.2-train-2x4"}) {
    EXPECT_EQ(store_.Rows(fmt::format(
                  "SELECT id, k.name, n_ranks, instance, ranks_seen, type FROM "
                  "communicator k JOIN run u USING (run) WHERE u.name = '{}' ORDER BY ALL",
                  run)),
              before);
  }
  EXPECT_EQ(store_.Rows("SELECT kind FROM ingest_loss"), Strings());
  EXPECT_EQ(
      store_.Integer("SELECT count(*) FROM operations o JOIN communicator k USING (communicator) "
                     "JOIN run u ON u.run = k.run WHERE u.name != o.run"),
      0);
}

}  // namespace
}  // namespace telltale::test
