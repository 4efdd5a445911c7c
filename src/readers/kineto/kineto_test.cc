// Kineto traces written by hand: regimes of time, categories, and what real files get wrong.

#include <gtest/gtest.h>

#include "readers/kineto/parallel_parser.h"
#include "readers/kineto/trace_builder.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

class Kineto : public testing::Test {
 protected:
  SourceReport Ingest(const std::string& text, const std::string& name = "trace.json") {
    const IngestReport report = store_.Ingest({folder_.Write(name, text)});
    EXPECT_EQ(report.sources.size(), 1U);
    return report.sources.empty() ? SourceReport() : report.sources[0];
  }
  std::vector<std::string> Times() {
    return store_.Rows("SELECT name, start_ns, duration_ns FROM events ORDER BY position");
  }
  TempFolder folder_;
  TestStore store_;
};

using Strings = std::vector<std::string>;

constexpr const char* kHead = R"({"schemaVersion":1,"traceEvents":[)";
std::string Event(const std::string& name, const std::string& ts, const std::string& dur,
                  const std::string& more = "") {
  return R"({"ph":"X","cat":"cpu_op","name":")" + name + R"(","pid":1,"tid":2,"ts":)" + ts +
         R"(,"dur":)" + dur + more + "}";
}

// Which thread meets a name or a track first is chance; what they are called by is not.
TEST_F(Kineto, NumbersDoNotDependOnThreads) {
  std::string text = kHead;
  for (int i = 0; i < 3000; ++i) {
    text += fmt::format(
        R"({}{{"ph":"X","cat":"cpu_op","name":"op{}","pid":1,"tid":{},"ts":{},"dur":1}})",
        i > 0 ? "," : "", i * 7 % 41, i * 13 % 17, 1'000'000 + i);
  }
  text += "]}";
  const auto build = [&](unsigned threads) {
    const auto stream = MemoryStream(std::span(text.data(), text.size()));
    kineto::TraceSplitter splitter(*stream, 4096);
    auto parts = kineto::ParseEvents(splitter, threads, [] {});
    EXPECT_TRUE(parts);
    const kineto::BuiltTrace built =
        kineto::BuildTrace(std::move(*parts), splitter.Members(), "trace.json");
    Strings rows = built.data.names;
    for (const trace::Track& track : built.data.tracks) rows.push_back(fmt::format("{}", track.id));
    for (const uint32_t i : built.order) {
      const trace::Event& event = built.data.events[i];
      rows.push_back(fmt::format("{} {} {}", event.position, event.track, event.name));
    }
    return rows;
  };
  const Strings one = build(1);
  EXPECT_EQ(one.size(), 3000U + 41U + 17U);
  for (int round = 0; round < 5; ++round) EXPECT_EQ(build(4), one);
}

TEST_F(Kineto, WholeMicrosecondsAreAbsolute) {
  Ingest(kHead + Event("a", "1682725898236567", "68.0") + "]}");
  EXPECT_EQ(Times(), Strings{"a|1682725898236567000|68000"});
}

TEST_F(Kineto, TimesRelativeToABaseThatComesLast) {
  Ingest(kHead + Event("a", "4458676522690.655", "1.5") +
         R"(],"baseTimeNanoseconds":1711964646000000000})");
  EXPECT_EQ(Times(), Strings{"a|1716423322522690655|1500"});
}

TEST_F(Kineto, AnAbsoluteTimeBesideABaseStays) {
  Ingest(R"({"baseTimeNanoseconds":1711964646000000000,"traceEvents":[)" +
         Event("a", "1712195495406752.8", "1") + "]}");
  EXPECT_EQ(Times(), Strings{"a|1712195495406752800|1000"});
}

TEST_F(Kineto, ADeviceMayHaveTheNumberOfAProcess) {
  Ingest(
      std::string(kHead) +
      R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":0,"tid":7,"ts":1,"dur":2,"args":{"correlation":5}},
            {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":2,"args":{"correlation":5,"grid":[1,2,3],"block":[4,5,6],"registers per thread":7,"shared memory":8}}]})");
  EXPECT_EQ(store_.Rows(
                "SELECT kind, device, stream, thread, parent_basis FROM events ORDER BY position"),
            (Strings{"runtime|-|-|7|-", "kernel|0|7|-|correlation"}));
  EXPECT_EQ(store_.Rows("SELECT * EXCLUDE (event) FROM kernel_launches"),
            Strings{"1|2|3|4|5|6|7|8|-"});
}

TEST_F(Kineto, BeginAndEndAreOneEvent) {
  const SourceReport report = Ingest(
      R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":10},{"ph":"B","name":"b","pid":1,"tid":1,"ts":11},
          {"ph":"E","pid":1,"tid":1,"ts":12},{"ph":"E","pid":1,"tid":1,"ts":20},{"ph":"E","pid":1,"tid":1,"ts":21}])");
  EXPECT_EQ(store_.Rows("SELECT name, start_ns, duration_ns FROM events ORDER BY start_ns"),
            (Strings{"a|10000|10000", "b|11000|1000"}));
  EXPECT_EQ(report.records, 5U);
  EXPECT_EQ(store_.Lost("unmatched_edge"), 1);
}

TEST_F(Kineto, ArgumentsOfEdgesAreNotLost) {
  const SourceReport report = Ingest(
      R"([{"ph":"B","cat":"cpu_op","name":"nccl:all_reduce","pid":1,"tid":1,"ts":10,"args":{"External id":5,"Collective name":"allreduce","Group size":8}},
          {"ph":"B","cat":"cpu_op","name":"lost","pid":1,"tid":2,"ts":10,"args":{"External id":6,"Collective name":"x"}},
          {"ph":"B","cat":"cpu_op","name":"b","pid":1,"tid":1,"ts":11},
          {"ph":"E","pid":1,"tid":1,"ts":12,"args":{"External id":7.0}},{"ph":"E","pid":1,"tid":1,"ts":20}])");
  EXPECT_EQ(
      store_.Rows("SELECT name, kind, duration_ns, external_id FROM events ORDER BY start_ns"),
      (Strings{"nccl:all_reduce|communication|10000|5", "b|operator|1000|7"}));
  EXPECT_EQ(
      store_.Rows(
          "SELECT e.name, c.collective, c.group_size FROM events e JOIN communication_event c "
          "ON c.event = e.event"),
      Strings{"nccl:all_reduce|allreduce|8"});
  EXPECT_EQ(report.records, 5U);
  EXPECT_EQ(store_.Lost("unmatched_edge"), 1);
}

TEST_F(Kineto, AnEndNeedNotSayItsCategory) {
  Ingest(
      R"([{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1},{"ph":"E","pid":0,"tid":7,"ts":9}])");
  EXPECT_EQ(store_.Rows("SELECT name, kind, stream, duration_ns FROM events"),
            Strings{"k|kernel|7|8000"});
  EXPECT_EQ(store_.Lost("unmatched_edge"), 0);
}

TEST_F(Kineto, APairThatIsLostIsTwoRecords) {
  const SourceReport report = Ingest(
      R"({"baseTimeNanoseconds":4600000000000000000,"traceEvents":[{"ph":"B","cat":"cpu_op","name":"r","pid":1,"tid":1,"ts":90000000000000},{"ph":"E","pid":1,"tid":1,"ts":90000000000001}]})");
  EXPECT_EQ(report.records, 2U);
  EXPECT_EQ(report.rows, 0U);
  EXPECT_EQ(store_.Lost("invalid_time"), 2);
}

TEST_F(Kineto, ACounterOfManyValuesIsOneRecord) {
  const SourceReport report = Ingest(
      R"({"baseTimeNanoseconds":4600000000000000000,"traceEvents":[{"ph":"C","name":"memory","pid":1,"tid":1,"ts":90000000000000,"args":{"a":1,"b":2,"c":3}}]})");
  EXPECT_EQ(report.records, 1U);
  EXPECT_EQ(report.rows, 0U);
  EXPECT_EQ(store_.Lost("invalid_time"), 1);
}

TEST_F(Kineto, RealNumbersThatAreWholeAreNumbers) {
  Ingest(
      R"({"traceEvents":[{"ph":"X","cat":"cuda_runtime","name":"launch","pid":1.0,"tid":5.0,"ts":1,"dur":2,"args":{"correlation":5.0}},
      {"ph":"X","cat":"cpu_op","name":"op","pid":1,"tid":5,"ts":0,"dur":9},
      {"ph":"M","name":"thread_name","pid":1.0,"tid":5.0,"ts":0,"args":{"name":"main"}},
      {"ph":"X","cat":"kernel","name":"k","pid":0.0,"tid":7.0,"ts":2,"dur":2,"args":{"correlation":5.0,"grid":[1.0,2.0,3e0],"block":[4.0,1,1],"registers per thread":40.0,"shared memory":16.0}}]})");
  EXPECT_EQ(store_.Rows(
                "SELECT kind, device, stream, thread, parent_basis FROM events ORDER BY start_ns"),
            (Strings{"operator|-|-|5|-", "runtime|-|-|5|nesting", "kernel|0|7|-|correlation"}));
  EXPECT_EQ(store_.Rows("SELECT * EXCLUDE (event) FROM kernel_launches"),
            Strings{"1|2|3|4|1|1|40|16|-"});
  EXPECT_EQ(store_.Rows("SELECT name FROM track WHERE name IS NOT NULL"), Strings{"main"});
}

TEST_F(Kineto, AnEdgePairOfALifetimeIsLost) {
  const SourceReport report = Ingest(
      R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":-4e15},{"ph":"E","pid":1,"tid":1,"ts":4e15},
          {"ph":"X","name":"x","pid":1,"tid":1,"ts":1,"dur":1}])");
  EXPECT_EQ(Times(), Strings{"x|1000|1000"});
  EXPECT_EQ(report.records, 3U);
  EXPECT_EQ(store_.Lost("invalid_time"), 2);
}

TEST_F(Kineto, AWholeNumberMayBeWrittenAsAReal) {
  Ingest(kHead + Event("a", "1.5", "1", R"(,"args":{"External id":5.0})") +
         R"(],"baseTimeNanoseconds":1711964646000000000.0})");
  EXPECT_EQ(store_.Rows("SELECT start_ns, external_id FROM events"),
            Strings{"1711964646000001500|5"});
  EXPECT_EQ(store_.Lost("invalid_base_time"), 0);
}

TEST_F(Kineto, ATimeBaseThatCannotBeReadIsSaid) {
  Ingest(kHead + Event("a", "1.5", "1") + R"(],"baseTimeNanoseconds":"yesterday"})");
  EXPECT_EQ(Times(), Strings{"a|1500|1000"});
  EXPECT_EQ(store_.Lost("invalid_base_time"), 1);
}

TEST_F(Kineto, AnOddGridCostsNoEvent) {
  const SourceReport report = Ingest(
      std::string(kHead) +
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":2,"args":{"correlation":5,"grid":[1,[2],3],"block":"all"}}]})");
  EXPECT_EQ(report.records, 1U);
  EXPECT_EQ(Times(), Strings{"k|2000|2000"});
}

// One range begins when another ends, and stands before that end in the file.
TEST_F(Kineto, NamesTellEdgesOfOneTimeApart) {
  Ingest(
      R"([{"ph":"B","name":"a","pid":1,"tid":1,"ts":10},{"ph":"B","name":"b","pid":1,"tid":1,"ts":20},
          {"ph":"E","name":"a","pid":1,"tid":1,"ts":20},{"ph":"E","name":"b","pid":1,"tid":1,"ts":30}])");
  EXPECT_EQ(store_.Rows("SELECT name, start_ns, duration_ns FROM events ORDER BY start_ns"),
            (Strings{"a|10000|10000", "b|20000|10000"}));
}

TEST_F(Kineto, WhatIsWrongIsCountedAndNothingElseIsLost) {
  const SourceReport report = Ingest(
      std::string(kHead) + Event("ok", "1", "2") + "," + Event("nan", "NaN", "2") + "," +
      Event("minus", "1", "-2") + R"(,{"ph":"X","name":"no time"},{"name":"no phase","ts":1},)" +
      R"({"ph":"Q","ts":1},[1,2],)" +
      Event("odd", "3", "4", R"(,"args":{"a":NaN,"b":[{}],"correlation":N/A})") + "," +
      Event("far", "9223372036854775807", "1") + ",]}");
  EXPECT_EQ(Times(), (Strings{"ok|1000|2000", "odd|3000|4000"}));
  EXPECT_EQ(report.records, 9U);
  EXPECT_EQ(report.rows, 2U);
  EXPECT_EQ(store_.Lost("invalid_time"), 3);
  EXPECT_EQ(store_.Lost("missing_field"), 2);
  EXPECT_EQ(store_.Lost("unknown_phase"), 1);
  EXPECT_EQ(store_.Lost("invalid_event"), 1);
}

// Two misplaced quotation marks make one element of all between them.
TEST_F(Kineto, EventsBetweenTwoBrokenOnesAreKept) {
  const size_t kEvents = 40;
  for (const auto& [first, second] :
       {std::pair<size_t, size_t>{10, 15}, {10, 11}, {0, 39}, {0, 1}, {38, 39}}) {
    std::string text = kHead;
    for (size_t i = 0; i < kEvents; ++i) {
      const std::string name = "op" + std::to_string(i);
      const bool is_broken = i == first || i == second;
      text += (i > 0 ? ", " : "") +
              Event(is_broken ? "C:\"" + name : name, std::to_string(1'000'000 + i), "1",
                    R"(,"args":{"Input Dims":[[1,2],[]],"fn":"{lambda()#1}"})");
    }
    TestStore store;
    const IngestReport report =
        store.Ingest({folder_.Write(fmt::format("{}-{}.json", first, second), text + "]}")});
    EXPECT_EQ(store.Rows("SELECT count(*), count(DISTINCT name) FROM events"), Strings{"38|38"});
    EXPECT_EQ(store.Rows("SELECT kind, class, count, first_position FROM ingest_loss"),
              Strings{fmt::format("invalid_event|line|2|{}", first)});
    EXPECT_EQ(report.sources[0].records, kEvents);
  }
}

TEST_F(Kineto, ABareArrayMayStandBehindAByteOrderMark) {
  Ingest("\xef\xbb\xbf[" + Event("a", "1", "2") + "]");
  EXPECT_EQ(Times(), Strings{"a|1000|2000"});
}

TEST_F(Kineto, TwoBrokenEventsAreNotOne) {
  Ingest(kHead + Event("a", "1", "2") +
         R"(,{"name":"c","pid":3,"tid":7,"ts":1,"dur":1,"ph":X"},)"
         R"({name":"d","pid":3,"tid":7,"ts":3,"dur":1,"ph":"X"},)" +
         Event("b", "5", "2") + "]}");
  EXPECT_EQ(Times(), (Strings{"a|1000|2000", "b|5000|2000"}));
  EXPECT_EQ(store_.Lost("invalid_event"), 1);
}

TEST_F(Kineto, ACutFileKeepsItsWholeEvents) {
  const SourceReport report =
      Ingest(kHead + Event("a", "1", "2") + "," + Event("b", "3", "4") + R"(,{"ph":"X","na)");
  EXPECT_EQ(Times().size(), 2U);
  EXPECT_EQ(report.records, 3U);
  EXPECT_EQ(store_.Lost("cut_last_event"), 1);
  EXPECT_EQ(store_.Lost("cut_file"), 1);
}

TEST_F(Kineto, NamesKeepTheirCharacters) {
  Ingest(kHead + Event(R"(a\"b\\c\u00e9\n)", "1", "1") + "," + Event("bad \xff utf8", "2", "1") +
         "]}");
  EXPECT_EQ(store_.Rows("SELECT name FROM events ORDER BY position"),
            (Strings{"a\"b\\c\u00e9\n", "bad \\xff utf8"}));
}

TEST_F(Kineto, TheSameEventTwiceIsOne) {
  const std::string event = Event("a", "1", "2", R"(,"args":{"External id":5})");
  const std::string without_id = Event("b", "1", "2");
  Ingest(kHead + event + "," + event + "," + without_id + "," + without_id + "]}");
  EXPECT_EQ(Times().size(), 3U);
  EXPECT_EQ(store_.Lost("duplicate_event"), 1);
}

TEST_F(Kineto, RankComesFromTheFileAndHostFromItsName) {
  Ingest(R"({"distributedInfo":{"backend":"nccl","rank":3,"world_size":8},"traceEvents":[)" +
             Event("a", "1", "2") +
             R"(,{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"python"}}]})",
         "gpu-node_77.1700000000.pt.trace.json");
  EXPECT_EQ(store_.Rows("SELECT host, pid, name, rank, world_size FROM trace_process"),
            Strings{"gpu-node|1|python|3|8"});
}

TEST_F(Kineto, CountersAndFlowsAreRows) {
  Ingest(std::string(kHead) + Event("a", "1", "2") +
         R"(,{"ph":"C","name":"power","pid":1,"tid":2,"ts":3,"args":{"value":1.5,"limit":2}},)" +
         R"({"ph":"s","id":9,"cat":"ac2g","name":"ac2g","pid":1,"tid":2,"ts":1},)" +
         R"({"ph":"f","id":9,"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":2,"bp":"e"}]})");
  EXPECT_EQ(store_.Rows("SELECT n.text, c.time_ns, c.value FROM counter_value c JOIN event_name n "
                        "USING (name) ORDER BY n.text"),
            (Strings{"power|3000|1.5", "power/limit|3000|2"}));
  EXPECT_EQ(store_.Rows("SELECT id, phase, time_ns FROM flow_point ORDER BY phase"),
            (Strings{"9|0|1000", "9|2|2000"}));
}

TEST_F(Kineto, TextBehindTheTraceIsSaid) {
  const std::string trace = kHead + Event("a", "1", "2") + "]}";
  Ingest(trace + "\n" + trace);
  EXPECT_EQ(Times().size(), 1U);
  EXPECT_EQ(store_.Lost("text_behind_trace"), 1);
  TestStore other;
  other.Ingest({folder_.Write("alone.json", "\xef\xbb\xbf" + trace + " \n")});
  EXPECT_EQ(other.Integer("SELECT count(*) FROM event"), 1);
  EXPECT_EQ(other.Integer("SELECT count(*) FROM ingest_loss"), 0);
}

TEST_F(Kineto, TimesThatMakeNoSenseAreLost) {
  const SourceReport report = Ingest(
      kHead + Event("a", "9000000000000000", "1") + "," + Event("b", "-9000000000000000", "1") +
      "," + Event("c", "1", "9100000000000") + "," + Event("d", "1", "1") +
      R"(,{"ph":"C","name":"c","pid":1,"ts":1,"args":{"value":NaN}}]})");
  EXPECT_EQ(Times(), Strings{"d|1000|1000"});
  EXPECT_EQ(store_.Lost("invalid_time"), 3);
  EXPECT_EQ(store_.Lost("missing_field"), 1);
  EXPECT_EQ(report.rows, 1U);
}

TEST_F(Kineto, NestingAsDeepAsCanBe) {
  std::string text = std::string(kHead) + R"({"ph":"X","name":"a","ts":1,"dur":1,"args":)";
  text +=
      std::string(100'000, '[') + std::string(100'000, ']') + "}," + Event("b", "1", "1") + "]}";
  EXPECT_EQ(Ingest(text).rows, 2U);
}

TEST_F(Kineto, SecretsInMetadataStayOutside) {
  Ingest(R"({"metadata":{"env":{"HF_TOKEN":"hf_secret"}},"traceEvents":[)" + Event("a", "1", "2") +
         "]}");
  for (const std::string& row : store_.Dump()) {
    EXPECT_EQ(row.find("hf_secret"), std::string::npos) << row;
  }
}

TEST_F(Kineto, AgainChangesNothingAndGrownFilesAreReplaced) {
  const std::string first = kHead + Event("a", "1", "2");
  const std::string path = folder_.Write("grown.json", first);
  store_.Ingest({path});
  store_.Ingest({path});
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM event"), 1);
  folder_.Write("grown.json", first + "," + Event("b", "3", "1") + "]}");
  store_.Ingest({path});
  EXPECT_EQ(store_.Rows("SELECT name FROM events ORDER BY start_ns"), (Strings{"a", "b"}));
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM event_name"), 2);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM source"), 1);
}

}  // namespace
}  // namespace telltale::test
