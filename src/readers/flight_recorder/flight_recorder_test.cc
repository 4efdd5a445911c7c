// Dumps of the NCCL flight recorder: pickles of our own, hostile ones, JSON, and the real samples.

#include <filesystem>

#include <gtest/gtest.h>

#include "evidence/stuck_ranks.h"
#include "readers/flight_recorder/dump.h"
#include "readers/flight_recorder/pickle.h"
#include "tests/support/inspector_support.h"
#include "tests/support/trace_support.h"

namespace telltale::test {
namespace {

using namespace std::string_literals;
using flight_recorder::Dump;
using flight_recorder::ReadDump;
using flight_recorder::ReadPickle;
using flight_recorder::Value;
using Strings = std::vector<std::string>;

// Writes JSON-like values as pickles, protocol 2, as Python's and PyTorch's writers do.
std::string Text(const std::string& text) {
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>(text.size() >> (8 * i));
  return out + text;
}
std::string Number(int64_t value) {
  std::string out = "\x8a\x08";
  for (int i = 0; i < 8; ++i) out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i));
  return out;
}
std::string Dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string out = "}(";
  for (const auto& [key, value] : items) out += Text(key) + value;
  return out + "u";
}
std::string List(const Strings& items) {
  std::string out = "](";
  for (const std::string& item : items) out += item;
  return out + "e";
}
std::string Pickle(const std::string& body) { return "\x80\x02" + body + "."; }

std::string Entry(int64_t sequence, const std::string& operation, bool is_p2p = false,
                  const std::string& state = "scheduled") {
  return Dict({{"record_id", Number(sequence)},
               {"pg_id", "K\x01"},
               {"process_group", Text("7") + Text("DATA") + "\x86"},
               {"collective_seq_id", Number(is_p2p ? 0 : sequence)},
               {"p2p_seq_id", Number(is_p2p ? sequence : 0)},
               {"op_id", Number(sequence)},
               {"profiling_name", Text(operation)},
               {"time_created_ns", Number(1758610505947721376)},
               {"input_sizes", List({List({"K\x08", "M\x00\x10"s})})},
               {"input_dtypes", List({Text("BFloat16")})},
               {"state", Text(state)},
               {"duration_ms", "N"},
               {"retired", "\x89"},
               {"is_p2p", is_p2p ? "\x88" : "\x89"}});
}

std::string DumpOf(const std::string& ranks, int64_t enqueued, int64_t completed,
                   const Strings& entries) {
  return Pickle(Dict(
      {{"version", Text("2.9")},
       {"pg_config",
        Dict({{"7", Dict({{"name", Text("7")}, {"desc", Text("DATA")}, {"ranks", Text(ranks)}})}})},
       {"nccl_version", Text("2.27.3")},
       {"pg_status", Dict({{"1", Dict({{"last_enqueued_collective", Number(enqueued)},
                                       {"last_started_collective", Number(-1)},
                                       {"last_completed_collective", Number(completed)}})}})},
       {"entries", List(entries)}}));
}

TEST(FlightRecorder, ReadsWhatPicklesHold) {
  const auto tree = ReadPickle(Pickle(
      List({"N", "\x88", "\x89", "J\xff\xff\xff\xff", "K\xff", "M\xff\xff", "\x8a\x01\xff",
            "\x8a\x00"s, "G\x3f\xf8\x00\x00\x00\x00\x00\x00"s, Text("\xc3\xa9"), "\x8c\x02xy", ")",
            "K\x01\x85", "K\x01K\x02K\x03\x87", "(K\x01K\x02t", Text("a") + "q\x05h\x05\x86"})));
  ASSERT_TRUE(tree) << tree.error().message;
  Strings texts;
  for (const Value* item : tree->root->items) texts.push_back(item->ShortText().value_or("-"));
  EXPECT_EQ(texts,
            (Strings{"null", "true", "false", "-1", "255", "65535", "-1", "0", "1.5",
                     "\"\xc3\xa9\"", "\"xy\"", "[]", "[1]", "[1,2,3]", "[1,2]", "[\"a\",\"a\"]"}));
}

TEST(FlightRecorder, WhatCouldRunCodeIsRefused) {
  const std::vector<std::pair<std::string, std::string>> hostile = {
      {"cos\nsystem\n(" + Text("true") + "tR", "GLOBAL"},
      {Text("os") + Text("system") + "\x93", "STACK_GLOBAL"},
      {"N)R", "REDUCE"},
      {"NNb", "BUILD"},
      {"(ios\nsystem\n", "INST"},
      {"(No", "OBJ"},
      {"N)\x81", "NEWOBJ"},
      {"N)N\x92", "NEWOBJ_EX"},
      {"Pid\n", "PERSID"},
      {"NQ", "BINPERSID"},
      {"\x82\x01", "EXT1"},
      {"\x83\x01\x01", "EXT2"},
      {"\x84\x01\x01\x01\x01", "EXT4"}};
  for (const auto& [body, name] : hostile) {
    const auto tree = ReadPickle(Pickle(body));
    ASSERT_FALSE(tree) << name;
    EXPECT_NE(tree.error().message.find(name + ", which can run code: refused"), std::string::npos)
        << tree.error().message;
  }
}

TEST(FlightRecorder, BrokenPicklesAreErrors) {
  for (const std::string& body :
       {"u"s, "e"s, "s"s, "a"s, "\x85"s, "t"s, "h\x01"s, "q\x01"s, "](K\x01u"s, "}(K\x01u"s,
        "K\x01K\x02"s, "(K\x01"s, "\x01"s, "NN\x87"s, "N(K\x01\x86"s, "\x80\x09"s}) {
    EXPECT_FALSE(ReadPickle(Pickle(body))) << testing::PrintToString(body);
  }
  EXPECT_FALSE(ReadPickle(""));
}

// A list in itself, and one doubled at each step, cost neither time nor memory.
TEST(FlightRecorder, ValuesThatHoldThemselvesAreNoTrap) {
  const auto circle =
      ReadPickle(Pickle("]q\x01h\x01"
                        "a"));
  ASSERT_TRUE(circle);
  EXPECT_FALSE(circle->root->ShortText());
  std::string body = List({"K\x01"}) + "q\x01";
  for (int i = 0; i < 200; ++i) body += "h\x01\x86q\x01";
  const auto doubled = ReadPickle(Pickle(body));
  ASSERT_TRUE(doubled);
  EXPECT_FALSE(doubled->root->ShortText());
}

TEST(FlightRecorder, ACutDumpKeepsWhatIsWhole) {
  const std::string whole =
      DumpOf("[0, 1]", 9, 6, {Entry(7, "nccl:all_reduce"), Entry(8, "nccl:broadcast")});
  const auto all = ReadDump(whole);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->entries.size(), 2U);
  EXPECT_EQ(all->entries[0].input_sizes, "[[8,4096]]");
  EXPECT_EQ(all->entries[1].operation, "nccl:broadcast");
  EXPECT_EQ(all->groups.at(0).last_enqueued, 9);
  EXPECT_EQ(all->damage, "");
  uint64_t before = 0;
  for (size_t size = whole.find("entries"); size < whole.size(); ++size) {
    const auto cut = ReadDump(std::string_view(whole).substr(0, size));
    ASSERT_TRUE(cut) << size << cut.error().message;
    EXPECT_NE(cut->damage, "") << size;
    EXPECT_EQ(cut->groups.size(), 1U);
    EXPECT_GE(cut->entries.size(), before);
    EXPECT_EQ(cut->records, cut->entries.size() + cut->invalid_entries);
    before = cut->entries.size();
  }
  EXPECT_EQ(before, 2U);
}

TEST(FlightRecorder, JsonSaysTheSame) {
  const auto dump = ReadDump(R"({"version":"2.9","nccl_version":"2.27.3",
    "pg_config":{"7":{"name":"7","desc":"DATA","ranks":"[0, 1]"}},
    "pg_status":{"1":{"last_enqueued_collective":9,"last_started_collective":-1,"last_completed_collective":6}},
    "entries":[{"record_id":7,"pg_id":1,"process_group":["7","DATA"],"collective_seq_id":7,"p2p_seq_id":0,"op_id":7,
      "profiling_name":"nccl:all_reduce","time_created_ns":1758610505947721376,"input_sizes":[[8,4096]],
      "state":"started","is_p2p":false,"retired":false,"duration_ms":1.5},{"state":"started"}]})");
  ASSERT_TRUE(dump) << dump.error().message;
  EXPECT_EQ(dump->records, 2U);
  EXPECT_EQ(dump->invalid_entries, 1U);
  EXPECT_EQ(dump->first_invalid, 1U);
  ASSERT_EQ(dump->entries.size(), 1U);
  EXPECT_EQ(dump->entries[0].created_ns, 1758610505947721376);
  EXPECT_EQ(dump->entries[0].duration_ms, 1.5);
  EXPECT_EQ(dump->entries[0].group_name, "7");
  EXPECT_EQ(dump->groups.at(0).last_completed, 6);
  EXPECT_FALSE(ReadDump(R"({"version":"2.9"})"));
  EXPECT_FALSE(ReadDump("[]"));
}

TEST(FlightRecorder, RanksComeFromNames) {
  using flight_recorder::IsNamedAsDump;
  using flight_recorder::RankOfPath;
  EXPECT_EQ(RankOfPath("/x/nccl_trace_rank_12"), 12);
  EXPECT_EQ(RankOfPath("_dump_0"), 0);
  EXPECT_EQ(RankOfPath("/1/dump7.json.gz"), 7);
  EXPECT_EQ(RankOfPath("/1/dump"), std::nullopt);
  EXPECT_TRUE(IsNamedAsDump("/a/_dump_3"));
  EXPECT_TRUE(IsNamedAsDump("nccl_trace_rank_3"));
  EXPECT_FALSE(IsNamedAsDump("notes_3"));
}

class StuckRanks : public testing::Test {
 protected:
  void Write(int64_t rank, const std::string& bytes) {
    (void)folder_.Write("_dump_" + std::to_string(rank), bytes);
  }
  // Rank and reasons of the suspects.
  Strings Suspects() {
    for (const SourceReport& source : store_.Ingest({folder_.path()}).sources) {
      EXPECT_EQ(source.status, SourceStatus::kIngested) << source.path << source.message;
    }
    const auto connection = store_.store().Connect();
    const auto states = evidence::StuckRanks(**connection, "");
    EXPECT_TRUE(states) << states.error().message;
    Strings suspects;
    for (const evidence::RankState& state : *states) {
      for (const std::string& reason : state.reasons) {
        suspects.push_back(fmt::format("{}: {}", state.rank, reason));
      }
    }
    return suspects;
  }
  TempFolder folder_;
  TestStore store_;
};

TEST_F(StuckRanks, WhoHasNotEnqueuedWhatOthersWaitFor) {
  Write(0, DumpOf("[0, 1, 2]", 7, 6, {Entry(7, "nccl:all_reduce")}));
  Write(1, DumpOf("[0, 1, 2]", 6, 6, {}));
  Write(2, DumpOf("[0, 1, 2]", 7, 6, {Entry(7, "nccl:all_reduce")}));
  EXPECT_EQ(
      Suspects(),
      (Strings{"1: has not enqueued all_reduce 7 of DATA [0, 1, 2], for which ranks 0, 2 wait",
               "1: nothing of its own is under way"}));
}

TEST_F(StuckRanks, WhoHasNotFinishedWhatOthersHave) {
  Write(0, DumpOf("[0, 1]", 9, 8, {Entry(9, "nccl:all_reduce")}));
  Write(1, DumpOf("[0, 1]", 9, 6,
                  {Entry(7, "nccl:all_reduce"), Entry(8, "nccl:all_reduce"),
                   Entry(9, "nccl:all_reduce")}));
  EXPECT_EQ(Suspects(),
            (Strings{"1: all_reduce 7 of DATA [0, 1] is unfinished, though rank 0 finished it",
                     "1: it has most operations unfinished (3)"}));
}

TEST_F(StuckRanks, WhoLeftNothing) {
  Write(0, DumpOf("[0, 1, 2]", 7, 6, {Entry(7, "nccl:all_reduce")}));
  Write(2, "");
  EXPECT_EQ(Suspects(), (Strings{"1: no dump of it is there", "2: its dump is empty"}));
  EXPECT_EQ(store_.Lost("empty_dump"), 1);
}

TEST_F(StuckRanks, NobodyWhereAllWaitInTheSame) {
  for (int64_t rank = 0; rank < 2; ++rank) {
    Write(rank, DumpOf("[0, 1]", 7, 6, {Entry(7, "nccl:all_reduce")}));
  }
  EXPECT_EQ(Suspects(), Strings{});
}

TEST_F(StuckRanks, AReceiveWaitsForItsSend) {
  Write(0, DumpOf("[0, 1]", 3, 2, {Entry(3, "nccl:recv 0<-1", true)}));
  Write(1, DumpOf("[0, 1]", 2, 2, {}));
  EXPECT_EQ(Suspects(),
            (Strings{"1: has not enqueued recv 0<-1 3 of DATA [0, 1], for which rank 0 waits",
                     "1: nothing of its own is under way"}));
}

// Without progress of groups the ring buffer tells; who is not in a group is no part of it.
TEST_F(StuckRanks, EntriesTellWhereProgressIsMissing) {
  const auto dump = [](const Strings& entries) {
    return Pickle(Dict(
        {{"version", Text("2.9")},
         {"pg_config", Dict({{"7", Dict({{"desc", Text("DATA")}, {"ranks", Text("[0, 1]")}})}})},
         {"entries", List(entries)}}));
  };
  Write(0, dump({Entry(6, "nccl:all_reduce", false, "completed"), Entry(7, "nccl:all_reduce")}));
  Write(1, dump({Entry(6, "nccl:all_reduce", false, "completed")}));
  Write(2, dump({Entry(5, "nccl:all_reduce", false, "completed")}));
  EXPECT_EQ(Suspects(),
            (Strings{"1: has not enqueued all_reduce 7 of DATA [0, 1], for which rank 0 waits",
                     "1: nothing of its own is under way"}));
}

TEST(FlightRecorder, OneTextNamedOftenStaysInProportion) {
  std::string entries = "](";
  for (int i = 0; i < 20'000; ++i) entries += "h\x02";
  const auto large = ReadDump(
      Pickle("}(" + Text("text") + Text(std::string(1 << 20, 'x')) + "q\x01" + Text("entry") +
             Dict({{"profiling_name", "h\x01"}, {"state", Text("scheduled")}}) + "q\x02" +
             Text("entries") + entries + "eu"));
  ASSERT_TRUE(large) << large.error().message;
  EXPECT_EQ(large->records, 20'000U);
  EXPECT_LE(large->entries.size(), 65U);
  EXPECT_EQ(large->invalid_entries, large->records - large->entries.size());
}

TEST_F(StuckRanks, NumbersOfTransfersAreNotCompared) {
  Write(0, DumpOf("[0, 1]", 9, 8, {Entry(9, "nccl:recv 0<-1", true)}));
  Write(1, DumpOf("[0, 1]", 3, 2, {Entry(3, "nccl:send 1->0", true)}));
  EXPECT_EQ(Suspects(), Strings{});
}

TEST(StuckRanksOfSamples, TruthIsNamedAndNobodyElse) {
  const std::string folder = TraceSamples();
  if (folder.empty()) GTEST_SKIP() << "no samples";
  struct Sample {
    const char* name;
    std::vector<int64_t> truth;     // fault_injection.log says it
    std::vector<uint64_t> entries;  // by rank, as Python's own pickle reads them
  };
  const std::vector<Sample> samples = {
      {"nccl_flight_recorder_gpu_error_1st",
       {12, 14},
       {20, 20, 20, 20, 8, 8, 8, 8, 19, 19, 19, 19, 27, 16, 43, 15}},
      {"nccl_flight_recorder_lock_gil_1st",
       {9, 14},
       {11, 11, 11, 11, 11, 11, 11, 11, 9, 0, 9, 9, 9, 9, 0, 9}}};
  for (const Sample& sample : samples) {
    TestStore store;
    const IngestReport report = store.Ingest({folder + "/" + sample.name});
    size_t dumps = 0;
    for (const SourceReport& source : report.sources) {
      if (std::filesystem::path(source.path).filename() == "fault_injection.log") {
        EXPECT_EQ(source.status, SourceStatus::kNotRecognised);
        EXPECT_NE(source.message.find("not opened"), std::string::npos);
        continue;
      }
      ++dumps;
      EXPECT_EQ(source.status, SourceStatus::kIngested) << source.path << source.message;
      EXPECT_EQ(source.records, source.rows);
    }
    EXPECT_EQ(dumps, 16U);
    Strings entries;
    for (size_t i = 0; i < sample.entries.size(); ++i) {
      entries.push_back(fmt::format("{}|{}", i, sample.entries[i]));
    }
    EXPECT_EQ(store.Rows("SELECT rank, (SELECT count(*) FROM flight_entry e WHERE e.source = "
                         "d.source) FROM flight_dump d ORDER BY rank"),
              entries);
    EXPECT_EQ(store.Integer("SELECT count(*) FROM flight_group WHERE local_id IS NULL"), 0);
    const auto connection = store.store().Connect();
    const auto states = evidence::StuckRanks(**connection, "");
    ASSERT_TRUE(states);
    std::vector<int64_t> suspects;
    for (const evidence::RankState& state : *states) {
      if (!state.reasons.empty()) suspects.push_back(state.rank);
    }
    EXPECT_EQ(suspects, sample.truth) << sample.name;
  }
}

}  // namespace
}  // namespace telltale::test
