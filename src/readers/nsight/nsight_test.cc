// Nsight Systems exports: the real ones against SQL on the file itself, and small ones of older and
// odd shapes written here.

#include <filesystem>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "readers/nsight/export_part.h"
#include "readers/nsight/nsight_loader.h"
#include "tests/support/inspector_support.h"
#include "tests/support/trace_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

// Rows of a query on the file, cells joined by '|'.
Strings FileRows(const std::string& path, const std::string& sql) {
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open_v2(("file:" + path + "?immutable=1").c_str(), &handle,
                            SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr),
            SQLITE_OK);
  Strings rows;
  char* error = nullptr;
  sqlite3_exec(
      handle, sql.c_str(),
      [](void* out, int count, char** values, char**) {
        std::string row;
        for (int i = 0; i < count; ++i) {
          row += (i > 0 ? "|" : "") + std::string(values[i] != nullptr ? values[i] : "-");
        }
        static_cast<Strings*>(out)->push_back(row);
        return 0;
      },
      &rows, &error);
  EXPECT_EQ(error, nullptr) << error;
  sqlite3_close(handle);
  return rows;
}

int64_t FileInteger(const std::string& path, const std::string& sql) {
  const Strings rows = FileRows(path, sql);
  return rows.size() == 1 ? std::stoll(rows[0]) : -1;
}

class NsightSamples : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (TraceSamples().empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
    path_ = TraceSamples() + "/" + GetParam();
    report_ = store_.Ingest({path_}).sources.at(0);
    ASSERT_EQ(report_.status, SourceStatus::kIngested) << report_.message;
  }
  std::string path_;
  TestStore store_;
  SourceReport report_;
};

TEST_P(NsightSamples, RowsAndLossesAreTheFile) {
  const std::map<std::string, std::string> tables = {
      {"CUPTI_ACTIVITY_KIND_KERNEL", "kind = 'kernel'"},
      {"CUPTI_ACTIVITY_KIND_MEMCPY", "kind = 'memcpy'"},
      {"CUPTI_ACTIVITY_KIND_MEMSET", "kind = 'memset'"},
      {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "kind = 'sync'"},
      {"CUPTI_ACTIVITY_KIND_RUNTIME", "kind IN ('runtime', 'driver')"},
      {"NVTX_EVENTS", "kind IN ('range', 'operator', 'communication')"},
      {"CUPTI_ACTIVITY_KIND_OVERHEAD UNION ALL SELECT start FROM PROFILER_OVERHEAD",
       "kind = 'other'"},
  };
  int64_t all = 0;
  for (const auto& [table, where] : tables) {
    const int64_t rows =
        FileInteger(path_, "SELECT count(*) FROM (SELECT start FROM " + table + ")");
    EXPECT_EQ(store_.Integer("SELECT count(*) FROM events WHERE " + where), rows) << table;
    all += rows;
  }
  EXPECT_EQ(static_cast<int64_t>(report_.records), all);
  EXPECT_EQ(report_.rows, report_.records);
}

TEST_P(NsightSamples, NoKernelIsAttachedAcrossProcesses) {
  EXPECT_EQ(
      store_.Integer("SELECT count(*) FROM events g JOIN events c ON c.event = g.parent "
                     "WHERE g.kind IN ('kernel', 'memcpy', 'memset', 'sync') AND g.pid <> c.pid"),
      0);
  // Kernels with a launch, by SQL on the file.
  const int64_t launched =
      FileInteger(path_,
                  "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL k WHERE EXISTS (SELECT 1 FROM "
                  "CUPTI_ACTIVITY_KIND_RUNTIME r WHERE r.correlationId = k.correlationId AND "
                  "r.globalTid - (r.globalTid & 16777215) = k.globalPid)");
  EXPECT_EQ(
      store_.Integer("SELECT count(*) FROM events WHERE kind = 'kernel' AND parent IS NOT NULL"),
      launched);
  const int64_t orphans =
      FileInteger(path_, "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") - launched;
  EXPECT_EQ(orphans, GetParam().find("alltoall") != std::string::npos ? 24 : 1810);
  EXPECT_GE(store_.Lost("gpu_work_without_launch"), orphans);
}

TEST_P(NsightSamples, TimesAreThoseOfTheFile) {
  const int64_t start_ns =
      FileInteger(path_, "SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME");
  EXPECT_EQ(
      store_.Rows("SELECT name, count(*), sum(duration_ns)::BIGINT, min(start_ns), pid FROM events "
                  "WHERE kind = 'kernel' GROUP BY name, pid ORDER BY ALL"),
      FileRows(
          path_,
          "SELECT s.value, count(*), sum(k.end - k.start), min(k.start) + " +
              std::to_string(start_ns) +
              ", (k.globalPid >> 24) & 16777215 FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds "
              "s ON s.id = k.demangledName GROUP BY 1, 5 ORDER BY 1, 2, 3, 4, 5"));
  EXPECT_EQ(
      store_.Rows("SELECT name, count(*), sum(duration_ns)::BIGINT FROM events WHERE kind = "
                  "'operator' GROUP BY name ORDER BY ALL"),
      FileRows(
          path_,
          "SELECT CASE WHEN instr(text, ', seq = ') > 0 AND instr(text, ', seq = ') < "
          "instr(text, ', op_id = ') THEN substr(text, 1, instr(text, ', seq = ') - 1) ELSE "
          "substr(text, 1, instr(text, ', op_id = ') - 1) END, count(*), sum(end - start) FROM "
          "NVTX_EVENTS WHERE text LIKE '%, op_id = %' AND text NOT LIKE 'nccl:%' GROUP BY 1 "
          "ORDER "
          "BY "
          "1, 2, 3"));
}

TEST_P(NsightSamples, TheCallChainIsThePlainOne) {
  const auto file = nsight::SqliteFile::Open(path_);
  ASSERT_TRUE(file);
  const auto data = nsight::LoadExport(**file, 1);
  ASSERT_TRUE(data);
  const trace::CallChain chain = trace::LinkCallChain(*data, 0);
  const std::vector<uint32_t> plain = PlainNesting(*data, chain.order, 0);
  for (uint32_t i = 0; i < data->events.size(); ++i) {
    if (data->tracks[data->events[i].track].kind == trace::TrackKind::kStream) continue;
    ASSERT_EQ(chain.parent[i], plain[i]) << i;
  }
}

TEST_P(NsightSamples, TheEnvironmentStaysOutside) {
  std::set<std::string> secrets;
  for (const std::string& row :
       FileRows(path_,
                "SELECT value FROM META_DATA_CAPTURE WHERE name LIKE '%ENVIRONMENT%' AND "
                "length(value) > 12")) {
    secrets.insert(row);
  }
  ASSERT_FALSE(secrets.empty());
  for (const std::string& row : store_.Dump()) {
    for (const std::string& secret : secrets) ASSERT_EQ(row.find(secret), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(, NsightSamples,
                         testing::Values("nsys_2026.2_h100_2gpu_fsdp_1s.sqlite",
                                         "nsys_2026.2_h100_2gpu_fsdp_alltoall.sqlite"),
                         [](const auto& sample) {
                           return sample.param.find("alltoall") != std::string::npos ? "AllToAll"
                                                                                     : "OneSecond";
                         });

// --- Written here.

class Nsight : public testing::Test {
 protected:
  std::string Export(const std::string& sql, const std::string& name = "report.sqlite") {
    const std::string path = folder_ / name;
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(handle);
    return path;
  }
  SourceReport Ingest(const std::string& sql) { return store_.Ingest({Export(sql)}).sources.at(0); }
  TempFolder folder_;
  TestStore store_;
};

constexpr const char* kStrings =
    "CREATE TABLE StringIds (id INTEGER, value TEXT);"
    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'gemm<float>'), (3, "
    "'NCCL'), "
    "(4, 'registered'), (5, 'poll');";
// Process 111 of a machine whose hardware id makes ids negative.
constexpr const char* kTid = "-9223372034992504721";  // 0x800000006F00006F as signed
constexpr const char* kPid = "-9223372034992504832";

TEST_F(Nsight, HoldsOldSchemasAndNegativeIds) {
  // As of 2022: few columns, driver calls in a table of their own.
  Ingest(std::string(kStrings) +
         "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, globalTid INT, "
         "correlationId INT, nameId INT);"
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, contextId "
         "INT, streamId INT, "
         "correlationId INT, globalPid INT, demangledName INT, shortName INT, gridX INT, gridY "
         "INT, gridZ INT, "
         "blockX INT, blockY INT, blockZ INT, registersPerThread INT);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (100, 200, " +
         kTid +
         ", 7, 1);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (150, 400, 0, 1, 7, 7, " +
         kPid + ", 2, 2, 1,2,3, 4,5,6, 32);");
  EXPECT_EQ(store_.Rows("SELECT kind, name, pid, start_ns, duration_ns, parent_basis FROM events "
                        "ORDER BY start_ns"),
            (Strings{"runtime|cudaLaunchKernel|111|100|100|-",
                     "kernel|gemm<float>|111|150|250|correlation"}));
}

TEST_F(Nsight, ReadsTextsDomainsAndTypesOfNvtx) {
  const SourceReport report = Ingest(
      std::string(kStrings) +
      "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, textId INT, "
      "globalTid INT, endGlobalTid "
      "INT, domainId INT);"
      "INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, 'NCCL', NULL, 16777217, NULL, 3),"
      "(10, 90, 59, 'outer', NULL, 16777217, NULL, 0), (20, 30, 59, NULL, 4, 16777217, NULL, 0),"
      "(40, 50, 59, 'ncclAllReduce', NULL, 16777217, NULL, 3),"
      "(41, 45, 59, 'aten::mul, seq = 5, op_id = 77', NULL, 16777217, NULL, 0),"
      "(60, 95, 60, 'moves', NULL, 16777217, 16777218, 0), (70, NULL, 34, 'mark', NULL, "
      "16777217, "
      "NULL, 0),"
      "(80, NULL, 59, 'open', NULL, 16777217, NULL, 0), (81, 82, 99, 'new', NULL, 16777217, "
      "NULL, "
      "0);");
  EXPECT_EQ(store_.Rows(
                "SELECT e.kind, e.name, e.external_id, p.name FROM events e LEFT JOIN events p ON "
                "p.event = e.parent ORDER BY e.start_ns"),
            (Strings{"range|outer|-|-", "range|registered|-|outer",
                     "communication|NCCL:ncclAllReduce|-|outer",
                     "operator|aten::mul|77|NCCL:ncclAllReduce", "range|moves|-|-",
                     "marker|mark|-|outer", "range|open|-|outer"}));
  EXPECT_EQ(report.records, 9U);
  EXPECT_EQ(report.rows, 8U);
  EXPECT_EQ(store_.Lost("unknown_event_type"), 1);
  EXPECT_EQ(store_.Lost("unfinished_event"), 1);
}

// Row ids far apart put rows into several pieces; tables without them are read whole.
TEST_F(Nsight, PiecesComeOutAsReadByOneThread) {
  const std::string path = Export(
      std::string(kStrings) +
      "CREATE TABLE NVTX_EVENTS (id INTEGER PRIMARY KEY, start INT, end INT, eventType INT, text "
      "TEXT, globalTid INT, domainId INT);"
      "INSERT INTO NVTX_EVENTS VALUES (-9000000000000000000, 1, 9, 59, 'first', 16777217, 3), "
      "(5, 2, 3, 59, 'second', 16777217, 3), (6, 2, 'x', 59, 'wrong', 16777217, 0), "
      "(600000, 4, 5, 59, 'third', 16777218, 0), "
      "(9000000000000000000, 0, NULL, 75, 'NCCL', 16777217, 3);"
      "CREATE TABLE OSRT_API (k INT PRIMARY KEY, start INT, end INT, globalTid INT, nameId INT) "
      "WITHOUT ROWID;"
      "INSERT INTO OSRT_API VALUES (1, 5, 6, 16777217, 5), (2, 7, 8, 16777217, 5);");
  const auto rows_of = [&](unsigned threads) {
    const auto file = nsight::SqliteFile::Open(path);
    const auto data = nsight::LoadExport(**file, threads);
    Strings rows;
    for (const trace::Event& event : data->events) {
      rows.push_back(fmt::format("{} {} {} {}", event.position, data->names[event.name],
                                 data->tracks[event.track].id, trace::EventKindName(event.kind)));
    }
    for (const trace::Loss& loss : data->losses) {
      rows.push_back(fmt::format("{} {} at {}", loss.count, loss.kind, loss.first_position));
    }
    return rows;
  };
  EXPECT_EQ(rows_of(1), (Strings{"0 NCCL:first 1 communication", "1 NCCL:second 1 communication",
                                 "3 third 2 range", "5 poll 1 other", "6 poll 1 other",
                                 "1 invalid_time at 2", "1 no_session_start at 0"}));
  EXPECT_EQ(rows_of(3), rows_of(1));
}

TEST_F(Nsight, WhatProcessesWroteAreLines) {
  const SourceReport report =
      Ingest(std::string(kStrings) +
             "INSERT INTO StringIds VALUES (100, '/tmp/streams/pid_1_stdout.log'), (101, 'one' || "
             "char(10) || "
             "'two' || char(13, 10) || char(10) || 'four'), (102, '/tmp/pid_1_stderr.log'), (103, "
             "'/root/nsys-config.ini'), (104, 'secret=1');"
             "CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);"
             "INSERT INTO OSRT_API VALUES (5, 6, 16777217, 5);"
             "CREATE TABLE ProcessStreams (globalPid INT, filenameId INT, contentId INT);"
             "INSERT INTO ProcessStreams VALUES (16777216, 100, 101), (16777216, 102, 999), "
             "(16777216, 103, "
             "104), (33554432, 102, 101);");
  EXPECT_EQ(report.records, 1U);
  EXPECT_EQ(
      store_.Rows("SELECT p.stream, l.line, t.pid, l.text FROM log_line l JOIN log_process p USING "
                  "(log_process) LEFT JOIN trace_process t USING (trace_process) "
                  "ORDER BY 3 NULLS LAST, 1, 2"),
      (Strings{"stdout|1|1|one", "stdout|2|1|two", "stdout|3|1|", "stdout|4|1|four",
               "stderr|1|-|one", "stderr|2|-|two", "stderr|3|-|", "stderr|4|-|four"}));
  EXPECT_EQ(store_.Lost("output_without_text"), 1);
}

TEST_F(Nsight, AReportThatIsWrittenAnewReplacesWhatItWas) {
  const std::string tables =
      std::string(kStrings) +
      "CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);"
      "INSERT INTO OSRT_API VALUES ";
  Ingest(tables + "(5, 6, 16777217, 5), (7, 8, 16777217, 5);");
  std::filesystem::remove(folder_.path() + "/report.sqlite");
  const SourceReport report = Ingest(tables + "(9, 10, 16777217, 5);");
  EXPECT_NE(report.message.find("written anew"), std::string::npos) << report.message;
  EXPECT_EQ(store_.Rows("SELECT start_ns FROM events"), Strings{"9"});
  EXPECT_EQ(store_.Integer("SELECT count(*) FROM source"), 1);
}

TEST_F(Nsight, AnUnfinishedTransactionIsNotPassedOver) {
  const std::string path =
      Export(std::string(kStrings) + "CREATE TABLE OSRT_API (start INT);", "j.sqlite");
  folder_.Write("j.sqlite-journal", std::string(512, '\0'));
  EXPECT_EQ(store_.Ingest({path}).sources.at(0).status, SourceStatus::kIngested);
  folder_.Write("j.sqlite-journal", "\xd9\xd5\x05\xf9\x20\xa1\x63\xd7 and more");
  const std::string other =
      Export(std::string(kStrings) + "CREATE TABLE OSRT_API (end INT);", "k.sqlite");
  std::filesystem::rename(other, path);
  const SourceReport report = store_.Ingest({path}).sources.at(0);
  EXPECT_EQ(report.status, SourceStatus::kFailed);
  EXPECT_NE(report.message.find("-journal"), std::string::npos) << report.message;
}

TEST_F(Nsight, NumbersThatDoNotFitAreNone) {
  Ingest(std::string(kStrings) +
         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT, "
         "correlationId INT, globalPid INT, demangledName INT, gridX INT, gridY INT, blockX INT, "
         "registersPerThread INT, staticSharedMemory INT, dynamicSharedMemory INT);"
         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 0, 7, 'abc', 16777216, 5, -1, "
         "4294967297, "
         "32, -1, 9223372036854775807, 1);");
  EXPECT_EQ(store_.Rows("SELECT * EXCLUDE (event) FROM kernel_launches"),
            Strings{"0|0|0|32|0|0|0|1|-"});
  EXPECT_EQ(store_.Rows("SELECT correlation FROM events"), Strings{"-"});
}

TEST_F(Nsight, PayloadsAreKept) {
  Ingest(std::string(kStrings) +
         "INSERT INTO StringIds VALUES (100, '{\"bytes\":8}');"
         "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT, "
         "jsonTextId INT, jsonText TEXT);"
         "INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'a', 16777217, NULL, '{\"x\":1}'), (2, 3, 59, "
         "'b', "
         "16777217, 100, NULL), (4, 5, 59, 'c', 16777217, NULL, NULL);");
  EXPECT_EQ(
      store_.Rows(
          "SELECT e.name, p.json FROM event_payload p JOIN events e USING (event) ORDER BY 1"),
      (Strings{R"(a|{"x":1})", R"(b|{"bytes":8})"}));
}

TEST_F(Nsight, AddsTheSessionStartUnlessTimesAreUtc) {
  const std::string tables =
      std::string(kStrings) +
      "CREATE TABLE OSRT_API (start INT, end INT, globalTid INT, nameId INT);"
      "INSERT INTO OSRT_API VALUES (5, 6, 16777217, 5);"
      "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT);"
      "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);"
      "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);";
  store_.Ingest(
      {Export(tables, "a.sqlite"),
       Export(
           tables + "INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PARAM_TIME_NORMALIZE', 'true')",
           "b.sqlite")});
  EXPECT_EQ(store_.Rows("SELECT start_ns FROM events ORDER BY 1"),
            (Strings{"5", "1700000000000000005"}));
  EXPECT_EQ(store_.Lost("no_session_start"), 0);
}

TEST_F(Nsight, CountsWhatItDoesNotRead) {
  const SourceReport report = Ingest(
      std::string(kStrings) +
      "CREATE TABLE SCHED_EVENTS (start INT, cpu INT); INSERT INTO SCHED_EVENTS VALUES (1, 2), "
      "(3, "
      "4);"
      "CREATE TABLE ENUM_NEW (id INT, name TEXT); INSERT INTO ENUM_NEW VALUES (1, 'x');"
      "CREATE TABLE DIAGNOSTIC_EVENT (timestamp INT, severity INT, text TEXT);"
      "INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 'fine'), (2, 2, 'dropped 5 events');"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT, deviceId INT, streamId "
      "INT, graphId INT);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 5, 0, 7, 3), (9, 5, 0, 7, 3);");
  EXPECT_EQ(report.records, 6U);
  EXPECT_EQ(report.rows, 3U);
  EXPECT_EQ(store_.Lost("table_not_read"), 2);
  EXPECT_EQ(store_.Lost("invalid_time"), 1);
  EXPECT_EQ(store_.Rows("SELECT kind, name FROM events"), Strings{"graph|CUDA graph 3"});
  EXPECT_EQ(store_.Rows("SELECT detail FROM ingest_loss WHERE kind = 'profiler_diagnostic'"),
            Strings{"dropped 5 events"});
}

TEST_F(Nsight, RefusesOtherAndDamagedFiles) {
  SourceReport report =
      store_.Ingest({Export("CREATE TABLE t (a INT)", "other.sqlite")}).sources.at(0);
  EXPECT_EQ(report.status, SourceStatus::kNotRecognised);
  const std::string bytes = BytesOf(Export(
      std::string(kStrings) + "CREATE TABLE NVTX_EVENTS (start INT, text TEXT);", "whole.sqlite"));
  for (size_t size : {size_t{16}, size_t{100}, size_t{4096}, bytes.size() - 100}) {
    std::string damaged = bytes.substr(0, size);
    report =
        store_.Ingest({folder_.Write(fmt::format("cut{}.sqlite", size), damaged)}).sources.at(0);
    EXPECT_FALSE(report.status == SourceStatus::kIngested && report.losses.empty() &&
                 report.rows > 0);
  }
  std::string overwritten = bytes;
  for (size_t i = 4096; i < overwritten.size(); i += 3) overwritten[i] = static_cast<char>(i * 31);
  (void)store_.Ingest({folder_.Write("overwritten.sqlite", overwritten)});
  EXPECT_GE(store_.Integer("SELECT count(*) FROM source"), 0);
}

TEST_F(Nsight, AnOpenLogBesideIsNotPassedOver) {
  const std::string path = Export(std::string(kStrings));
  folder_.Write("report.sqlite-wal", "pages");
  const SourceReport report = store_.Ingest({path}).sources.at(0);
  EXPECT_EQ(report.status, SourceStatus::kFailed);
  EXPECT_NE(report.message.find("wal_checkpoint"), std::string::npos);
}

TEST_F(Nsight, TextWhereATimeShouldBeIsLost) {
  const SourceReport report =
      Ingest(std::string(kStrings) +
             "CREATE TABLE OSRT_API (start, end, globalTid INT, nameId INT);"
             "INSERT INTO OSRT_API VALUES ('abc', 6, 16777217, 5), (5, 6, 16777217, 5);");
  EXPECT_EQ(report.rows, 1U);
  EXPECT_EQ(store_.Lost("invalid_time"), 1);
}

TEST(NsightNames, LoseWhatMakesEachDifferent) {
  uint64_t op_id = 0;
  EXPECT_EQ(nsight::NameOfNvtxText("FlashAttnFunc, seq = 45368, op_id = 990812", op_id),
            "FlashAttnFunc");
  EXPECT_EQ(op_id, 990812U);
  op_id = 0;
  EXPECT_EQ(nsight::NameOfNvtxText("FSDP::pre_forward (a, b), op_id = 5, sizes = [[1]]", op_id),
            "FSDP::pre_forward (a, b)");
  EXPECT_EQ(op_id, 5U);
  EXPECT_EQ(nsight::NameOfNvtxText("plain", op_id), "plain");
  EXPECT_EQ(nsight::WithoutApiVersion("cudaLaunchKernelExC_v11060"), "cudaLaunchKernelExC");
  EXPECT_EQ(nsight::WithoutApiVersion("cuLaunchKernelEx"), "cuLaunchKernelEx");
  EXPECT_EQ(nsight::WithoutApiVersion("x_v"), "x_v");
}

}  // namespace
}  // namespace telltale::test
