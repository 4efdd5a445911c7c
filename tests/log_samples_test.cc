// Real logs: every line is a row, and what they tell of is known with its values.

#include <algorithm>

#include "evidence/link_requests.h"
#include "evidence/log_timeline.h"
#include "readers/log/template_text.h"
#include "store/text_function.h"
#include "tests/support/inspector_support.h"
#include "tests/support/trace_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

class LogSamples : public testing::Test {
 protected:
  static std::string Folder() {
    const std::string traces = TraceSamples();
    return traces.empty() ? "" : traces + "/../logs";
  }
  void SetUp() override {
    if (Folder().empty()) GTEST_SKIP() << "no samples ($TELLTALE_SAMPLES or ../shared/samples)";
  }
  // Events of a kind, as "count|rank|pid|gpu|cause|fields".
  Strings Events(const std::string& kind) {
    EXPECT_TRUE(evidence::LinkRequests(store_.store()));
    const auto connection = store_.store().Connect();
    const auto events = evidence::LogTimeline(**connection, {"", kind, true});
    EXPECT_TRUE(events) << events.error().message;
    const auto text = [](std::optional<int64_t> number) {
      return number ? std::to_string(*number) : "-";
    };
    Strings rows;
    for (const evidence::TimelineEvent& event : *events) {
      rows.push_back(fmt::format("{}|{}|{}|{}|{}|{}", event.count, text(event.rank),
                                 text(event.pid), event.gpu, event.cause, event.fields));
    }
    return rows;
  }
  TestStore store_;
};

TEST_F(LogSamples, EveryLineIsARow) {
  const IngestReport report = store_.Ingest({Folder()}, "run");
  size_t logs = 0;
  for (const SourceReport& source : report.sources) {
    if (!source.path.ends_with(".log")) continue;
    ++logs;
    EXPECT_EQ(source.status, SourceStatus::kIngested) << source.path << ": " << source.message;
    const std::string bytes = BytesOf(source.path);
    const Strings lines = LinesOf(bytes);
    EXPECT_EQ(source.records, lines.size()) << source.path;
    uint64_t lost = 0;
    for (const LossReport& loss : source.losses) {
      lost += loss.loss_class == "line" ? loss.count : 0;
    }
    EXPECT_EQ(source.rows + lost, source.records) << source.path;
    EXPECT_EQ(store_.Integer("SELECT count(*) FROM log_line l JOIN source f USING (source) WHERE "
                             "f.path LIKE '%/" +
                             source.path.substr(source.path.rfind('/') + 1) + "'"),
              static_cast<int64_t>(lines.size()));
  }
  EXPECT_EQ(logs, 9U);
  // The text of a line stands in its file.
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM log_line WHERE head > line"), 0);
}

TEST_F(LogSamples, Xid119) {
  store_.Ingest({Folder() + "/dmesg_ctime_xid119_gsp.log"});
  const Strings events = Events("xid");
  // Three within a minute are one fault; the next ones come minutes later.
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].substr(0, 24), "3|-|2024380|0000:9b:00.0");
  EXPECT_NE(
      events[0].find("\"xid\":119,\"meaning\":\"GSP RPC timeout\",\"process\":\"nvidia-smi\""),
      std::string::npos)
      << events[0];
  EXPECT_NE(events[0].find("\"expected_function\":\"103 (GSP_RM_ALLOC) (0x2081 0x4)\""),
            std::string::npos);
  EXPECT_EQ(events[1].substr(0, 11), "1|-|1263500");
  EXPECT_EQ(events[2].substr(0, 11), "1|-|1240590");
  EXPECT_EQ(Events("gpu_name"),
            Strings{"1|-|-|0000:9b:00.0||{\"uuid\":\"GPU-509665ad-b600-ac93-3616-d754b23d636d\"}"});
  EXPECT_EQ(Events("gpu_needs_reset").size(), 1U);
  EXPECT_EQ(store_.Text("SELECT make_timestamp(min(time_ns) // 1000)::VARCHAR FROM log_events"),
            "2025-02-23 16:24:18");
}

TEST_F(LogSamples, Xid13AndWhatFollowsIt) {
  store_.Ingest({Folder() + "/dmesg_decode_iso_xid13.log"});
  const Strings events = Events("xid");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].substr(0, 20), "16|-|-|0000:38:00.0|");
  EXPECT_NE(events[0].find("\"xid\":13,\"meaning\":\"graphics engine exception\""),
            std::string::npos);
  EXPECT_EQ(events[1].substr(0, 25), "1|-|2924364|0000:38:00.0|");
  EXPECT_NE(events[1].find("\"xid\":43"), std::string::npos);
  EXPECT_NE(events[1].find("\"process\":\"pt_main_thread\""), std::string::npos);
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM log_event WHERE kind = 'oom_kill'"), 7);
}

TEST_F(LogSamples, CudaOutOfMemoryAndWhoHoldsTheMemory) {
  store_.Ingest({Folder() + "/torchtitan_fsdp_b200_cuda_oom.log"});
  const Strings events = Events("cuda_out_of_memory");
  ASSERT_EQ(events.size(), 4U);
  // Rank 5: GPU 5 has a total capacity of 178.35 GiB of which 81.44 MiB is free. Process 540791 has
  // 100.14 GiB memory in use.
  EXPECT_EQ(events[0],
            "1|5|-|5|process 540791 holds 100.14 GiB of the same GPU|"
            "{\"tried_bytes\":178257920,\"capacity_bytes\":191501854310,\"free_bytes\":85396029,"
            "\"own_bytes\":83859236454,\"allocated_by_pytorch_bytes\":81969450844,"
            "\"other_processes\":[{\"pid\":540791,\"bytes\":107524506255}]}");
  const Strings failed = Events("rank_failed");
  EXPECT_EQ(std::count_if(failed.begin(), failed.end(),
                          [](const std::string& event) {
                            return event.find("\"is_root_cause\":true") != std::string::npos &&
                                   event.starts_with("1|4|585755|");
                          }),
            1);
}

TEST_F(LogSamples, WatchdogOfOneRank) {
  store_.Ingest({Folder() + "/torchtitan_fsdp_b200_nccl_watchdog_timeout.log"});
  EXPECT_EQ(Events("nccl_watchdog_timeout"),
            Strings{"1|0|-||only rank 0 wrote a status: who lags behind is not in these logs|"
                    "{\"sequence\":3,\"operation\":\"_ALLGATHER_BASE\",\"elements_in\":97239680,"
                    "\"elements_out\":777917440,\"timeout_ms\":300000,\"ran_ms\":300051}"});
  EXPECT_EQ(Events("rank_failed").size(), 8U);
  // The year stands in other lines of the file.
  EXPECT_EQ(store_.Text("SELECT make_timestamp(time_ns // 1000)::VARCHAR FROM log_events WHERE "
                        "kind = 'nccl_watchdog_timeout'"),
            "2026-05-20 06:31:05.050097");
  EXPECT_EQ(store_.Lost("year_assumed"), 0);
}

// What varies in a line is kept, and asked for by its template.
TEST_F(LogSamples, TemplatesAndParameters) {
  store_.Ingest({Folder() + "/torchtitan_fsdp_b200_8gpu_ok.log",
                 Folder() + "/torchtitan_fsdp_b200_nccl_warn.log"},
                "run");
  EXPECT_TRUE(
      RegisterTextFunction(**store_.store().Connect(), "log_parameters", log::TemplateParameters));
  // The same line of both files has one template.
  EXPECT_EQ(store_.Rows("SELECT template, count(*), count(DISTINCT source) FROM log_lines "
                        "WHERE text LIKE 'CUDA memory usage for model%' GROUP BY ALL"),
            Strings{"CUDA memory usage for model: <*>GiB(<*>%)|2|2"});
  EXPECT_EQ(store_.Rows("SELECT log_parameters(template, text)[1] FROM log_lines "
                        "WHERE text LIKE 'Training starts at step%' LIMIT 1"),
            Strings{"1"});
  EXPECT_EQ(store_.Rows("SELECT log_parameters(NULL, 'x')"), Strings{"-"});
}

TEST_F(LogSamples, EngineCoreDeath) {
  store_.Ingest({Folder() + "/vllm_v1_xpu_enginecore_crash_excerpt.log"});
  EXPECT_EQ(Events("engine_death"),
            Strings{"1|-|11727||RuntimeError: Only XE2 cutlass kernel is supported currently.|"
                    "{\"message\":\"EngineCore encountered a fatal error.\"}"});
  EXPECT_EQ(Events("scheduler_dump"),
            Strings{"1|-|11727|||{\"tokens\":6,\"requests\":[{\"request\":"
                    "\"cmpl-8001a336c290d04c-0-b958a13d\",\"tokens\":6}]}"});
}

TEST_F(LogSamples, WarningsOfNcclAndStepsOfTraining) {
  store_.Ingest({Folder() + "/torchtitan_fsdp_b200_nccl_warn.log"});
  const Strings warnings = Events("nccl_warning");
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings.back().find("corrupted comm object detected"), std::string::npos);
  EXPECT_EQ(store_.Rows("SELECT number, phase, rank FROM step ORDER BY number"),
            (Strings{"1|train|0", "10|train|0"}));
  EXPECT_EQ(store_.Rows("SELECT value FROM metrics WHERE name = 'torchtitan:loss' ORDER BY line"),
            (Strings{"12.52671", "9.61625"}));
}

// Statuses of several ranks, of two hangs a day apart: each names its own laggard.
TEST(LogTimeline, WatchdogsOfTwoHangs) {
  TempFolder folder;
  TestStore store;
  std::string text;
  for (const auto& [day, laggard] : {std::pair(20, 2), {21, 1}}) {
    for (int rank = 0; rank < 3; ++rank) {
      text += fmt::format(
          "[rank{0}]:[E5{1} 01:00:0{0}.000000000 ProcessGroupNCCL.cpp:2396] [PG ID 0 PG GUID "
          "0(default_pg) Rank {0}]  failure detected by watchdog at work sequence id: 10 PG "
          "status: "
          "last enqueued work: {2}, last started work: -1 (), last completed work: 6\n",
          rank, day, rank == laggard ? 7 : 10);
    }
  }
  store.Ingest({folder.Write("run.log", text)});
  const auto connection = store.store().Connect();
  const auto events = evidence::LogTimeline(**connection, {"", "nccl_watchdog_status", false});
  ASSERT_TRUE(events) << events.error().message;
  Strings causes;
  for (const evidence::TimelineEvent& event : *events) causes.push_back(event.cause);
  const std::string first = "rank 2 enqueued less than the others";
  const std::string second = "rank 1 enqueued less than the others";
  EXPECT_EQ(causes, (Strings{first, first, first, second, second, second}));
}

}  // namespace
}  // namespace telltale::test
