// Ingest of NCCL Inspector logs, against DuckDB's read_json into a table of the same columns: both
// from the page cache, both from no file to a checkpointed one, in turn, whole processes with their
// start.
//
//   ingest_bench --telltale build/release/telltale --data DIR [--runs 5] [--reference-runs 2]
//                [--work build/bench] [--name NAME]
//
// Writes rows of build/bench.json (name, ours, reference, ratio, unit, target, command), one a
// line.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "bench/measure.h"
#include "store/database.h"

namespace {

namespace fs = std::filesystem;
using telltale::bench::Execute;
using telltale::bench::Median;
using telltale::bench::ReadWhole;
using telltale::bench::RemoveStore;

void RunReference(const std::string& data, const std::string& file) {
  telltale::DatabaseOptions options;
  options.access = telltale::Access::kReadWrite;
  auto database = telltale::Database::Open(file, options);
  if (!database) _exit(1);
  auto connection = (*database)->Connect();
  if (!connection) _exit(1);
  const std::string sql = fmt::format(
      R"sql(
CREATE TABLE record AS
SELECT header.id, header.comm_name, header.rank, header.n_ranks, header.nnodes,
       metadata.inspector_output_format_version, metadata.git_rev, metadata.rec_mechanism,
       metadata.dump_timestamp_us, metadata.hostname, metadata.pid,
       coalesce(coll_perf.coll, p2p_perf.p2p) AS operation,
       coalesce(coll_perf.coll_sn, p2p_perf.p2p_sn) AS sequence,
       p2p_perf.p2p_peer AS peer,
       coalesce(coll_perf.coll_msg_size_bytes, p2p_perf.p2p_msg_size_bytes) AS message_bytes,
       coalesce(coll_perf.coll_exec_time_us, p2p_perf.p2p_exec_time_us) AS exec_time_us,
       coalesce(coll_perf.coll_timing_source, p2p_perf.p2p_timing_source) AS timing_source,
       coalesce(coll_perf.coll_algobw_gbs, p2p_perf.p2p_algobw_gbs) AS algobw_gbs,
       coalesce(coll_perf.coll_busbw_gbs, p2p_perf.p2p_busbw_gbs) AS busbw_gbs
FROM read_json('{}/*.log', format = 'newline_delimited', columns = {{
  header: 'STRUCT(id VARCHAR, comm_name VARCHAR, rank INTEGER, n_ranks INTEGER, nnodes UINTEGER)',
  metadata: 'STRUCT(inspector_output_format_version VARCHAR, git_rev VARCHAR, rec_mechanism VARCHAR,
             dump_timestamp_us UBIGINT, hostname VARCHAR, pid UINTEGER)',
  coll_perf: 'STRUCT(coll VARCHAR, coll_sn UBIGINT, coll_msg_size_bytes UBIGINT,
              coll_exec_time_us UBIGINT, coll_timing_source VARCHAR, coll_algobw_gbs DOUBLE,
              coll_busbw_gbs DOUBLE)',
  p2p_perf: 'STRUCT(p2p VARCHAR, p2p_sn UBIGINT, p2p_peer INTEGER, p2p_msg_size_bytes UBIGINT,
             p2p_exec_time_us UBIGINT, p2p_timing_source VARCHAR, p2p_algobw_gbs DOUBLE,
             p2p_busbw_gbs DOUBLE)'}});
CHECKPOINT;)sql",
      data);
  if (const auto status = (*connection)->Run(sql); !status) {
    fmt::print(stderr, "{}\n", status.error().message);
    _exit(1);
  }
}

int64_t CountRecords(const std::string& store) {
  telltale::DatabaseOptions options;
  auto database = telltale::Database::Open(store, options);
  if (!database) return 0;
  auto connection = (*database)->Connect();
  if (!connection) return 0;
  return (*connection)
      ->QueryInteger(
          "SELECT (SELECT count(*) FROM operation_record) + "
          "(SELECT count(*) FROM operation_record_irregular)")
      .value_or(0);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"--telltale", "build/release/telltale"},
                                               {"--data", ""},
                                               {"--runs", "5"},
                                               {"--reference-runs", "2"},
                                               {"--work", "build/bench"},
                                               {"--name", "inspector_ingest"}};
  for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
  const std::string& data = option["--data"];
  const std::string ours_file = option["--work"] + "/ours.duckdb";
  const std::string reference_file = option["--work"] + "/reference.duckdb";

  double bytes = 0;
  for (const auto& entry : fs::directory_iterator(data)) {
    ReadWhole(entry.path());
    bytes += static_cast<double>(entry.file_size());
  }

  const int runs = std::atoi(option["--runs"].c_str());
  const int reference_runs = std::atoi(option["--reference-runs"].c_str());
  const telltale::bench::Comparison compared = telltale::bench::Compare(
      runs, reference_runs,
      {[&] { RemoveStore(ours_file); },
       [&] {
         Execute({option["--telltale"], "--store", ours_file, "--quiet", "ingest", data});
       }},
      {[&] { RemoveStore(reference_file); }, [&] { RunReference(data, reference_file); }});
  const std::vector<double>& ours = compared.ours;
  const std::vector<double>& reference = compared.reference;
  const double records = static_cast<double>(CountRecords(ours_file));
  const double ours_gbs = bytes / Median(ours) / 1e9;
  const double reference_gbs = reference.empty() ? 0 : bytes / Median(reference) / 1e9;
  const double ours_size = static_cast<double>(fs::file_size(ours_file)) / records;
  const double reference_size =
      reference.empty() ? 0 : static_cast<double>(fs::file_size(reference_file)) / records;

  const std::string command = fmt::format("ingest_bench --data {} --runs {} --reference-runs {}",
                                          data, runs, reference_runs);
  const auto row = [&](const char* what, double mine, double other, double ratio, const char* unit,
                       const char* target) {
    telltale::bench::PrintRow(option["--name"] + "_" + what, mine, other, ratio, unit, target,
                              command);
  };
  row("speed", ours_gbs, reference_gbs, Median(compared.ratios), "GB/s of JSON",
      ">= 2.5 and >= 5 x read_json");
  row("records", records / Median(ours) / 1e6, records * reference_gbs / bytes * 1e3,
      Median(compared.ratios), "M records/s", "");
  row("seconds", Median(ours), Median(reference), Median(compared.ratios), "s", "");
  row("best", bytes / *std::min_element(ours.begin(), ours.end()) / 1e9, 0, 0, "GB/s, fastest run",
      "");
  row("size", ours_size, reference_size, reference_size / ours_size, "bytes/record", "<= 6");
  row("peak_memory", compared.peak_bytes / 1e6, compared.reference_peak_bytes / 1e6,
      compared.reference_peak_bytes / compared.peak_bytes, "MB", "<= 1074");
  RemoveStore(ours_file);
  RemoveStore(reference_file);
  return 0;
}
