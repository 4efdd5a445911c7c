// Formats v4.1 to v4.4: whose a line without header is, and what was announced but did not come. A
// record must never be given to the wrong communicator.

#include "readers/nccl_inspector/marker_context.h"

#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using namespace nccl_inspector;

InspectorLine LineOf(const char* name, const char* version = "v4.3") {
  InspectorLine line;
  line.version = version;
  line.name = name;
  line.id = fmt::format("0x{}", name);
  line.algorithm = "RING";
  line.protocol = "SIMPLE";
  return line;
}

InspectorLine P2p(InspectorLine line) {
  line.is_p2p = true;
  line.operation = "Send";
  line.algorithm.reset();
  line.protocol.reset();
  return line;
}

std::string Payloads(InspectorLine line, uint64_t count) {
  std::string bytes;
  for (uint64_t i = 0; i < count; ++i, ++line.sequence) bytes += line.Payload();
  return bytes;
}

// How many records each communicator got, by name.
std::map<std::string, uint64_t> RecordsByName(const SourceData& data) {
  std::map<std::string, uint64_t> records;
  const auto name_of = [&](const Series& series) {
    return data.communicator_ranks[series.key.communicator_rank].name.value_or("");
  };
  for (const Series& series : data.series) records[name_of(series)] += series.records.size();
  for (const IrregularRecord& record : data.irregular)
    ++records[name_of(data.series[record.series])];
  for (const ProxyOp& op : data.proxy_ops) {
    ++records["proxy " + data.communicator_ranks[op.communicator_rank].name.value_or("")];
  }
  return records;
}
using Counts = std::map<std::string, uint64_t>;

SourceData Read(std::string_view bytes) {
  Parsed parsed = Parse(bytes);
  EXPECT_TRUE(SameText(TextOf(parsed.data), TextOf(Parse(bytes, false).data)));
  EXPECT_EQ(parsed.data.lines, LinesOf(bytes).size());
  EXPECT_EQ(parsed.data.lines, parsed.data.rows + LineLossesOf(parsed.data));
  return std::move(parsed.data);
}

const InspectorLine kA = LineOf("A");
const InspectorLine kB = LineOf("B");

TEST(MarkerContext, BatchesOfTwoCommunicators) {
  std::string bytes;
  for (int dump = 0; dump < 10; ++dump) {
    bytes += kA.Marker(3, 2) + Payloads(kA, 3) + Payloads(P2p(kA), 2);
    bytes += kB.Marker(4) + Payloads(kB, 4);
  }
  const Parsed parsed = Parse(bytes);
  EXPECT_GT(parsed.fast_lines, 40U);
  const SourceData data = Read(bytes);
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 50}, {"B", 40}}));
  EXPECT_EQ(data.dump_stats.size(), 20U);
  EXPECT_EQ(data.rows, 110U);
  EXPECT_TRUE(data.losses.empty());
}

// The time of a headerless record is that of its marker.
TEST(MarkerContext, TimeOfTheMarker) {
  InspectorLine line = kA;
  std::string bytes;
  for (uint64_t dump = 0; dump < 5; ++dump) {
    line.dump_timestamp_us = 1'700'000'000'000'000 + 1000 * dump;
    bytes += line.Marker(8) + Payloads(kA, 8);
  }
  const SourceData data = Read(bytes);
  const std::vector<Record>& records = data.series.at(0).records;
  ASSERT_EQ(records.size(), 40U);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_EQ(records[i].dump_timestamp_us,
              1'700'000'000'000'000 + 1000 * static_cast<int64_t>(i / 8));
  }
}

TEST(MarkerContext, RecordsBeforeAnyMarker) {
  const SourceData data = Read(Payloads(kA, 3) + kB.Marker(1) + Payloads(kB, 1));
  EXPECT_EQ(RecordsByName(data), (Counts{{"B", 1}}));
  EXPECT_EQ(LossesOf(data, "no_marker"), 3U);
}

TEST(MarkerContext, LostMarker) {
  // B's marker is not there: its lines must not become A's.
  const std::string a = kA.Marker(12) + Payloads(kA, 12);
  const SourceData data = Read(a + Payloads(kB, 5) + a);
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 24}}));
  EXPECT_EQ(LossesOf(data, "no_marker"), 5U);
}

TEST(MarkerContext, MoreThanAnnounced) {
  const SourceData data = Read(kA.Marker(2) + Payloads(kA, 20));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 2}}));
  EXPECT_EQ(LossesOf(data, "no_marker"), 18U);
}

TEST(MarkerContext, OtherKindThanAnnounced) {
  const SourceData data = Read(kA.Marker(2, 1) + Payloads(P2p(kA), 3) + Payloads(kA, 2));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 3}}));
  EXPECT_EQ(LossesOf(data, "no_marker"), 2U);
}

TEST(MarkerContext, FewerThanAnnounced) {
  SourceData data = Read(kA.Marker(5) + Payloads(kA, 3));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 3}}));
  EXPECT_EQ(LossesOf(data, "incomplete_dump"), 2U);
  data = Read(kA.Marker(5, 4) + Payloads(kA, 3) + kB.Marker(1) + Payloads(kB, 1));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 3}, {"B", 1}}));
  EXPECT_EQ(LossesOf(data, "incomplete_dump"), 6U);
  ASSERT_EQ(data.losses.size(), 1U);
  EXPECT_EQ(data.communicator_ranks[*data.losses[0].communicator_rank].name, "A");
  // A marker that announces nothing is normal.
  EXPECT_TRUE(Read(kA.Marker(0) + kB.Marker(0)).losses.empty());
}

TEST(MarkerContext, InvalidLineInsideABatch) {
  for (const char* broken : {"{\"coll_perf\":{\"coll\":\"AllRe\n", "\x01\n", "{}\n",
                             "{\"coll_perf\":{\"coll\":\"AllReduce\"}}\n"}) {
    SCOPED_TRACE(broken);
    const SourceData data = Read(kA.Marker(5) + Payloads(kA, 2) + broken + Payloads(kA, 2) +
                                 kB.Marker(1) + Payloads(kB, 1));
    EXPECT_EQ(RecordsByName(data), (Counts{{"A", 4}, {"B", 1}}));
    EXPECT_EQ(LineLossesOf(data), 1U);
    // The broken line was one of the five.
    EXPECT_EQ(LossesOf(data, "incomplete_dump"), 0U);
    EXPECT_EQ(LossesOf(data, "no_marker"), 0U);
  }
  // After it, no more than were announced.
  const SourceData data = Read(kA.Marker(3) + Payloads(kA, 1) + "broken\n" + Payloads(kA, 5));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 2}}));
  EXPECT_EQ(LossesOf(data, "no_marker"), 4U);
}

TEST(MarkerContext, BlankLineInsideABatch) {
  const SourceData data = Read(kA.Marker(2) + Payloads(kA, 1) + "\n" + Payloads(kA, 1));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 2}}));
  EXPECT_EQ(LossesOf(data, "blank_line"), 1U);
}

// A writer that fails inside a batch leaves the rest of it out, and the next marker may stand
// behind the broken half line: what follows is B's, not A's.
TEST(MarkerContext, MarkerBehindABrokenLine) {
  const std::string half = "{\"coll_perf\":{\"coll\":\"AllReduce\",\"coll_sn\":";
  const SourceData data = Read(kA.Marker(9) + Payloads(kA, 2) + half + kB.Marker(3) +
                               Payloads(kB, 3) + kA.Marker(1) + Payloads(kA, 1));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 3}}));
  EXPECT_EQ(LossesOf(data, "invalid_json"), 1U);
  EXPECT_EQ(LossesOf(data, "no_marker"), 3U);
}

// A marker that cannot be used announces nothing, and ends what was announced before it.
TEST(MarkerContext, MarkersThatCannotBeUsed) {
  const std::string marker = kB.Marker(3);
  const std::string bad[] = {
      Replaced(marker, R"("coll_records":3)", R"("coll_records":-3)"),
      Replaced(marker, R"("coll_records":3)", R"("coll_records":"3")"),
      Replaced(marker, R"("rank":0)", R"("rank":"0")"),
      Replaced(marker, R"("rank":0,)", ""),
      Replaced(marker, R"("pid":100)", R"("pid":-1)"),
      Replaced(marker, "{" + kB.Header() + ",", "{"),
      Replaced(marker, R"("dump_stats":{)", R"("dump_stats":[],"x":{)"),
      Replaced(marker, R"("dump_stats")", R"("coll_perf":{},"dump_stats")"),
      Replaced(marker, R"("coll_records":3)",
               R"("coll_records":3)"
               "\x02"),
  };
  for (const std::string& broken : bad) {
    SCOPED_TRACE(broken);
    const SourceData data = Read(kA.Marker(7) + Payloads(kA, 2) + broken + Payloads(kB, 3) +
                                 kA.Marker(1) + Payloads(kA, 1));
    EXPECT_EQ(RecordsByName(data), (Counts{{"A", 3}}));
    EXPECT_EQ(LineLossesOf(data), 4U);
    EXPECT_EQ(LossesOf(data, "no_marker"), 3U);
    EXPECT_EQ(LossesOf(data, "incomplete_dump"), 5U);
    EXPECT_EQ(data.dump_stats.size(), 2U);
  }
}

// v4.1 and v4.2: markers, and a header on every line.
TEST(MarkerContext, HeadersOnEveryLine) {
  for (const char* version : {"v4.1", "v4.2", "v4.3"}) {  // also the early v4.3
    SCOPED_TRACE(version);
    InspectorLine a = LineOf("A", version);
    InspectorLine b = LineOf("B", version);
    std::string bytes;
    for (int dump = 0; dump < 8; ++dump) {
      bytes += a.Marker(2, 1) + a.Text() + a.Text() + P2p(a).Text() + b.Marker(1) + b.Text();
    }
    const SourceData data = Read(bytes);
    EXPECT_EQ(RecordsByName(data), (Counts{{"A", 24}, {"B", 8}}));
    EXPECT_TRUE(data.losses.empty());
  }
}

// Files of a format without markers need none, and a later part of the file may have another
// version.
TEST(MarkerContext, VersionsMixedInOneFile) {
  InspectorLine old = LineOf("old", "v4.0");
  old.algorithm.reset();
  old.protocol.reset();
  std::string bytes;
  for (int i = 0; i < 5; ++i) bytes += old.Text();
  bytes += kA.Marker(5) + Payloads(kA, 5);
  for (int i = 0; i < 5; ++i) bytes += old.Text();
  const SourceData data = Read(bytes);
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 5}, {"old", 10}}));
  EXPECT_TRUE(data.losses.empty());
}

TEST(MarkerContext, CountersOfAMarker) {
  const SourceData data = Read(Replaced(
      kA.Marker(1, 2,
                R"(,"proxy_records":3,"proxy_dropped_total":4,"proxy_dropped_since_last_dump":5,)"
                R"("proxy_ops_dropped_total":6,"proxy_ops_dropped_since_last_dump":7,)"
                R"("proxy_steps_overwritten_total":8,"proxy_steps_overwritten_since_last_dump":9,)"
                R"("proxy_output_mode":"nested","proxy_segment_step_capacity":10,)"
                R"("proxy_pxn_skipped_process_total":11,"proxy_steps_enabled":12,"new":13)"),
      R"("coll_dropped_total":0)", R"("coll_dropped_total":18446744073709551615)"));
  ASSERT_EQ(data.dump_stats.size(), 1U);
  const DumpStats& stats = data.dump_stats[0];
  const std::array<std::optional<uint64_t>, kDumpStatsKeys.size()> expected = {
      1, 18446744073709551615U, 0, 2, 0, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  EXPECT_EQ(stats.counters, expected);
  EXPECT_EQ(stats.proxy_output_mode, "nested");
  EXPECT_EQ(stats.dump_timestamp_us, 1'700'000'000'000'000U);
  EXPECT_EQ(stats.line, 1U);
  EXPECT_EQ(LossesOf(data, "unknown_key"), 1U);
  EXPECT_EQ(LossesOf(data, "incomplete_dump"), 6U);
  // Without proxy, its counters are not there.
  const DumpStats plain = Read(kA.Marker(0)).dump_stats.at(0);
  EXPECT_EQ(plain.counters[kP2pRecords], 0U);
  EXPECT_EQ(plain.counters[kProxyRecords], std::nullopt);
  EXPECT_EQ(plain.proxy_output_mode, std::nullopt);
}

// Announcements that cannot be true are no reason to give up or to count past the end of numbers.
TEST(MarkerContext, EndlessAnnouncement) {
  const SourceData data =
      Read(kA.Marker(18446744073709551615U, 18446744073709551615U) + Payloads(kA, 20));
  EXPECT_EQ(RecordsByName(data), (Counts{{"A", 20}}));
  EXPECT_EQ(data.rows, 21U);
}

}  // namespace
}  // namespace telltale::test
