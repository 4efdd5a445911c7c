// proxy_trace lines (format v4.3 and v4.4) in all their layouts, with every field. The lines follow
// the README and the writer of NVIDIA/nccl PR 2359.

#include <gtest/gtest.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using namespace nccl_inspector;
using Strings = std::vector<std::string>;

InspectorLine Communicator(const char* version) {
  InspectorLine line;
  line.version = version;
  line.rank = 2;
  line.n_ranks = 8;
  return line;
}

std::string Marker(const char* version, uint64_t proxy_records) {
  return Communicator(version).Marker(0, 0, ",\"proxy_records\":" + std::to_string(proxy_records));
}

constexpr char kFlatStep[] =
    R"({"proxy_trace":{"record_type":"proxy_step","record_sn":41,"parent_type":"coll","parent_sn":1407,)"
    R"("proxy_op_sn":12,"rank":2,"channel_id":0,"peer":3,"direction":"send","proxy_step_sn":1,"step":0,)"
    R"("trans_size_bytes":1048576,"event_trace_sn":{"proxy_step_start_sn":3,"send_gpu_wait_sn":4,)"
    R"("send_peer_wait_sn":5,"send_wait_sn":6,"proxy_step_stop_sn":7},)"
    R"("event_trace_ts":{"proxy_step_start_ts":1752867229235100,"send_gpu_wait_ts":1752867229235110,)"
    R"("send_peer_wait_ts":1752867229235120,"send_wait_ts":1752867229235130,)"
    R"("proxy_step_stop_ts":1752867229235140}}})"
    "\n";
constexpr char kFlatOp[] =
    R"({"proxy_trace":{"record_type":"proxy_op","record_sn":42,"parent_type":"coll","parent_sn":1407,)"
    R"("proxy_op_sn":12,"rank":2,"channel_id":0,"peer":3,"direction":"send","n_steps":9,)"
    R"("chunk_size_bytes":1048577,"n_steps_started":8,"n_steps_completed":7,"n_steps_dropped":6,)"
    R"("trans_size_bytes":1048576,"event_trace_sn":{"proxy_op_start_sn":1,"proxy_op_in_progress_sn":2,)"
    R"("proxy_op_stop_sn":8},"event_trace_ts":{"proxy_op_start_ts":1752867229235080,)"
    R"("proxy_op_in_progress_ts":1752867229235090,"proxy_op_stop_ts":1752867229235150}}})"
    "\n";

class ProxyRecords : public testing::Test {
 protected:
  // Ingests the bytes as one file; every line must be accounted for.
  void Ingest(const std::string& bytes) {
    const std::string path = folder_.Write("node1-pid100.log", bytes);
    const IngestReport report = store_.Ingest({path});
    ASSERT_EQ(report.sources.size(), 1U);
    report_ = report.sources[0];
    ASSERT_EQ(report_.status, SourceStatus::kIngested) << report_.message;
    EXPECT_EQ(report_.records, LinesOf(bytes).size());
    EXPECT_EQ(report_.records, report_.rows + LineLossesOf(report_));
  }
  Strings Ops(const std::string& order = "line") {
    return store_.Rows("SELECT * EXCLUDE (source, communicator_rank) FROM proxy_op ORDER BY " +
                       order);
  }
  Strings Steps() {
    return store_.Rows(
        "SELECT * EXCLUDE (source, communicator_rank) FROM proxy_step ORDER BY line, position");
  }

  TempFolder folder_;
  TestStore store_;
  SourceReport report_;
};

TEST_F(ProxyRecords, FlatOfVersion43) {
  Ingest(Marker("v4.3", 2) + kFlatStep + kFlatOp);
  EXPECT_EQ(Ops(), (Strings{"2|1700000000000000|proxy_step|coll|send|-|-|-|41|-|1407|12|-|2|0|3|-|-"
                            "|-|-|-|-|-|-|-|-|-|-|-",
                            "3|1700000000000000|proxy_op|coll|send|-|-|-|42|-|1407|12|-|2|0|3|9|"
                            "1048577|8|7|6|1048576|-|"
                            "1|2|8|1752867229235080|1752867229235090|1752867229235150"}));
  EXPECT_EQ(Steps(),
            Strings{"2|0|12|send|3|0|1|0|1048576|-|-|-|-|-|-|3|4|5|6|-|-|-|7|1752867229235100|"
                    "1752867229235110|1752867229235120|1752867229235130|-|-|-|1752867229235140"});
  EXPECT_EQ(store_.Rows("SELECT c.rank, c.n_ranks FROM proxy_op JOIN communicator_rank c USING "
                        "(communicator_rank)"),
            (Strings{"2|8", "2|8"}));
  EXPECT_EQ(report_.losses.size(), 0U);
}

// The early v4.3: a header on every line, and two keys that were taken out later.
TEST_F(ProxyRecords, EarlyVersion43) {
  const InspectorLine line = Communicator("v4.3");
  const std::string op =
      "{" + line.Header() +
      R"(,"proxy_trace":{"record_type":"proxy_op","record_sn":7,"proxy_records_dropped":5,)"
      R"("parent_type":"p2p","parent_sn":3,"proxy_op_sn":4,"origin_pid":4711,"rank":2,"channel_id":1,)"
      R"("peer":6,"direction":"recv","n_steps":2,"chunk_size_bytes":512,"n_steps_completed":2,)"
      R"("n_steps_dropped":0,"trans_size_bytes":1024,"event_trace_sn":{"proxy_op_start_sn":1,)"
      R"("proxy_op_in_progress_sn":0,"proxy_op_stop_sn":3},"event_trace_ts":{"proxy_op_start_ts":11,)"
      R"("proxy_op_in_progress_ts":0,"proxy_op_stop_ts":13}}})"
      "\n";
  const std::string step =
      "{" + line.Header() +
      R"(,"proxy_trace":{"record_type":"proxy_step","record_sn":8,"proxy_records_dropped":5,)"
      R"("parent_type":"p2p","parent_sn":3,"proxy_op_sn":4,"origin_pid":4711,"rank":2,"channel_id":1,)"
      R"("peer":6,"direction":"recv","proxy_step_sn":9,"step":1,"trans_size_bytes":512,)"
      R"("event_trace_sn":{"proxy_step_start_sn":2,"recv_wait_sn":3,"recv_flush_wait_sn":4,)"
      R"("recv_gpu_wait_sn":5,"proxy_step_stop_sn":6},"event_trace_ts":{"proxy_step_start_ts":22,)"
      R"("recv_wait_ts":23,"recv_flush_wait_ts":24,"recv_gpu_wait_ts":25,"proxy_step_stop_ts":26}}})"
      "\n";
  // Proxy lines come before the marker and are not counted by it.
  Ingest(op + step + line.Marker(1) + line.Text());
  EXPECT_EQ(
      Ops(),
      (Strings{
          "1|1700000000000000|proxy_op|p2p|recv|-|-|-|7|5|3|4|4711|2|1|6|2|512|-|2|0|1024|-|"
          "1|0|3|11|0|13",
          "2|1700000000000000|proxy_step|p2p|recv|-|-|-|8|5|3|4|4711|2|1|6|-|-|-|-|-|-|-|-|-|-|"
          "-|-|-"}));
  EXPECT_EQ(Steps(),
            Strings{"2|0|4|recv|6|1|9|1|512|-|-|-|-|-|-|2|-|-|-|3|4|5|6|22|-|-|-|23|24|25|26"});
  EXPECT_EQ(report_.losses.size(), 0U);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM operations"), 1);
}

TEST_F(ProxyRecords, NestedOfVersion44) {
  const std::string start =
      R"({"proxy_trace":{"record_type":"proxy_op_start","record_sn":1,"parent_type":"coll","parent_sn":5,)"
      R"("proxy_op_sn":2,"channel_id":0,"peer":3,"direction":"send","timing_source":"proxy_cpu",)"
      R"("is_final":false,"n_steps":3,"chunk_size_bytes":64,"event_trace_ts":{"proxy_op_start_ts":100}}})"
      "\n";
  const std::string segment =
      R"({"proxy_trace":{"record_type":"proxy_op_segment","record_sn":3,"parent_type":"coll",)"
      R"("parent_sn":5,"proxy_op_sn":2,"channel_id":0,"peer":3,"direction":"send",)"
      R"("timing_source":"proxy_cpu","is_final":false,"steps":[]}})"
      "\n";
  const std::string final =
      R"({"proxy_trace":{"record_type":"proxy_op","record_sn":9,"parent_type":"coll","parent_sn":5,)"
      R"("proxy_op_sn":2,"rank":2,"channel_id":0,"peer":3,"direction":"send","timing_source":"proxy_cpu",)"
      R"("is_final":true,"n_steps":3,"chunk_size_bytes":64,"n_steps_started":3,"n_steps_completed":3,)"
      R"("n_steps_dropped":1,"trans_size_bytes":192,"total_us":50,"op_bw_gbs":0.003840,)"
      R"("event_trace_ts":{"proxy_op_start_ts":100,"proxy_op_stop_ts":150},"steps":[)"
      R"({"proxy_step_sn":0,"step":0,"trans_size_bytes":64,"total_us":30,"gpu_produce_us":0,)"
      R"("peer_credit_us":7,"wire_us":8,"event_trace_ts":{"proxy_step_start_ts":101,)"
      R"("send_gpu_wait_ts":102,"send_peer_wait_ts":102,"send_wait_ts":109,"proxy_step_stop_ts":131}},)"
      R"({"proxy_step_sn":1,"step":1,"trans_size_bytes":65,"wire_us":9,"flush_us":10,)"
      R"("gpu_consume_us":11,"event_trace_sn":{"proxy_step_start_sn":4,"recv_wait_sn":0},)"
      R"("event_trace_ts":{}}]}})"
      "\n";
  Ingest(Marker("v4.4", 3) + start + segment + final);
  EXPECT_EQ(
      Ops(),
      (Strings{
          "2|1700000000000000|proxy_op_start|coll|send|proxy_cpu|false|-|1|-|5|2|-|-|0|3|3|64|-|-|"
          "-|-|-|-|-|-|100|-|-",
          "3|1700000000000000|proxy_op_segment|coll|send|proxy_cpu|false|-|3|-|5|2|-|-|0|3|-|-|-|"
          "-|-|-|-|-|-|-|-|-|-",
          "4|1700000000000000|proxy_op|coll|send|proxy_cpu|true|0.00384|9|-|5|2|-|2|0|3|3|64|3|3|"
          "1|192|50|-|-|-|100|-|150"}));
  EXPECT_EQ(Steps(),
            (Strings{"4|0|2|send|3|0|0|0|64|30|0|7|8|-|-|-|-|-|-|-|-|-|-|101|102|102|109|-|-|-|131",
                     "4|1|2|send|3|0|1|1|65|-|-|-|9|10|11|4|-|-|-|0|-|-|-|-|-|-|-|-|-|-|-"}));
  EXPECT_EQ(report_.losses.size(), 0U);
}

TEST_F(ProxyRecords, BudgetOfTheMarker) {
  Ingest(Marker("v4.4", 1) + kFlatOp + kFlatOp + Marker("v4.4", 4) + kFlatStep);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM proxy_op"), 2);
  EXPECT_EQ(store_.Lost("no_marker"), 1);
  EXPECT_EQ(store_.Lost("incomplete_dump"), 3);
}

TEST_F(ProxyRecords, DropsOfTheProducer) {
  const InspectorLine line = Communicator("v4.4");
  const auto marker = [&](int slots, int ops, int skipped) {
    return line.Marker(0, 0,
                       ",\"proxy_records\":0,\"proxy_dropped_total\":" + std::to_string(slots) +
                           ",\"proxy_ops_dropped_total\":" + std::to_string(ops) +
                           ",\"proxy_pxn_skipped_process_total\":" + std::to_string(skipped));
  };
  // The counters are totals: the last ones count, not their sum.
  Ingest(marker(10, 1, 5) + marker(20, 3, 5));
  EXPECT_EQ(store_.Lost("proxy_dropped"), 23);
}

// Values that cannot be are refused and counted; the rest of the file and of the store is not
// harmed.
TEST_F(ProxyRecords, ImpossibleValues) {
  const std::string op = kFlatOp;
  const std::string step = kFlatStep;
  std::string bytes;
  uint64_t refused = 0;
  const auto add = [&](const std::string& line) {
    bytes += Marker("v4.4", 1) + line;
    ++refused;
  };
  for (const char* key :
       {R"("record_sn":42)", R"("parent_sn":1407)", R"("proxy_op_sn":12)", R"("n_steps":9)",
        R"("chunk_size_bytes":1048577)", R"("n_steps_started":8)", R"("n_steps_completed":7)",
        R"("n_steps_dropped":6)", R"("trans_size_bytes":1048576)"}) {
    const std::string name(key, std::string_view(key).find(':') + 1);
    add(Replaced(op, key, name + "-1"));
    add(Replaced(op, key, name + "1.5"));
    add(Replaced(op, key, name + "\"1\""));
  }
  add(Replaced(op, R"("rank":2)", R"("rank":9223372036854775808)"));
  add(Replaced(op, R"("n_steps":9)", R"("n_steps":18446744073709551615)"));
  add(Replaced(op, R"("direction":"send")", R"("direction":0)"));
  add(Replaced(op, R"("proxy_op_stop_sn":8)", R"("proxy_op_stop_sn":-8)"));
  add(Replaced(op, R"("n_steps":9)", R"("n_steps":9,"is_final":1)"));
  add(Replaced(op, R"("n_steps":9)", R"("n_steps":9,"steps":{})"));
  add(Replaced(op, R"("n_steps":9)", R"("n_steps":9,"steps":[1])"));
  add(Replaced(op, R"("n_steps":9)", R"("n_steps":9,"steps":[{"step":-1}])"));
  add(Replaced(step, R"("step":0)", R"("step":-1)"));
  add(Replaced(step, R"("record_type":"proxy_step")", R"("record_type":"proxy_ctrl")"));
  add(Replaced(step, R"("record_type":"proxy_step",)", ""));
  Ingest(bytes + Marker("v4.4", 1) + kFlatOp);
  EXPECT_EQ(LineLossesOf(report_), refused);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM proxy_op"), 1);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM proxy_step"), 0);
  EXPECT_EQ(store_.Lost("unknown_record"), 1);
  EXPECT_EQ(store_.Lost("missing_field"), 1);
  EXPECT_EQ(store_.Lost("incomplete_dump"), 0);
}

// -1 does stand for "none" in ranks, peers and channels.
TEST_F(ProxyRecords, NegativePlaces) {
  std::string op = Replaced(kFlatOp, R"("rank":2,"channel_id":0,"peer":3)",
                            R"("rank":-1,"channel_id":-2,"peer":-3,"origin_pid":-4)");
  op = Replaced(op, R"("trans_size_bytes":1048576)", R"("trans_size_bytes":9223372036854775807)");
  Ingest(Marker("v4.4", 1) + op);
  EXPECT_EQ(store_.Rows("SELECT rank, channel, peer, origin_pid, trans_size_bytes FROM proxy_op"),
            Strings{"-1|-2|-3|-4|9223372036854775807"});
}

TEST_F(ProxyRecords, UnknownKeys) {
  std::string op =
      Replaced(kFlatOp, R"("n_steps":9)",
               R"("n_steps":9,"new_in_op":{"a":1},"steps":[{"step":1,"new_in_step":2}])");
  op = Replaced(op, R"("proxy_op_start_sn":1)", R"("proxy_op_start_sn":1,"new_in_trace_sn":3)");
  Ingest(Marker("v4.4", 1) + op);
  EXPECT_EQ(store_.Rows("SELECT detail FROM ingest_loss WHERE kind = 'unknown_key' ORDER BY ALL"),
            (Strings{"new_in_op", "new_in_step", "new_in_trace_sn"}));
  EXPECT_EQ(report_.rows, 2U);
}

}  // namespace
}  // namespace telltale::test
