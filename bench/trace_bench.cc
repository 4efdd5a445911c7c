// Ingest of profiles with their call chains: a simulated Kineto trace against DuckDB's read_json of
// the same events, a smaller one against Python's json (which takes five times the text in memory),
// and a simulated Nsight Systems export against a scan of its rows with SQLite. Whole processes,
// files in the page cache. Of the export also the attribution alone: the time from events in memory
// to the parent of each (order, nesting of ranges and calls, launch of each kernel).
//
//   trace_bench --telltale build/release/telltale --kineto TRACE.json --small-kineto TRACE.json
//               --nsight REPORT.sqlite [--runs 3] [--reference-runs 1] [--work build/bench]
//
// Writes rows of build/bench.json, one a line.

#include <chrono>
#include <filesystem>
#include <map>
#include <numeric>
#include <thread>

#include <fmt/format.h>
#include <sqlite3.h>

#include "bench/measure.h"
#include "readers/nsight/nsight_loader.h"
#include "readers/trace/call_chain.h"
#include "store/database.h"

namespace {

namespace fs = std::filesystem;
using telltale::bench::Execute;
using telltale::bench::Median;
using telltale::bench::ReadWhole;
using telltale::bench::RemoveStore;

void RunReadJson(const std::string& trace, const std::string& store) {
  telltale::DatabaseOptions options;
  options.access = telltale::Access::kReadWrite;
  auto database = telltale::Database::Open(store, options);
  if (!database) _exit(1);
  auto connection = (*database)->Connect();
  if (!connection) _exit(1);
  // The whole document is one JSON value to DuckDB, so it must be allowed to be large.
  const std::string sql = fmt::format(
      R"sql(
CREATE TABLE event AS
SELECT e.ph, e.cat, e.name, e.pid, e.tid, e.ts, e.dur, e.id, e.args.correlation AS correlation,
       e.args."External id" AS external_id
FROM (SELECT unnest(traceEvents) AS e FROM read_json('{}', maximum_object_size = 4294967295, columns = {{
  traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid BIGINT, tid BIGINT, ts DOUBLE,
                dur DOUBLE, id BIGINT, args STRUCT(correlation BIGINT, "External id" BIGINT))[]'}}));
CHECKPOINT;)sql",
      trace);
  if (const auto status = (*connection)->Run(sql); !status) {
    fmt::print(stderr, "{}\n", status.error().message);
    _exit(1);
  }
}

// Loads the file, and goes over the events as a script would.
constexpr const char* kPythonLoop = R"(
import json, sys
names = {}
with open(sys.argv[1]) as file:
    for event in json.load(file)["traceEvents"]:
        key = (event.get("cat"), event.get("name"))
        names[key] = names.get(key, 0.0) + event.get("dur", 0.0)
)";

constexpr const char* kTables[] = {"NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME",
                                   "CUPTI_ACTIVITY_KIND_KERNEL"};

// Reads each value of each row, and does nothing with it.
void ScanSqlite(const std::string& path) {
  sqlite3* handle = nullptr;
  if (sqlite3_open_v2(("file:" + path + "?immutable=1").c_str(), &handle,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) != SQLITE_OK) {
    _exit(1);
  }
  int64_t sum = 0;
  for (const char* table : kTables) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle, fmt::format("SELECT * FROM {}", table).c_str(), -1, &statement,
                       nullptr);
    const int columns = sqlite3_column_count(statement);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      for (int i = 0; i < columns; ++i) sum += sqlite3_column_int64(statement, i);
    }
    sqlite3_finalize(statement);
  }
  sqlite3_close(handle);
  if (sum == 0) _exit(1);
}

// By table.
std::vector<int64_t> RowsOf(const std::string& path) {
  sqlite3* handle = nullptr;
  sqlite3_open_v2(("file:" + path + "?immutable=1").c_str(), &handle,
                  SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  std::vector<int64_t> rows;
  for (const char* table : kTables) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v2(handle, fmt::format("SELECT count(*) FROM {}", table).c_str(), -1,
                       &statement, nullptr);
    rows.push_back(sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0);
    sqlite3_finalize(statement);
  }
  sqlite3_close(handle);
  return rows;
}

// Seconds from events in memory to their parents; the median of `runs` over one load.
double AttributionSeconds(const std::string& path, int runs) {
  const auto file = telltale::nsight::SqliteFile::Open(path);
  if (!file) std::exit(1);
  const auto data = telltale::nsight::LoadExport(**file, std::thread::hardware_concurrency());
  if (!data) std::exit(1);
  std::vector<double> seconds;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const telltale::trace::CallChain chain =
        telltale::trace::LinkCallChain(*data, 0, std::thread::hardware_concurrency());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    seconds.push_back(elapsed.count());
  }
  return Median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"--telltale", "build/release/telltale"},
                                               {"--kineto", ""},
                                               {"--small-kineto", ""},
                                               {"--nsight", ""},
                                               {"--runs", "3"},
                                               {"--reference-runs", "1"},
                                               {"--work", "build/bench"}};
  for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
  const int runs = std::atoi(option["--runs"].c_str());
  const int reference_runs = std::atoi(option["--reference-runs"].c_str());
  const std::string ours_file = option["--work"] + "/trace-ours.duckdb";
  const std::string reference_file = option["--work"] + "/trace-reference.duckdb";

  const auto measure = [&](const std::string& name, const std::string& input, double amount,
                           const char* unit, const char* target, const char* memory_target,
                           const char* reference_name, const std::function<void()>& run_reference) {
    ReadWhole(input);
    const telltale::bench::Comparison compared = telltale::bench::Compare(
        runs, reference_runs,
        {[&] { RemoveStore(ours_file); },
         [&] {
           Execute({option["--telltale"], "--store", ours_file, "--quiet", "ingest", input});
         }},
        {[&] { RemoveStore(reference_file); }, run_reference});
    const double ours_seconds = Median(compared.ours);
    const double reference_seconds = Median(compared.reference);
    const std::string command =
        fmt::format("trace_bench, {}; reference: {}", input, reference_name);
    const auto row = [&](const char* what, double mine, double other, double ratio,
                         const char* row_unit, const char* row_target) {
      telltale::bench::PrintRow(name + "_" + what, mine, other, ratio, row_unit, row_target,
                                command);
    };
    const double ratio = reference_seconds / ours_seconds;
    row("speed", amount / ours_seconds, amount / reference_seconds, ratio, unit, target);
    row("seconds", ours_seconds, reference_seconds, ratio, "s", "");
    row("peak_memory", compared.peak_bytes / 1e6, compared.reference_peak_bytes / 1e6,
        compared.reference_peak_bytes / compared.peak_bytes, "MB", memory_target);
    RemoveStore(ours_file);
    RemoveStore(reference_file);
  };
  if (const std::string& trace = option["--kineto"]; !trace.empty()) {
    measure("kineto_ingest", trace, static_cast<double>(fs::file_size(trace)) / 1e6, "MB/s of JSON",
            ">= 400", "<= 1074", "DuckDB read_json", [&] { RunReadJson(trace, reference_file); });
  }
  if (const std::string& trace = option["--small-kineto"]; !trace.empty()) {
    measure("kineto_small_ingest", trace, static_cast<double>(fs::file_size(trace)) / 1e6,
            "MB/s of JSON", "", "", "Python json.load and a loop over the events", [&] {
              Execute({"/usr/bin/python3", "-c", kPythonLoop, trace});
            });
  }
  if (const std::string& report = option["--nsight"]; !report.empty()) {
    const std::vector<int64_t> rows = RowsOf(report);
    const int64_t all = std::accumulate(rows.begin(), rows.end(), int64_t{0});
    measure("nsight_ingest", report, static_cast<double>(all) / 1e6, "M rows/s", ">= 2", "",
            "SQLite scan of every value", [&] { ScanSqlite(report); });
    telltale::bench::PrintRow(
        "nsight_attribution_seconds", AttributionSeconds(report, runs), 0, 0, "s", "<= 6",
        fmt::format("trace_bench, {}: parents of {} ranges, {} calls and {} kernels in memory",
                    report, rows[0], rows[1], rows[2]));
  }
  return 0;
}
