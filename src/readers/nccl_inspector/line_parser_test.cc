// The oddities of Inspector lines, each with a fixture of its own. What one line becomes; marker
// rules and proxy records have their own files.

#include "readers/nccl_inspector/line_parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using namespace nccl_inspector;

uint64_t RecordsOf(const SourceData& data) {
  uint64_t records = data.irregular.size();
  for (const Series& series : data.series) records += series.records.size();
  return records;
}

// Parses with both paths, which must agree, and holds rows + losses against the lines.
SourceData Read(std::string_view bytes) {
  Parsed parsed = Parse(bytes);
  EXPECT_TRUE(SameText(TextOf(parsed.data), TextOf(Parse(bytes, false).data)));
  EXPECT_EQ(parsed.data.lines, LinesOf(bytes).size());
  EXPECT_EQ(parsed.data.lines, parsed.data.rows + LineLossesOf(parsed.data));
  return std::move(parsed.data);
}

// The kind of loss of a line that stands between two good ones; "" when it is a row.
std::string LossOf(const std::string& line) {
  InspectorLine before, after;
  after.sequence = 2;
  const SourceData data = Read(before.Text() + line + after.Text());
  EXPECT_EQ(data.lines, 3U);
  std::string kinds;
  for (const Loss& loss : data.losses) {
    if (loss.kind->loss_class != LossClass::kLine) continue;
    kinds += loss.kind->name;
    EXPECT_EQ(loss.count, 1U);
    EXPECT_EQ(loss.first_position, 2U);
  }
  EXPECT_EQ(data.rows, kinds.empty() ? 3U : 2U);
  // A line that is not a row leaves no rank and no record behind.
  if (!kinds.empty()) {
    EXPECT_EQ(data.communicator_ranks.size(), 1U);
    EXPECT_EQ(data.series.size(), 1U);
    EXPECT_EQ(RecordsOf(data), 2U);
  }
  return kinds;
}

TEST(LineParser, RegularRecord) {
  InspectorLine line;
  line.sequence = 7;
  const SourceData data = Read(line.Text());
  ASSERT_EQ(data.series.size(), 1U);
  ASSERT_EQ(data.series[0].records.size(), 1U);
  const Record& record = data.series[0].records[0];
  EXPECT_EQ(record.sequence, 7U);
  EXPECT_EQ(record.exec_time_us, 100U);
  EXPECT_EQ(record.line, 1U);
  EXPECT_EQ(record.dump_timestamp_us, 1'700'000'000'000'000);
  EXPECT_TRUE(data.irregular.empty());
  EXPECT_TRUE(data.losses.empty());
}

TEST(LineParser, CutLastLine) {
  const std::string line = InspectorLine().Text();
  for (const size_t length : {size_t{1}, size_t{2}, size_t{30}, line.size() / 2, line.size() - 2}) {
    const SourceData data = Read(line + line.substr(0, length));
    EXPECT_EQ(data.rows, 1U) << length;
    EXPECT_EQ(LossesOf(data, "cut_last_line"), 1U) << length;
    EXPECT_EQ(LineLossesOf(data), 1U) << length;
  }
}

TEST(LineParser, WholeLastLineWithoutNewline) {
  const std::string line = InspectorLine().Text();
  const SourceData data = Read(line + line.substr(0, line.size() - 1));
  EXPECT_EQ(data.rows, 2U);
  EXPECT_TRUE(data.losses.empty());
}

TEST(LineParser, InvalidJson) {
  const std::string line = InspectorLine().Text();
  EXPECT_EQ(LossOf(line), "");
  EXPECT_EQ(LossOf(line.substr(0, 200) + "\n"), "invalid_json");
  EXPECT_EQ(LossOf("garbage\n"), "invalid_json");
  EXPECT_EQ(LossOf(std::string("\0\0\0\0", 4) + "\n"), "invalid_json");
  EXPECT_EQ(LossOf(Replaced(line, "WORLD", "WO\x01RLD")), "invalid_json");
  EXPECT_EQ(LossOf(Replaced(line, "WORLD", "WO\xff\xfeRLD")), "invalid_json");
  EXPECT_EQ(LossOf(Replaced(line, "WORLD", "WO\"RLD")), "invalid_json");
  EXPECT_EQ(LossOf(Replaced(line, "\"WORLD\"", "")), "invalid_json");
  EXPECT_EQ(LossOf(line.substr(0, line.size() - 1) + line), "invalid_json");
  EXPECT_EQ(LossOf(std::string(5000, '[') + "\n"), "invalid_json");
}

TEST(LineParser, UnknownRecord) {
  const InspectorLine line;
  EXPECT_EQ(LossOf("{}\n"), "unknown_record");
  EXPECT_EQ(LossOf("[1,2]\n"), "unknown_record");
  EXPECT_EQ(LossOf("17\n"), "unknown_record");
  EXPECT_EQ(LossOf("null\n"), "unknown_record");
  EXPECT_EQ(LossOf("{" + line.Header() + "}\n"), "unknown_record");
  EXPECT_EQ(LossOf("{" + line.Header() +
                   R"(,"proxy_event":{"type":"x"}})"
                   "\n"),
            "unknown_record");
  InspectorLine p2p = line;
  p2p.is_p2p = true;
  EXPECT_EQ(LossOf("{" + line.Header() + "," + line.Perf() + "," + p2p.Perf() + "}\n"),
            "unknown_record");
  EXPECT_EQ(LossOf("{" + line.Header() + "," + line.Perf() + "," + line.Perf() + "}\n"),
            "unknown_record");
}

TEST(LineParser, BlankLines) {
  const std::string line = InspectorLine().Text();
  const SourceData data = Read("\n" + line + "   \n\t\r\n" + line + "\n");
  EXPECT_EQ(data.lines, 6U);
  EXPECT_EQ(data.rows, 2U);
  EXPECT_EQ(LossesOf(data, "blank_line"), 4U);
  EXPECT_EQ(data.series[0].records[1].line, 5U);
}

TEST(LineParser, WindowsLineEnds) {
  InspectorLine line;
  std::string unix_text, windows_text;
  for (line.sequence = 0; line.sequence < 20; ++line.sequence) {
    const std::string text = line.Text();
    unix_text += text;
    windows_text += text.substr(0, text.size() - 1) + "\r\n";
  }
  EXPECT_TRUE(SameText(TextOf(Read(windows_text)), TextOf(Read(unix_text))));
}

TEST(LineParser, LineOfTwentyMegabytes) {
  InspectorLine line;
  const std::string first = line.Text();
  line.sequence = 1;
  const std::string name(20 << 20, 'x');
  for (const size_t window : {size_t{1} << 20, size_t{64} << 10}) {
    const std::string bytes = first + Replaced(first, "WORLD", name) + line.Text();
    const SourceData data = Parse(bytes, true, window).data;
    EXPECT_EQ(data.lines, 3U);
    EXPECT_EQ(data.rows, 2U);
    EXPECT_EQ(LossesOf(data, "line_too_long"), 1U);
    EXPECT_EQ(data.losses.at(0).first_position, 2U);
    ASSERT_EQ(data.series.size(), 1U);
    EXPECT_EQ(data.series[0].records.back().line, 3U);
    EXPECT_EQ(data.series[0].records.back().sequence, 1U);
  }
  // Also as the last line, without an end.
  const SourceData data = Parse(first + std::string(20 << 20, '{'), true, 1 << 20).data;
  EXPECT_EQ(data.lines, 2U);
  EXPECT_EQ(LossesOf(data, "line_too_long"), 1U);
}

TEST(LineParser, CommunicatorNames) {
  const auto name_of = [](std::optional<std::string> name) {
    InspectorLine line;
    line.name = std::move(name);
    std::string bytes;
    for (line.sequence = 0; line.sequence < 20; ++line.sequence) bytes += line.Text();
    const Parsed parsed = Parse(bytes);
    EXPECT_GT(parsed.fast_lines, 5U);
    const SourceData data = Read(bytes);
    EXPECT_EQ(data.rows, 20U);
    EXPECT_EQ(data.communicator_ranks.size(), 1U);
    return data.communicator_ranks.at(0).name;
  };
  EXPECT_EQ(name_of(std::nullopt), std::nullopt);
  EXPECT_EQ(name_of(""), "");
  EXPECT_EQ(name_of("unknown"), "unknown");
  EXPECT_EQ(name_of(R"(PP\/DP Rail 0)"), "PP/DP Rail 0");
  EXPECT_EQ(name_of(R"(a\"b\\c)"), R"(a"b\c)");
  EXPECT_EQ(name_of(R"(caf\u00e9 \ud83d\ude00)"), "caf\xc3\xa9 \xf0\x9f\x98\x80");
  EXPECT_EQ(name_of("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(name_of(R"(x\\)"), R"(x\)");
}

// The same name written in two ways is one communicator; a missing name is not an empty one.
TEST(LineParser, NamesAreComparedDecoded) {
  InspectorLine a, b, missing, empty;
  a.name = "a/b";
  b.name = R"(a\/b)";
  missing.name = std::nullopt;
  empty.name = "";
  EXPECT_EQ(Read(a.Text() + b.Text()).communicator_ranks.size(), 1U);
  EXPECT_EQ(Read(missing.Text() + empty.Text()).communicator_ranks.size(), 2U);
}

// Parts of a key must not run together: id "a", name "bc" is not id "ab", name "c".
TEST(LineParser, RanksThatDifferInOneThing) {
  std::string bytes;
  const auto add = [&](const std::function<void(InspectorLine&)>& change) {
    InspectorLine line;
    line.n_ranks = 64;
    line.id = "a";
    line.name = "bc";
    change(line);
    bytes += line.Text();
  };
  add([](InspectorLine&) {});
  add([](InspectorLine& line) { line.id = "ab", line.name = "c"; });
  add([](InspectorLine& line) { line.rank = 1; });
  add([](InspectorLine& line) { line.n_ranks = 65; });
  add([](InspectorLine& line) { line.nnodes = 2; });
  add([](InspectorLine& line) { line.host = "node2"; });
  add([](InspectorLine& line) { line.pid = 101; });
  add([](InspectorLine& line) { line.version = "v4.1"; });
  EXPECT_EQ(Read(bytes).communicator_ranks.size(), 8U);
}

TEST(LineParser, SeriesThatDifferInOneThing) {
  std::string bytes;
  const auto add = [&](const std::function<void(InspectorLine&)>& change) {
    InspectorLine line;
    line.version = "v4.2";
    line.algorithm = "RING";
    line.protocol = "LL";
    change(line);
    bytes += line.Text();
  };
  const auto p2p = [](InspectorLine& line) {
    line.is_p2p = true;
    line.operation = "Send";
    line.algorithm.reset();
    line.protocol.reset();
  };
  add([](InspectorLine&) {});
  add([](InspectorLine& line) { line.operation = "AllGather"; });
  add([](InspectorLine& line) { line.algorithm = "TREE"; });
  add([](InspectorLine& line) { line.protocol = "LL128"; });
  add([](InspectorLine& line) { line.message_bytes *= 2; });
  add([](InspectorLine& line) { line.timing_source = "kernel_cpu"; });
  add([](InspectorLine& line) { line.algorithm = std::nullopt; });
  add(p2p);
  add([&](InspectorLine& line) { p2p(line), line.peer = 2; });
  add([&](InspectorLine& line) { p2p(line), line.operation = "Recv"; });
  // Twice, so that the fast path sees each of them as well.
  const SourceData data = Read(bytes + bytes);
  EXPECT_EQ(data.series.size(), 10U);
  for (const Series& series : data.series) EXPECT_EQ(series.records.size(), 2U);
}

TEST(LineParser, UnknownDataType) {
  InspectorLine line;
  line.message_bytes = uint64_t{0} - 1000;
  const SourceData data = Read(line.Text());
  ASSERT_EQ(RecordsOf(data), 1U);
  EXPECT_EQ(data.series[0].key.message_bytes, 18446744073709550616U);
}

TEST(LineParser, OneRank) {
  InspectorLine line;
  line.n_ranks = 1;
  const SourceData data = Read(line.Text());
  ASSERT_EQ(data.series[0].records.size(), 1U);
  EXPECT_GT(data.series[0].traffic_bytes, 0);
  EXPECT_EQ(data.series[0].bus_factor, 0);
}

TEST(LineParser, NoRanks) {
  for (const int64_t n_ranks : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    InspectorLine line;
    line.n_ranks = n_ranks;
    line.algobw = "10.485760";
    line.busbw = "0.000000";
    const SourceData data = Read(line.Text());
    ASSERT_EQ(data.rows, 1U);
    ASSERT_EQ(data.irregular.size(), 1U);
    EXPECT_EQ(data.irregular[0].algobw_gbs, 10.48576);
    EXPECT_EQ(data.irregular[0].busbw_gbs, 0.0);
    EXPECT_EQ(data.communicator_ranks[0].n_ranks, n_ranks);
  }
}

TEST(LineParser, InvalidOperationAndZeroTimeAreRegular) {
  InspectorLine line;
  line.operation = "Invalid";
  InspectorLine zero;
  zero.exec_time_us = 0;
  const SourceData data = Read(line.Text() + zero.Text());
  EXPECT_EQ(data.rows, 2U);
  EXPECT_TRUE(data.irregular.empty());
}

TEST(LineParser, KeysInAnyOrder) {
  InspectorLine line;
  line.version = "v4.2";
  line.algorithm = "RING";
  line.protocol = "LL";
  const std::string shuffled =
      R"({"coll_perf":{"coll_busbw_gbs":10.485760,"coll_proto":"LL","coll_exec_time_us":100,)"
      R"("coll_sn":0,"coll_algobw_gbs":10.485760,"coll_timing_source":"kernel_gpu",)"
      R"("coll_msg_size_bytes":1048576,"coll_algo":"RING","coll":"AllReduce"},)"
      R"("metadata":{"pid":100,"hostname":"node1","dump_timestamp_us":1700000000000000,)"
      R"("rec_mechanism":"nccl_profiler_interface","git_rev":"unknown",)"
      R"("inspector_output_format_version":"v4.2"},)"
      R"( "header" : { "nnodes":1,"n_ranks":2 , "rank":0,"comm_name":"WORLD","id":"0xabc"}})"
      "\n";
  EXPECT_TRUE(SameText(TextOf(Read(shuffled)), TextOf(Read(line.Text()))));
}

TEST(LineParser, UnknownKeysAtEveryLevel) {
  InspectorLine line;
  std::string text = line.Text();
  text = Replaced(text, R"({"header")", R"({"new_top":{"a":[1,{"b":null}]},"header")");
  text = Replaced(text, R"("rank":0)", R"("rank":0,"new_header":1)");
  text = Replaced(text, R"("pid":100)", R"("pid":100,"new_metadata":"x")");
  text = Replaced(text, R"("coll_sn":0)", R"("coll_sn":0,"coll_new":[],"user_tag":"fwd")");
  text = Replaced(text, "}}\n",
                  R"(,"event_trace_sn":{"coll_start_sn":1,"new_trace":2,"kernel_events":[)"
                  R"({"channel_id":0,"kernel_start_sn":1,"new_kernel":3}]}}})"
                  "\n");
  const SourceData data = Read(text);
  EXPECT_EQ(data.rows, 1U);
  EXPECT_EQ(RecordsOf(data), 1U);
  std::set<std::string> keys;
  for (const Loss& loss : data.losses) {
    EXPECT_EQ(loss.kind, &kUnknownKey);
    EXPECT_EQ(loss.count, 1U);
    keys.insert(loss.detail);
  }
  EXPECT_EQ(keys, (std::set<std::string>{"new_top", "new_header", "new_metadata", "coll_new",
                                         "user_tag", "new_trace", "new_kernel"}));
  EXPECT_EQ(data.events.at(0).kernels.at(0).start_sn, 1U);
}

TEST(LineParser, NumbersOfTheWrongKind) {
  const std::string line = InspectorLine().Text();
  const auto with = [&](std::string_view from, std::string_view to) {
    return LossOf(Replaced(line, from, to));
  };
  for (const char* key :
       {R"("coll_sn":0)", R"("coll_msg_size_bytes":1048576)", R"("coll_exec_time_us":100)",
        R"("dump_timestamp_us":1700000000000000)", R"("pid":100)", R"("nnodes":1)"}) {
    SCOPED_TRACE(key);
    const std::string name(key, std::string_view(key).find(':') + 1);
    EXPECT_EQ(with(key, name + "-1"), "invalid_value");
    EXPECT_EQ(with(key, name + "1.0"), "invalid_value");
    EXPECT_EQ(with(key, name + "1e3"), "invalid_value");
    EXPECT_EQ(with(key, name + "\"1\""), "invalid_value");
    EXPECT_EQ(with(key, name + "null"), "invalid_value");
    EXPECT_EQ(with(key, name + "true"), "invalid_value");
    EXPECT_EQ(with(key, name + "[]"), "invalid_value");
    EXPECT_EQ(with(key, name + "01"), "invalid_json");
    // 2^64 is in no integer type; the JSON library takes it for a malformed number.
    EXPECT_NE(with(key, name + "18446744073709551616"), "");
    EXPECT_NE(with(key, name + "99999999999999999999999"), "");
  }
  for (const char* key : {R"("rank":0)", R"("n_ranks":2)"}) {
    SCOPED_TRACE(key);
    const std::string name(key, std::string_view(key).find(':') + 1);
    EXPECT_EQ(with(key, name + "9223372036854775808"), "invalid_value");
    EXPECT_EQ(with(key, name + "0.5"), "invalid_value");
  }
  EXPECT_EQ(with(R"("coll_algobw_gbs":10.485760)", R"("coll_algobw_gbs":"fast")"), "invalid_value");
  EXPECT_EQ(with(R"("coll_algobw_gbs":10.485760)", R"("coll_algobw_gbs":inf)"), "invalid_json");
  EXPECT_EQ(with(R"("coll":"AllReduce")", R"("coll":17)"), "invalid_value");
  EXPECT_EQ(with(R"("id":"0xabc")", R"("id":2748)"), "invalid_value");
  EXPECT_EQ(with(R"("comm_name":"WORLD")", R"("comm_name":null)"), "invalid_value");
}

TEST(LineParser, MembersThatAreNoObjects) {
  const InspectorLine line;
  EXPECT_EQ(LossOf("{" + line.Header() +
                   R"(,"coll_perf":[]})"
                   "\n"),
            "invalid_value");
  EXPECT_EQ(LossOf(R"({"header":"x",)" + line.Perf() + "}\n"), "invalid_value");
  EXPECT_EQ(LossOf(R"({"header":{},"metadata":7,)" + line.Perf() + "}\n"), "invalid_value");
  const std::string text = line.Text();
  const auto with_trace = [&](const std::string& trace) {
    return LossOf(Replaced(text, "}}\n", R"(,"event_trace_sn":)" + trace + "}}\n"));
  };
  EXPECT_EQ(with_trace("{}"), "");
  EXPECT_EQ(with_trace("[]"), "invalid_value");
  EXPECT_EQ(with_trace(R"({"kernel_events":{}})"), "invalid_value");
  EXPECT_EQ(with_trace(R"({"kernel_events":[1]})"), "invalid_value");
  EXPECT_EQ(with_trace(R"({"kernel_events":[{"channel_id":-1}]})"), "invalid_value");
  EXPECT_EQ(with_trace(R"({"coll_start_sn":"1"})"), "invalid_value");
}

// The largest numbers that fit are kept exactly.
TEST(LineParser, LargestNumbers) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  InspectorLine line;
  line.sequence = kMax;
  line.message_bytes = kMax;
  line.exec_time_us = kMax;
  line.dump_timestamp_us = kMax;
  line.pid = kMax;
  line.nnodes = kMax;
  line.rank = std::numeric_limits<int64_t>::max();
  line.n_ranks = std::numeric_limits<int64_t>::max();
  const SourceData data = Read(line.Text());
  ASSERT_EQ(data.irregular.size(), 1U);
  EXPECT_EQ(data.irregular[0].sequence, kMax);
  EXPECT_EQ(data.irregular[0].message_bytes, kMax);
  EXPECT_EQ(data.irregular[0].exec_time_us, kMax);
  EXPECT_EQ(data.irregular[0].dump_timestamp_us, kMax);
  EXPECT_EQ(data.processes[0].pid, kMax);
  EXPECT_EQ(data.communicator_ranks[0].nnodes, kMax);
  EXPECT_EQ(data.communicator_ranks[0].rank, std::numeric_limits<int64_t>::max());
}

// Just within and just beyond what operation_record has room for.
TEST(LineParser, RegularOnlyWhereNumbersFit) {
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  constexpr uint64_t kMaxTime = std::numeric_limits<int64_t>::max() / 1000;
  const auto is_regular = [](const InspectorLine& line) {
    // The second of the two may go the fast path.
    std::string bytes;
    for (int i = 0; i < 10; ++i) bytes += line.Text();
    return Read(bytes).irregular.empty();
  };
  InspectorLine line;
  line.sequence = kMax32;
  EXPECT_TRUE(is_regular(line));
  line.sequence = kMax32 + 1;
  EXPECT_FALSE(is_regular(line));
  line = {};
  line.exec_time_us = kMax32;
  EXPECT_TRUE(is_regular(line));
  line.exec_time_us = kMax32 + 1;
  EXPECT_FALSE(is_regular(line));
  line = {};
  line.dump_timestamp_us = kMaxTime;
  EXPECT_TRUE(is_regular(line));
  line.dump_timestamp_us = kMaxTime + 1;
  EXPECT_FALSE(is_regular(line));
}

TEST(LineParser, RequiredFields) {
  const std::string line = InspectorLine().Text();
  EXPECT_EQ(LossOf(Replaced(line, R"("id":"0xabc",)", "")), "missing_field");
  EXPECT_EQ(LossOf(Replaced(line, R"("rank":0,)", "")), "missing_field");
  EXPECT_EQ(LossOf(Replaced(line, R"("n_ranks":2,)", "")), "missing_field");
  EXPECT_EQ(LossOf(Replaced(line, R"("coll":"AllReduce",)", "")), "missing_field");
  EXPECT_EQ(LossOf(Replaced(line, R"("coll_sn":0,)", "")), "missing_field");
}

TEST(LineParser, FieldsThatMayBeMissing) {
  const std::string line = InspectorLine().Text();
  const auto without = [&](std::string_view part) {
    SourceData data = Read(Replaced(line, part, ""));
    EXPECT_EQ(data.rows, 1U) << part;
    EXPECT_EQ(RecordsOf(data), 1U) << part;
    return data;
  };
  EXPECT_EQ(without(R"(,"nnodes":1)").communicator_ranks[0].nnodes, std::nullopt);
  EXPECT_EQ(without(R"("hostname":"node1",)").processes[0].host, std::nullopt);
  EXPECT_EQ(without(R"(,"pid":100)").processes[0].pid, std::nullopt);
  EXPECT_EQ(without(R"("git_rev":"unknown",)").processes[0].git_rev, std::nullopt);
  EXPECT_EQ(without(R"("inspector_output_format_version":"v4.0",)").processes[0].format_version,
            std::nullopt);
  EXPECT_EQ(without(R"("coll_timing_source":"kernel_gpu",)").series[0].key.timing_source,
            std::nullopt);
  // Values that a record needs to be regular: it is stored whole, with nothing made up.
  EXPECT_EQ(without(R"("dump_timestamp_us":1700000000000000,)").irregular.at(0).dump_timestamp_us,
            std::nullopt);
  EXPECT_EQ(without(R"("coll_msg_size_bytes":1048576,)").irregular.at(0).message_bytes,
            std::nullopt);
  EXPECT_EQ(without(R"("coll_exec_time_us":100,)").irregular.at(0).exec_time_us, std::nullopt);
  EXPECT_EQ(without(R"("coll_algobw_gbs":10.485760,)").irregular.at(0).algobw_gbs, std::nullopt);
  const IrregularRecord record = without(R"(,"coll_busbw_gbs":10.485760)").irregular.at(0);
  EXPECT_EQ(record.busbw_gbs, std::nullopt);
  EXPECT_EQ(record.algobw_gbs, 10.48576);
  // No metadata at all.
  const size_t begin = line.find(R"("metadata")");
  const size_t end = line.find(R"("coll_perf")");
  const SourceData data = Read(line.substr(0, begin) + line.substr(end));
  EXPECT_EQ(data.rows, 1U);
  EXPECT_EQ(data.processes.at(0), ProcessKey());
}

TEST(LineParser, BandwidthThatDoesNotFollow) {
  InspectorLine line;
  std::string bytes = line.Text() + line.Text();  // the fast path knows the line now
  const auto add = [&](const char* algobw, const char* busbw) {
    line.algobw = algobw;
    line.busbw = busbw;
    bytes += line.Text();
  };
  add("10.485761", "10.485760");
  add("10.485760", "10.485759");
  add("104.857600", "104.857600");  // RCCL before 2.28.4: ten times
  add("1e300", "-1.5");
  add("10", "10.4857600001");
  for (int i = 0; i < 10; ++i) add("10.485760", "10.485760");
  const SourceData data = Read(bytes);
  EXPECT_EQ(data.rows, 17U);
  ASSERT_EQ(data.irregular.size(), 5U);
  const double expected[][2] = {{10.485761, 10.48576},
                                {10.48576, 10.485759},
                                {104.8576, 104.8576},
                                {1e300, -1.5},
                                {10, 10.4857600001}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(data.irregular[i].algobw_gbs, expected[i][0]);
    EXPECT_EQ(data.irregular[i].busbw_gbs, expected[i][1]);
    EXPECT_EQ(data.irregular[i].line, 3 + i);
  }
}

TEST(LineParser, NotANumberIsAString) {
  InspectorLine line;
  line.algobw = "\"nan\"";
  line.busbw = "\"-nan\"";
  const SourceData data = Read(line.Text());
  ASSERT_EQ(data.irregular.size(), 1U);
  EXPECT_TRUE(std::isnan(*data.irregular[0].algobw_gbs));
  EXPECT_TRUE(std::isnan(*data.irregular[0].busbw_gbs));
}

TEST(LineParser, NewerVersion) {
  for (const char* version : {"v4.5", "v4.10", "v5.0", "v12.1"}) {
    InspectorLine line;
    line.version = version;
    std::string bytes;
    for (line.sequence = 0; line.sequence < 20; ++line.sequence) {
      bytes += Replaced(line.Text(), R"("coll_sn")", R"("coll_new":1,"coll_sn")");
      bytes += line.Text();
    }
    const SourceData data = Read(bytes);
    EXPECT_EQ(data.rows, 40U);
    EXPECT_EQ(RecordsOf(data), 40U);
    EXPECT_EQ(LossesOf(data, "newer_version"), 40U);
    EXPECT_EQ(LossesOf(data, "unknown_key"), 20U);
    EXPECT_EQ(data.processes.at(0).format_version, version);
  }
  for (const char* version : {"v4.0", "v4.4", "v3.9", "4.5", "v4", "v4.x", "", "nonsense"}) {
    InspectorLine line;
    line.version = version;
    EXPECT_EQ(LossesOf(Read(line.Text()), "newer_version"), 0U) << version;
  }
}

TEST(LineParser, LastOfDoubledKeys) {
  std::string text = InspectorLine().Text();
  text = Replaced(text, R"("coll_sn":0)", R"("coll_sn":3,"coll_sn":4)");
  text = Replaced(text, R"("rank":0)", R"("rank":5,"rank":6)");
  const SourceData data = Read(text);
  EXPECT_EQ(data.series.at(0).records.at(0).sequence, 4U);
  EXPECT_EQ(data.communicator_ranks.at(0).rank, 6);
}

TEST(LineParser, EventTraces) {
  const std::string text =
      Replaced(InspectorLine().Text(), "}}\n",
               R"(,"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[)"
               R"({"channel_id":3,"kernel_start_sn":4,"kernel_stop_sn":5,"kernel_record_sn":6},)"
               R"({"channel_id":7,"kernel_start_sn":8}]},)"
               R"("event_trace_ts":{"coll_start_ts":11,"coll_stop_ts":12,"kernel_events":[)"
               R"({"channel_id":3,"kernel_start_ts":14,"kernel_stop_ts":15,"kernel_record_ts":16},)"
               R"({"channel_id":7,"kernel_record_ts":18}]}}})"
               "\n");
  const SourceData data = Read(text);
  ASSERT_EQ(data.events.size(), 1U);
  const OperationEvents& events = data.events[0];
  EXPECT_EQ(events.start_sn, 1U);
  EXPECT_EQ(events.stop_sn, 2U);
  EXPECT_EQ(events.start_us, 11U);
  EXPECT_EQ(events.stop_us, 12U);
  ASSERT_EQ(events.kernels.size(), 2U);
  const KernelEvent& first = events.kernels[0];
  EXPECT_EQ(first.channel, 3U);
  EXPECT_EQ(first.start_sn, 4U);
  EXPECT_EQ(first.stop_sn, 5U);
  EXPECT_EQ(first.record_sn, 6U);
  EXPECT_EQ(first.start_us, 14U);
  EXPECT_EQ(first.stop_us, 15U);
  EXPECT_EQ(first.record_us, 16U);
  const KernelEvent& second = events.kernels[1];
  EXPECT_EQ(second.channel, 7U);
  EXPECT_EQ(second.start_sn, 8U);
  EXPECT_EQ(second.record_sn, std::nullopt);
  EXPECT_EQ(second.start_us, std::nullopt);
  EXPECT_EQ(second.record_us, 18U);
  EXPECT_EQ(RecordsOf(data), 1U);
}

// Two lists that are not of the same channels: nothing is joined that may not belong together.
TEST(LineParser, EventTracesOfDifferentChannels) {
  const std::string text =
      Replaced(InspectorLine().Text(), "}}\n",
               R"(,"event_trace_sn":{"kernel_events":[{"channel_id":0,"kernel_start_sn":1}]},)"
               R"("event_trace_ts":{"kernel_events":[{"channel_id":1,"kernel_start_ts":2}]}}})"
               "\n");
  const SourceData data = Read(text);
  ASSERT_EQ(data.events.at(0).kernels.size(), 2U);
  EXPECT_EQ(data.events[0].kernels[0].start_sn, 1U);
  EXPECT_EQ(data.events[0].kernels[0].start_us, std::nullopt);
  EXPECT_EQ(data.events[0].kernels[1].channel, 1U);
  EXPECT_EQ(data.events[0].kernels[1].start_us, 2U);
}

TEST(LineParser, MoreSizesThanAreKeptApart) {
  std::string bytes;
  InspectorLine line;
  constexpr uint64_t kSizes = 2000;
  for (uint64_t i = 0; i < kSizes; ++i) {
    line.sequence = i;
    line.message_bytes = 10000 + 7 * i;
    bytes += line.Text();
  }
  // Sizes that have their own series still go there.
  line.message_bytes = 10000;
  for (line.sequence = kSizes; line.sequence < kSizes + 20; ++line.sequence) bytes += line.Text();
  const SourceData data = Read(bytes);
  EXPECT_EQ(data.rows, kSizes + 20);
  EXPECT_EQ(data.series.size(), SourceBuilder::kMaxSizes + 1);
  EXPECT_EQ(data.irregular.size(), kSizes - SourceBuilder::kMaxSizes);
  EXPECT_EQ(LossesOf(data, "many_sizes"), kSizes - SourceBuilder::kMaxSizes);
  for (const IrregularRecord& record : data.irregular) {
    EXPECT_EQ(record.message_bytes, 10000 + 7 * *record.sequence);
  }
  EXPECT_EQ(data.series[0].records.size(), 21U);
  // All are one counter without gaps.
  ASSERT_EQ(data.trackers.size(), 1U);
  EXPECT_EQ(data.trackers[0].runs.size(), 1U);
}

}  // namespace
}  // namespace telltale::test
