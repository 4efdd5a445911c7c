// Which ranks are one communicator, and what only a look over all ranks shows to be missing.

#include "readers/nccl_inspector/link.h"

#include <gtest/gtest.h>

#include <functional>

#include <fmt/format.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

class InspectorLink : public testing::Test {
 protected:
  // A file of one rank with operations first..last.
  void AddRank(const InspectorLine& rank, uint64_t first = 0, uint64_t last = 4,
               const std::string& name = "") {
    std::string bytes;
    InspectorLine line = rank;
    for (line.sequence = first; line.sequence <= last; ++line.sequence) bytes += line.Text();
    Append(name.empty() ? fmt::format("{}-pid{}.log", rank.host, rank.pid) : name, bytes);
  }
  void Append(const std::string& name, const std::string& bytes) { files_[name] += bytes; }
  void Ingest() {
    for (const auto& [name, bytes] : files_) folder_.Write(name, bytes);
    store_.Ingest({folder_.path()}, "run");
    files_.clear();
  }
  Strings Communicators(
      const std::string& columns = "id, name, n_ranks, instance, ambiguous, ranks_seen") {
    return store_.Rows("SELECT " + columns + " FROM communicator ORDER BY ALL");
  }
  // class operation, without what says where.
  Strings Lost() {
    return store_.Rows(
        "SELECT kind, operation, count, first_position FROM ingest_loss "
        "WHERE class = 'operation' ORDER BY ALL");
  }
  static InspectorLine Rank(int64_t rank, int64_t n_ranks = 2) {
    InspectorLine line;
    line.rank = rank;
    line.n_ranks = n_ranks;
    line.pid = 100 + static_cast<uint64_t>(rank);
    return line;
  }

  TempFolder folder_;
  TestStore store_;
  std::map<std::string, std::string> files_;
};

TEST_F(InspectorLink, RanksOfOneCommunicator) {
  AddRank(Rank(0));
  AddRank(Rank(1));
  Ingest();
  EXPECT_EQ(Communicators(), Strings{"0xabc|WORLD|2|0|false|2"});
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM operations WHERE communicator IS NULL"), 0);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM ingest_loss"), 0);
}

TEST_F(InspectorLink, SameIdToldApartByName) {
  for (const int64_t rank : {0, 1}) {
    InspectorLine line = Rank(rank);
    AddRank(line);
    line.name = "TP";
    AddRank(line);
    line.name = std::nullopt;
    AddRank(line);
  }
  Ingest();
  EXPECT_EQ(Communicators(),
            (Strings{"0xabc|TP|2|0|false|2", "0xabc|WORLD|2|0|false|2", "0xabc|-|2|0|false|2"}));
  EXPECT_EQ(store_.Lost("shared_communicator_id"), 3);
}

TEST_F(InspectorLink, SameIdToldApartBySize) {
  AddRank(Rank(0, 2));
  AddRank(Rank(1, 2));
  for (int64_t rank = 0; rank < 3; ++rank) AddRank(Rank(rank, 3));
  Ingest();
  EXPECT_EQ(Communicators(), (Strings{"0xabc|WORLD|2|0|false|2", "0xabc|WORLD|3|0|false|3"}));
  EXPECT_EQ(store_.Lost("shared_communicator_id"), 2);
  EXPECT_EQ(Lost(), Strings());
}

// Two hosts with a communicator each, of the same id, name and size: on one NVLink domain, so the
// host says which ranks belong together.
TEST_F(InspectorLink, SameIdToldApartByHost) {
  for (const char* host : {"node1", "node2"}) {
    for (const int64_t rank : {0, 1}) {
      InspectorLine line = Rank(rank);
      line.host = host;
      AddRank(line);
    }
  }
  Ingest();
  EXPECT_EQ(Communicators(), (Strings{"0xabc|WORLD|2|0|false|2", "0xabc|WORLD|2|1|false|2"}));
  EXPECT_EQ(store_
                .Rows("SELECT communicator, count(DISTINCT host), count(*) FROM operations "
                      "GROUP BY ALL ORDER BY ALL")
                .size(),
            2U);
  EXPECT_EQ(store_.Integer("SELECT max(n) FROM (SELECT count(DISTINCT host) AS n FROM operations "
                           "GROUP BY communicator)"),
            1);
  EXPECT_EQ(Lost(), Strings());
}

// The same over several hosts: nothing in the files says it, and that is said.
TEST_F(InspectorLink, SameIdThatCannotBeToldApart) {
  for (const char* host : {"node1", "node2"}) {
    for (const int64_t rank : {0, 1}) {
      InspectorLine line = Rank(rank);
      line.host = host;
      line.nnodes = 2;
      AddRank(line);
    }
  }
  Ingest();
  EXPECT_EQ(Communicators("instance, ambiguous, ranks_seen"), (Strings{"0|true|2", "1|true|2"}));
  EXPECT_EQ(store_.Lost("ambiguous_communicator"), 4);
}

TEST_F(InspectorLink, RestartedJob) {
  for (const int64_t rank : {0, 1}) {
    InspectorLine line = Rank(rank);
    AddRank(line);
    line.pid += 1000;
    line.dump_timestamp_us += 3'600'000'000;
    AddRank(line, 0, 9);
  }
  Ingest();
  EXPECT_EQ(Communicators(), (Strings{"0xabc|WORLD|2|0|false|2", "0xabc|WORLD|2|1|false|2"}));
  EXPECT_EQ(
      store_.Rows(
          "SELECT count(*), max(sequence) FROM operations GROUP BY communicator ORDER BY ALL"),
      (Strings{"10|4", "20|9"}));
  EXPECT_EQ(Lost(), Strings());
}

// The same where no bandwidth follows from size and time (an older RCCL, say).
TEST_F(InspectorLink, RestartedJobWithOtherBandwidths) {
  for (const int64_t rank : {0, 1}) {
    InspectorLine line = Rank(rank);
    line.busbw = "123.000000";
    AddRank(line);
    line.pid += 1000;
    line.dump_timestamp_us += 3'600'000'000;
    AddRank(line, 0, 9);
  }
  Ingest();
  EXPECT_EQ(Communicators(), (Strings{"0xabc|WORLD|2|0|false|2", "0xabc|WORLD|2|1|false|2"}));
  EXPECT_EQ(
      store_.Rows(
          "SELECT count(*), max(sequence) FROM operations GROUP BY communicator ORDER BY ALL"),
      (Strings{"10|4", "20|9"}));
}

TEST_F(InspectorLink, TwoFilesOfOneProcess) {
  AddRank(Rank(0), 0, 4, "a/node1-pid100.log");
  AddRank(Rank(0), 5, 9, "b/node1-pid100.log");
  AddRank(Rank(1), 0, 9);
  Ingest();
  EXPECT_EQ(Communicators(), Strings{"0xabc|WORLD|2|0|false|2"});
  // Together they have all operations.
  EXPECT_EQ(Lost(), Strings());
  EXPECT_EQ(store_.Lost("same_process_twice"), 2);
  EXPECT_EQ(store_.Rows("SELECT detail FROM ingest_loss WHERE kind = 'same_process_twice'"),
            Strings{"host node1 pid 100"});
}

TEST_F(InspectorLink, MissingRanks) {
  for (const int64_t rank : {0, 3, 4, 9}) AddRank(Rank(rank, 12));
  Ingest();
  EXPECT_EQ(Lost(), Strings{"missing_rank|-|8|1"});
  EXPECT_EQ(store_.Text("SELECT detail FROM ingest_loss"), "ranks 1-2,5-8,10-11 of 12");
}

// A damaged number of ranks must neither take hours nor all memory.
TEST_F(InspectorLink, AbsurdNumbersOfRanks) {
  std::string bytes;
  InspectorLine line = Rank(0);
  for (int i = 0; i < 50; ++i) {
    line.id = fmt::format("0x{}", i);
    line.n_ranks = i % 2 == 0 ? 16'000'000 : int64_t{1} << 62;
    bytes += line.Text();
  }
  line.id = "0xneg";
  line.n_ranks = -1;
  line.rank = -5;
  Append("node1-pid1.log", bytes + line.Text());
  Ingest();
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM communicator"), 51);
  EXPECT_EQ(store_.Integer("SELECT count FROM ingest_loss WHERE kind = 'missing_rank' LIMIT 1"),
            15'999'999);
}

TEST_F(InspectorLink, GapOfOneRank) {
  AddRank(Rank(0), 0, 9);
  AddRank(Rank(1), 0, 3);
  AddRank(Rank(1), 6, 9);
  Ingest();
  EXPECT_EQ(Lost(), Strings{"sequence_gap_lost|AllReduce|2|4"});
  EXPECT_EQ(
      store_.Rows(
          "SELECT c.rank FROM ingest_loss JOIN communicator_rank c USING (communicator_rank)"),
      Strings{"1"});
}

TEST_F(InspectorLink, GapOfAllRanks) {
  for (const int64_t rank : {0, 1}) {
    AddRank(Rank(rank), 2, 3);
    AddRank(Rank(rank), 6, 9);
  }
  Ingest();
  EXPECT_EQ(Lost(), (Strings{"sequence_gap_filtered|AllReduce|4|0",
                             "sequence_gap_filtered|AllReduce|4|0"}));
}

TEST_F(InspectorLink, LastOperationsOfOneRank) {
  AddRank(Rank(0), 0, 9);
  AddRank(Rank(1), 0, 6);
  Ingest();
  EXPECT_EQ(Lost(), Strings{"last_interval|AllReduce|3|7"});
}

// All ranks of a communicator take part in each of its collectives: a rank without any record of
// one that the others recorded has lost all of them.
TEST_F(InspectorLink, OperationThatOneRankLacksAltogether) {
  AddRank(Rank(0), 0, 9);
  AddRank(Rank(1), 0, 9);
  InspectorLine gather = Rank(0);
  gather.operation = "AllGather";
  AddRank(gather, 2, 6);
  Ingest();
  EXPECT_EQ(
      store_.Integer("SELECT coalesce(sum(count), 0) FROM ingest_loss l JOIN communicator_rank c "
                     "USING (communicator_rank) WHERE class = 'operation' AND c.rank = 1 "
                     "AND operation = 'AllGather' AND kind != 'sequence_gap_filtered'"),
      5);
}

TEST_F(InspectorLink, SendsAndReceivesShareACounter) {
  InspectorLine line = Rank(0);
  line.is_p2p = true;
  std::string bytes;
  for (const uint64_t sequence : {1, 2, 3, 6, 7}) {
    line.operation = sequence % 2 == 0 ? "Send" : "Recv";
    line.sequence = sequence;
    bytes += line.Text();
  }
  Append("node1-pid100.log", bytes);
  AddRank(Rank(1));
  AddRank(Rank(0));
  Ingest();
  // From 1 on: 4 and 5 are missing.
  EXPECT_EQ(Lost(), Strings{"sequence_gap_lost|-|2|4"});
}

TEST_F(InspectorLink, DropsThatNoGapShows) {
  InspectorLine line = Rank(0, 1);
  line.version = "v4.1";
  Append("node1-pid100.log", Replaced(Replaced(line.Marker(1), R"("coll_dropped_total":0)",
                                               R"("coll_dropped_total":9)"),
                                      R"("p2p_dropped_total":0)", R"("p2p_dropped_total":4)") +
                                 line.Text());
  Ingest();
  EXPECT_EQ(Lost(), (Strings{"ring_overwrite|p2p|4|0", "ring_overwrite|-|9|0"}));
}

// The producer dropped nothing, and other ranks have the operation: it was lost on the way, not
// filtered.
TEST_F(InspectorLink, GapThatTheDropCounterDoesNotExplain) {
  for (const int64_t rank : {0, 1}) {
    InspectorLine line = Rank(rank);
    line.version = "v4.3";
    std::string bytes = line.Marker(10);
    for (line.sequence = 0; line.sequence < 10; ++line.sequence) {
      bytes += rank == 1 && line.sequence == 4 ? "broken\n" : line.Payload();
    }
    Append(fmt::format("node1-pid{}.log", line.pid), bytes);
  }
  Ingest();
  EXPECT_EQ(Lost(), Strings{"sequence_gap_lost|AllReduce|1|4"});
}

TEST_F(InspectorLink, OdditiesOfRecords) {
  InspectorLine line = Rank(0, 1);
  std::string bytes = line.Text();
  bytes += line.Text();  // the same number again
  line.sequence = 1;
  line.exec_time_us = 0;
  bytes += line.Text();
  line.sequence = 2;
  line.algobw = "5.000000";  // irregular, and of no time
  bytes += line.Text();
  line = Rank(0, 1);
  line.operation = "Invalid";
  bytes += line.Text();
  line.operation = "Broadcast";
  line.message_bytes = uint64_t{0} - 7;
  bytes += line.Text();
  Append("node1-pid100.log", bytes);
  Ingest();
  EXPECT_EQ(store_.Rows("SELECT kind, operation, count FROM ingest_loss ORDER BY ALL"),
            (Strings{"duplicate_record|AllReduce|1", "invalid_operation|Invalid|1",
                     "unknown_data_type|Broadcast|1", "zero_time|AllReduce|2"}));
  EXPECT_EQ(store_.Rows("SELECT type FROM communicator"), Strings{"single-rank"});
}

TEST_F(InspectorLink, TypesOfCommunicators) {
  const auto add = [&](const char* id, int64_t n_ranks, uint64_t nnodes) {
    InspectorLine line = Rank(0, n_ranks);
    line.id = id;
    line.nnodes = nnodes;
    AddRank(line, 0, 0);
  };
  add("0x1", 1, 1);
  add("0x2", 8, 1);
  add("0x3", 8, 8);
  add("0x4", 8, 2);
  InspectorLine unknown = Rank(0, 8);
  unknown.id = "0x5";
  Append("node1-pid100.log", Replaced(unknown.Text(), R"(,"nnodes":1)", ""));
  Ingest();
  EXPECT_EQ(Communicators("id, type"), (Strings{"0x1|single-rank", "0x2|nvlink-only",
                                                "0x3|nic-only", "0x4|mixed", "0x5|unknown"}));
}

}  // namespace
}  // namespace telltale::test
