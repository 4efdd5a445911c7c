// Lines of logs: prefixes, times, and which lines are one message.

#include <chrono>

#include <gtest/gtest.h>

#include "readers/engine_log/engine_prefix.h"
#include "readers/format.h"
#include "readers/kernel_log/kernel_prefix.h"
#include "readers/log/log_builder.h"
#include "readers/log_families.h"
#include "store/database.h"

namespace telltale::log {
namespace {

using Strings = std::vector<std::string>;

// 2026-06-15 12:00:00 UTC
constexpr int64_t kFileTime = 1781524800'000'000'000;

// "level|process|pid|rank|host|roles|location|message" of a line.
std::string PartsOf(std::string_view line, std::span<const Peel> peels) {
  const LinePrefix prefix = PeelPrefix(line, peels);
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", LevelName(prefix.level), prefix.process, prefix.pid,
                     prefix.rank, prefix.host, prefix.roles, prefix.location, line);
}
std::string Engine(std::string_view line) { return PartsOf(line, engine_log::EnginePeels()); }
std::string Kernel(std::string_view line) { return PartsOf(line, kernel_log::KernelPeels()); }

TEST(LogPrefix, Vllm) {
  EXPECT_EQ(Engine("(EngineCore_DP0 pid=11727) INFO 02-20 23:41:49 [parallel_state.py:1234] text"),
            "info|EngineCore_DP0|11727|-1|||parallel_state.py:1234|text");
  EXPECT_EQ(Engine("WARNING 01-22 18:25:07 engine.py:267] Added request chatcmpl-1."),
            "warning||-1|-1|||engine.py:267|Added request chatcmpl-1.");
  EXPECT_EQ(Engine("INFO 01-22 18:25:07.123 [core.py:1] text"), "info||-1|-1|||core.py:1|text");
  EXPECT_EQ(Engine("(APIServer pid=7) INFO:     127.0.0.1:1 - \"GET / HTTP/1.1\" 200 OK"),
            "info|APIServer|7|-1||||127.0.0.1:1 - \"GET / HTTP/1.1\" 200 OK");
  EXPECT_EQ(Engine("(RayWorkerVllm pid=9, ip=10.0.0.7) ERROR 12-31 23:59:59 [a.py:1] x"),
            "error|RayWorkerVllm|9|-1|10.0.0.7||a.py:1|x");
}

TEST(LogPrefix, SglangTorchAndTitan) {
  EXPECT_EQ(Engine("[2025-11-03 14:31:10 DP6 TP6 EP6] Decode batch, #running-req: 1"),
            "||-1|-1||DP6 TP6 EP6||Decode batch, #running-req: 1");
  EXPECT_EQ(Engine("[2025-11-11 04:27:58] text"), "||-1|-1||||text");
  EXPECT_EQ(Engine("[04:27:58 TP0] text"), "||-1|-1||TP0||text");
  EXPECT_EQ(Engine("[rank3]:[titan] 2026-05-19 19:31:29,955 - root - WARNING - step:  1"),
            "warning||-1|3||||step:  1");
  EXPECT_EQ(Engine("W0519 19:31:02.761000 119689 torch/distributed/run.py:874] text"),
            "warning||119689|-1|||torch/distributed/run.py:874|text");
  EXPECT_EQ(Engine("[rank0]:[rank0]:[E520 06:31:05.050097785 ProcessGroupNCCL.cpp:757] [Rank 0] x"),
            "error||-1|0|||ProcessGroupNCCL.cpp:757|[Rank 0] x");
  // What stands behind a launcher's prefix keeps its indent, which says that a message goes on.
  EXPECT_EQ(Engine("[rank0]:  File \"a.py\", line 1"), "||-1|0||||  File \"a.py\", line 1");
  EXPECT_EQ(Engine("[rank0]: Traceback"), "||-1|0||||Traceback");
  EXPECT_EQ(Engine("Error: no prefix"), "||-1|-1||||Error: no prefix");
  EXPECT_EQ(Engine(""), "||-1|-1||||");
}

TEST(LogPrefix, Nccl) {
  EXPECT_EQ(Engine("node-7:4242:4243 [3] NCCL INFO Connected all rings"),
            "info||4242|-1|node-7|||Connected all rings");
  EXPECT_EQ(
      Engine("[2026-05-19 22:35:49] devgpu020:990419:990419 [0] misc/argcheck.cc:41 NCCL WARN "
             "Error: corrupted"),
      "warning||990419|-1|devgpu020||misc/argcheck.cc:41|Error: corrupted");
  EXPECT_EQ(Engine("10:20:30 no host"), "||-1|-1||||10:20:30 no host");
}

TEST(LogPrefix, Kernel) {
  EXPECT_EQ(Kernel("[24128.828315] NVRM: text"), "||-1|-1||||NVRM: text");
  EXPECT_EQ(Kernel("[Sun Feb 23 16:24:18 2025]  <TASK>"), "||-1|-1|||| <TASK>");
  EXPECT_EQ(Kernel("kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: x"),
            "warning||-1|-1||||NVRM: x");
  EXPECT_EQ(Kernel("6,3973,227996636,-;nvidia-peermem x"), "info||-1|-1||||nvidia-peermem x");
  EXPECT_EQ(Kernel("<4>[    1.000000] x"), "warning||-1|-1||||x");
  EXPECT_EQ(Kernel("Jan 21 04:41:44 node7 kernel: [   12.5] NVRM: x"),
            "|kernel|-1|-1|node7|||NVRM: x");
  EXPECT_EQ(Kernel("2025-01-21T04:41:44+0000 node7 kernel: NVRM: x"),
            "|kernel|-1|-1|node7|||NVRM: x");
  EXPECT_EQ(Kernel("[Feb 25 2025 13:59:45] [ERROR] [tid 1803] x"),
            "error|nv-fabricmanager|-1|-1||||x");
  EXPECT_EQ(Kernel("Message payload details: x"), "||-1|-1||||Message payload details: x");
}

// Times as ISO text, "-" where there is none.
Strings TimesOf(const Strings& lines, std::span<const Peel> peels, int64_t file_time_ns = kFileTime,
                int32_t zone_seconds = 0) {
  LogClock clock(file_time_ns, zone_seconds);
  Strings times;
  for (std::string_view line : lines) {
    const auto ns = clock.Resolve(PeelPrefix(line, peels).time);
    if (!ns) {
      times.push_back("-");
      continue;
    }
    const auto day = std::chrono::floor<std::chrono::days>(
        std::chrono::sys_time<std::chrono::nanoseconds>(std::chrono::nanoseconds(*ns)));
    const std::chrono::year_month_day date(day);
    const int64_t rest = *ns - day.time_since_epoch().count() * 86'400'000'000'000;
    times.push_back(fmt::format(
        "{}-{:02}-{:02} {:.9g}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()), static_cast<double>(rest) / 1e9));
  }
  return times;
}

TEST(LogTime, LinesFollowEachOtherAndTheLastIsNotBehindTheFile) {
  const auto peels = engine_log::EnginePeels();
  const auto days = [&](const Strings& dates, int64_t file_time_ns) {
    Strings lines;
    for (const std::string& date : dates) lines.push_back("INFO " + date + " 00:00:00 [a.py:1] x");
    return TimesOf(lines, peels, file_time_ns);
  };
  EXPECT_EQ(days({"06-14"}, kFileTime), Strings{"2026-06-14 0"});
  EXPECT_EQ(days({"06-20"}, kFileTime), Strings{"2025-06-20 0"});
  constexpr int64_t kFirstOfJanuary2027 = 1798761600'000'000'000;
  EXPECT_EQ(days({"06-01", "12-31", "01-01"}, kFirstOfJanuary2027),
            (Strings{"2026-06-01 0", "2026-12-31 0", "2027-01-01 0"}));
  constexpr int64_t kSecondOfMarch2026 = 1772409600'000'000'000;
  EXPECT_EQ(days({"02-29", "03-01"}, kSecondOfMarch2026),
            (Strings{"2024-02-29 0", "2024-03-01 0"}));
  // A full date that is near tells the year; one that is far away does not.
  EXPECT_EQ(TimesOf({"2019-05-19 23:00:00 a", "INFO 05-20 01:00:00 [a.py:1] x"}, peels),
            (Strings{"2019-05-19 82800", "2019-05-20 3600"}));
  EXPECT_EQ(TimesOf({"INFO 05-20 01:00:00 [a.py:1] x", "2019-03-03 00:00:00 dataset snapshot",
                     "INFO 05-20 01:00:02 [a.py:1] x"},
                    peels),
            (Strings{"2026-05-20 3600", "2019-03-03 0", "2026-05-20 3602"}));
}

TEST(LogTime, DatesZonesAndFractions) {
  const auto engine = engine_log::EnginePeels();
  EXPECT_EQ(TimesOf({"[04:27:58 TP0] x", "[2026-05-19 22:35:49] h:1:1 [0] a NCCL WARN x",
                     "INFO 05-20 01:00:00 [a.py:1] x"},
                    engine, kFileTime, 7200),
            (Strings{"2026-06-15 8878", "2026-05-19 74149", "2026-05-19 82800"}));
  // A number behind a comma in a table is no fraction.
  EXPECT_EQ(TimesOf({"2026-05-19 19:31:00,7"}, engine), Strings{"-"});
  EXPECT_EQ(TimesOf({"kern  :warn  : 2025-01-21T04:41:44,283302+01:00 x", "[24128.828315] x",
                     "[Sun Feb 30 16:24:18 2025] x"},
                    kernel_log::KernelPeels()),
            (Strings{"2025-01-21 13304.2833", "-", "-"}));
}

LogRows RowsOf(const LogFamily& family, std::string_view text) {
  const ClueFinder clues(family.clues);
  LogBuilder builder(family, clues, LogClock(kFileTime, 0));
  builder.Add(text);
  return builder.TakeRows();
}

const LogFamily& kEngine = EngineLogFamily();
const LogFamily& kKernel = KernelLogFamily();

TEST(LogMessages, TracebacksStayTogether) {
  // Two ranks mixed, and a process that writes its prefix before each line.
  const LogRows rows =
      RowsOf(kEngine,
             "[rank0]:Traceback (most recent call last):\n"
             "[rank1]:[titan] 2026-05-19 19:31:29,955 - root - INFO - other\n"
             "[rank0]:  File \"a.py\", line 1\n"
             "[rank0]:ValueError: first\n"
             "[rank0]:\n"
             "[rank0]:During handling of the above exception, another occurred:\n"
             "[rank0]:Traceback (most recent call last):\n"
             "[rank0]:KeyError: second\n"
             "[rank0]:next message\n"
             "ERROR 06-15 00:00:01 [core.py:1] died.\n"
             "ERROR 06-15 00:00:01 [core.py:1] Traceback (most recent call last):\n"
             "ERROR 06-15 00:00:01 [core.py:1]   File \"b.py\"\n"
             "ERROR 06-15 00:00:01 [core.py:1] RuntimeError: third\n"
             "ERROR 06-15 00:00:01 [core.py:1] next");
  EXPECT_EQ(rows.head, (std::vector<uint32_t>{1, 2, 1, 1, 1, 1, 1, 1, 9, 10, 10, 10, 10, 14}));
  // Lines without a time have that of the line before.
  EXPECT_EQ(rows.basis[0], TimeBasis::kNone);
  EXPECT_EQ(rows.basis[1], TimeBasis::kWritten);
  EXPECT_EQ(rows.basis[2], TimeBasis::kLineBefore);
  EXPECT_EQ(rows.time_ns[2], rows.time_ns[1]);
}

TEST(LogMessages, LinesWithoutAPrefixOfTheFabricManager) {
  const LogRows rows = RowsOf(kKernel,
                              "[Feb 25 2025 13:59:45] [INFO] [tid 1803] Received\n"
                              "Message payload details: x\n"
                              "\n"
                              "[Feb 25 2025 13:59:46] [INFO] [tid 1808] next\n");
  EXPECT_EQ(rows.head, (std::vector<uint32_t>{1, 1, 1, 4}));
}

TEST(LogMessages, ColoursAndOddBytes) {
  const LogRows rows = RowsOf(kEngine,
                              "\x1b[31mred \x1b[38;2;180;60;0mtext\x1b[39m\r\n"
                              "bad \xff\xfe bytes\n"
                              "cut \x1b[");
  EXPECT_EQ(rows.Text(0), "red text");
  EXPECT_EQ(rows.Text(1), "bad \\xff\\xfe bytes");
  EXPECT_EQ(rows.Text(2), "cut ");
  EXPECT_EQ(rows.size(), 3U);
}

// How the text is cut into windows must not matter.
TEST(LogMessages, WindowsDoNotMatter) {
  const std::string text =
      "INFO 06-15 00:00:01 [a.py:1] Traceback (most recent call last):\n"
      "INFO 06-15 00:00:01 [a.py:1]   File\nINFO 06-15 00:00:01 [a.py:1] ValueError: x\n"
      "(EngineCore_0 pid=3) text\n[rank0]:x\nINFO 06-15 00:00:02 [a.py:2] y\n";
  const ClueFinder clues(kEngine.clues);
  LogBuilder whole(kEngine, clues, LogClock(kFileTime, 0));
  whole.Add(text);
  const LogRows expected = whole.TakeRows();
  LogBuilder parts(kEngine, clues, LogClock(kFileTime, 0));
  std::vector<uint32_t> heads;
  std::string texts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    parts.Add(std::string_view(text).substr(begin, end - begin));
    const LogRows rows = parts.TakeRows();
    heads.insert(heads.end(), rows.head.begin(), rows.head.end());
    texts += rows.text;
    begin = end;
  }
  EXPECT_EQ(heads, expected.head);
  EXPECT_EQ(texts, expected.text);
}

// "kind|severity|rank|pid|gpu|fields" of the events that lines tell of.
Strings EventsOf(const LogFamily& family, std::string_view text) {
  Strings events;
  for (const LogEvent& event : RowsOf(family, text).observed.events) {
    events.push_back(fmt::format("{}|{}|{}|{}|{}|{}", event.kind, SeverityName(event.severity),
                                 event.rank, event.pid, event.gpu, event.fields));
  }
  return events;
}

TEST(LogEvents, Kernel) {
  EXPECT_EQ(
      EventsOf(
          kKernel,
          "[1.0] NVRM: Xid (PCI:0000:9B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen "
          "off the bus.\n"
          "[1.0] NVRM: Xid (PCI:0000:01:00): 31, Ch 00000013, engmask 00000101\n"
          "[1.0] nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61 egress\n"
          "[1.0] INFO: task python:4711 blocked for more than 120 seconds.\n"
          "[1.0] NVRM: Xid (PCI:0000:9b:00): broken\n"),
      (Strings{R"(xid|fatal|-1|-1|0000:9b:00.0|{"xid":79,"meaning":"GPU has fallen off the bus",)"
               R"("message":"GPU has fallen off the bus."})",
               R"(xid|error|-1|-1|0000:01:00.0|{"xid":31,"meaning":"GPU memory page fault",)"
               R"("message":"Ch 00000013, engmask 00000101"})",
               R"(sxid|warning|-1|-1|0000:86:00.0|{"sxid":12028,"link":61})",
               R"(hung_task|error|-1|4711||{"process":"python","blocked_s":120})"}));
}

TEST(LogEvents, Engines) {
  EXPECT_EQ(
      EventsOf(
          kEngine,
          "WARNING 05-09 00:49:33 scheduler.py:1057] Sequence group 7 is preempted by "
          "PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. "
          "total_cumulative_preemption_cnt=1\n"
          "[2025-11-11 04:27:58 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 2, "
          "#new_token_ratio: 0.9998 -> 1.0000\n"
          "[2025-11-11 04:27:58 TP0] Scheduler watchdog timeout (self.watchdog_timeout=300, "
          "self.soft=False)\n"
          "INFO 01-22 18:25:07 [async_llm.py:228] Added request eval-1-x.\n"
          "n:1:1 [0] NCCL INFO NET/IB : Got completion from peer 10.0.0.1<54862> with status=12 "
          "opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0\n"
          "n:1:1 [0] NCCL INFO ncclCommInitRankConfig comm 0x1 rank 3 nranks 4 cudaDev 0 nvmlDev 0 "
          "busId 101d0 commId 0xb07 - Init START\n"),
      (Strings{R"(preemption|warning|-1|-1||{"request":"7","mode":"RECOMPUTE","total":1})",
               R"(retraction|warning|-1|-1||{"requests":2})",
               R"(engine_watchdog_timeout|fatal|-1|-1||{"timeout_s":300})",
               R"(request_added|info|-1|-1||{"request":"eval-1-x"})",
               R"(ib_completion_error|error|-1|-1||{"peer":"10.0.0.1<54862>","status":12,)"
               R"("meaning":"transport retries exceeded: the peer does not answer",)"
               R"("vendor_error":129,"adapter":"mlx5_0"})",
               R"(nccl_init_start|info|-1|-1||{"communicator":"0xb07","communicator_rank":3,)"
               R"("ranks":4,"cuda_device":0,"bus":"101d0"})"}));
}

TEST(LogEvents, WhateverTheProgramThatWroteTheFile) {
  // An engine's line in a journal, the driver's line in an engine's log.
  const LogRows rows =
      RowsOf(kKernel,
             "Jan 21 04:41:44 host1 vllm[123]: (EngineCore_DP0 pid=124) ERROR 01-21 "
             "04:41:44 [core.py:1008] EngineCore encountered a fatal error.\n");
  ASSERT_EQ(rows.observed.events.size(), 1U);
  EXPECT_STREQ(rows.observed.events[0].kind, "engine_death");
  EXPECT_EQ(rows.level[0], LogLevel::kError);
  EXPECT_EQ(EventsOf(kEngine, "NVRM: Xid (0000:02:00): 6, PE0001\n"),
            Strings{R"(xid|error|-1|-1|0000:02:00.0|{"xid":6,"message":"PE0001"})"});
  // An id at the end of a line may have been cut with it.
  EXPECT_EQ(EventsOf(kEngine, "INFO 05-20 01:00:00 [a.py:1] Added request chatcmpl-dcd7\n"),
            Strings{});
  EXPECT_EQ(EventsOf(kEngine, "INFO 05-20 01:00:00 [a.py:1] Aborted request(s) a,b.\n"),
            (Strings{R"(request_aborted|info|-1|-1||{"request":"a"})",
                     R"(request_aborted|info|-1|-1||{"request":"b"})"}));
  // What users ask is no event.
  EXPECT_EQ(
      EventsOf(kEngine,
               "INFO 05-20 01:00:00 [logger.py:42] Received request cmpl-1: prompt: 'CUDA error: "
               "x, EngineCore encountered a fatal error', params: y\n"),
      Strings{R"(request_received|info|-1|-1||{"request":"cmpl-1"})"});
}

TEST(LogMessages, LinesThatDoNotSayWhoGoOnWithTheLineBefore) {
  const LogRows rows =
      RowsOf(kEngine,
             "[2025-11-11 04:27:58 TP0] Scheduler hit an exception: Traceback (most "
             "recent call last):\n"
             "  File \"a.py\"\n    self.x()\nValueError: bad shape\n\n"
             "[2025-11-11 04:27:59] Received sigquit from a child process.\n");
  EXPECT_EQ(rows.head, (std::vector<uint32_t>{1, 1, 1, 1, 1, 6}));
}

TEST(LogMessages, BeyondTheProcessesThatAreToldApartLinesAreNobodys) {
  std::string text;
  for (int pid = 1; pid <= 65'600; ++pid) text += fmt::format("(P pid={}) x\n", pid);
  LogBuilder builder(kEngine, ClueFinder(kEngine.clues), LogClock(kFileTime, 0));
  builder.Add(text);
  const LogRows rows = builder.TakeRows();
  EXPECT_EQ(builder.lines_of_nobody(), 64U);
  EXPECT_EQ(builder.processes()[rows.process.back()], LogProcess{});
}

TEST(LogFormat, WhatIsALog) {
  const auto is_log = [](std::string_view text) {
    for (const Format& format : Formats()) {
      if (format.recognises(text, "x.txt")) return std::string(format.name);
    }
    return std::string();
  };
  EXPECT_EQ(is_log("INFO 05-20 01:00:00 [a.py:1] x\n"), "engine_log");
  EXPECT_EQ(is_log("Traceback (most recent call last):\n  File\nValueError: x\n"), "engine_log");
  EXPECT_EQ(is_log("[rank5]:Traceback (most recent call last):\n[rank5]:ValueError: x\n"),
            "engine_log");
  EXPECT_EQ(is_log("# Tool\n\nInstall it.\n\nNOTE: x\nWARNING: back up first\n"), "");
  EXPECT_EQ(is_log("ERROR: int = 3\n"), "");
  EXPECT_EQ(is_log("time,value\n2026-05-19 19:31:00,7\n"), "");
  EXPECT_EQ(is_log("id,a,b,c;d\n1,2,3,x;y\n4,5,6,x;y\n"), "");
  EXPECT_EQ(is_log("\xef\xbb\xbfINFO 05-20 01:00:00 [a.py:1] x\n"), "engine_log");
  const std::string nccl = "node-7:4000:4100 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1]\n";
  EXPECT_EQ(is_log(nccl + nccl), "nccl_log");
  EXPECT_EQ(is_log(nccl + nccl + "[rank0]:[titan] 2026-05-19 19:31:29,955 - root - INFO - x\n"),
            "engine_log");
  EXPECT_EQ(is_log("2025-01-21T04:41:44,283302+00:00 NVRM: Xid (PCI:0000:9b:00): 79, pid=1\n"),
            "kernel_log");
  EXPECT_EQ(is_log("[24128.828315][ T1234] NVRM: x\n"), "kernel_log");
}

TEST(LogEvents, OlderWatchdog) {
  EXPECT_EQ(EventsOf(kEngine,
                     "[E ProcessGroupNCCL.cpp:475] [PG 1 Rank 5] Exception (either an error or "
                     "timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, "
                     "last completed NCCL work: 1579.\n"),
            (Strings{R"(nccl_watchdog_status|error|5|-1||{"group":"1","sequence":1580,)"
                     R"("last_enqueued":1582,"last_completed":1579})"}));
}

// "name=value" of what engines report.
Strings ValuesOf(std::string_view text) {
  Strings values;
  for (const LogValue& value : RowsOf(kEngine, text).observed.values) {
    values.push_back(fmt::format("{}={:.10g}", value.name, value.value));
  }
  return values;
}

TEST(LogValues, EnginesReport) {
  EXPECT_EQ(
      ValuesOf("INFO 01-22 18:25:07 [loggers.py:259] Engine 000: Avg prompt throughput: 23998.2 "
               "tokens/s, Avg generation throughput: 18.1 tokens/s, Running: 10 reqs, Waiting: "
               "90 reqs, GPU KV cache usage: 19.3%, Prefix cache hit rate: 0.0%, New key: 7\n"),
      (Strings{"vllm:avg_prompt_throughput_toks_per_s=23998.2",
               "vllm:avg_generation_throughput_toks_per_s=18.1", "vllm:num_requests_running=10",
               "vllm:num_requests_waiting=90", "vllm:kv_cache_usage_perc=0.193",
               "vllm:prefix_cache_hit_rate=0", "vllm:new_key=7"}));
  EXPECT_EQ(ValuesOf("[2025-11-11 04:27:58 TP0] Decode batch [51341], #running-req: 251, #token: "
                     "2811200, token usage: 1.00, cuda graph: True, gen throughput (token/s): "
                     "2055.94, #queue-req: 655, \n"),
            (Strings{"sglang:num_running_reqs=251", "sglang:decode_token=2811200",
                     "sglang:token_usage=1", "sglang:decode_cuda_graph=1",
                     "sglang:gen_throughput=2055.94", "sglang:num_queue_reqs=655"}));
}

}  // namespace
}  // namespace telltale::log
