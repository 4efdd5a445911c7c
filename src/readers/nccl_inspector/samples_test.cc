// Every value of every genuine (and reconstructed) sample comes back from the store exactly as it
// is written in the file. The files are read here once more, by other code.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>

#include "tests/support/inspector_support.h"
#include "tests/support/json_value.h"

namespace telltale::test {
namespace {

using Place = std::pair<std::string, uint64_t>;  // path and line, counted from 1

// A line of a sample, with the header and metadata that it has or that its marker gives it.
struct SampleLine {
  JsonValue value;
  JsonValue header, metadata;
};

struct SampleFile {
  uint64_t lines = 0;
  uint64_t invalid = 0;
  std::map<uint64_t, SampleLine> valid;
};

SampleFile ReadSample(const std::string& path) {
  SampleFile file;
  JsonValue header, metadata;
  for (std::string_view text : LinesOf(BytesOf(path))) {
    ++file.lines;
    if (text.ends_with('\n')) text.remove_suffix(1);
    auto value = ParseJson(text);
    if (!value) {
      ++file.invalid;
      continue;
    }
    // The marker rule: a line without header belongs to the last dump_stats line.
    if (const JsonValue* own = value->Find("header")) {
      header = *own;
      metadata = *value->Find("metadata");
    }
    file.valid[file.lines] = {std::move(*value), header, metadata};
  }
  return file;
}

// A cell as text; integers and strings as they are, NULL as "NULL".
std::string Shown(const Cell& cell) {
  return std::holds_alternative<std::monostate>(cell) ? "NULL" : CellText(cell);
}
std::string TextOrNull(const JsonValue& object, std::string_view key) {
  const JsonValue* const value = object.Find(key);
  return value == nullptr ? "NULL" : value->text;
}

class SampleStore {
 public:
  explicit SampleStore(const std::string& folder) {
    report_ = store_.Ingest({folder}, "", 2);
    for (const SourceReport& source : report_.sources)
      files_[source.path] = ReadSample(source.path);
  }

  // Rows by place; the query gives path and line first.
  std::multimap<Place, std::vector<Cell>> RowsByPlace(const std::string& sql) {
    std::multimap<Place, std::vector<Cell>> rows;
    for (std::vector<Cell>& row : store_.Query(sql).rows) {
      const Place place = {CellText(row[0]), std::stoull(CellText(row[1]))};
      row.erase(row.begin(), row.begin() + 2);
      rows.emplace(place, std::move(row));
    }
    return rows;
  }

  // Calls `check` for each line that has this payload.
  template <typename Check>
  size_t ForEach(const char* payload, const Check& check) {
    size_t count = 0;
    for (const auto& [path, file] : files_) {
      for (const auto& [number, line] : file.valid) {
        const JsonValue* const inner = line.value.Find(payload);
        if (inner == nullptr) continue;
        SCOPED_TRACE(path + ":" + std::to_string(number));
        check(Place{path, number}, line, *inner);
        ++count;
      }
    }
    return count;
  }

  TestStore store_;
  IngestReport report_;
  std::map<std::string, SampleFile> files_;
};

class InspectorSamples : public testing::Test {
 protected:
  void SetUp() override {
    folders_ = InspectorSampleFolders();
    if (folders_.empty()) {
      GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES to the folder that has inspector/";
    }
  }
  std::vector<std::string> folders_;
};

void CheckAccounting(SampleStore& sample) {
  const auto sources = sample.RowsByPlace("SELECT path, 0, lines, rows FROM source");
  EXPECT_EQ(sources.size(), sample.files_.size());
  for (const SourceReport& source : sample.report_.sources) {
    SCOPED_TRACE(source.path);
    const SampleFile& file = sample.files_.at(source.path);
    EXPECT_EQ(source.status, SourceStatus::kIngested);
    EXPECT_EQ(source.records, file.lines);
    EXPECT_EQ(source.rows, file.valid.size());
    EXPECT_EQ(source.records, source.rows + LineLossesOf(source));
    EXPECT_EQ(LineLossesOf(source), file.invalid);
    const auto row = sources.find({source.path, 0});
    ASSERT_NE(row, sources.end());
    EXPECT_EQ(CellText(row->second[0]), std::to_string(file.lines));
    EXPECT_EQ(CellText(row->second[1]), std::to_string(file.valid.size()));
  }
  // The store's own account says the same.
  EXPECT_EQ(
      sample.store_.Text("SELECT sum(lines) - sum(rows) FROM source"),
      sample.store_.Text("SELECT coalesce(sum(count), 0) FROM ingest_loss WHERE class = 'line'"));
}

void CheckHeader(const SampleLine& line, std::span<const Cell> row) {
  EXPECT_EQ(Shown(row[0]), line.header["id"]);
  EXPECT_EQ(Shown(row[1]), TextOrNull(line.header, "comm_name"));
  EXPECT_EQ(Shown(row[2]), line.header["rank"]);
  EXPECT_EQ(Shown(row[3]), line.header["n_ranks"]);
  EXPECT_EQ(Shown(row[4]), line.header["nnodes"]);
  EXPECT_EQ(Shown(row[5]), line.metadata["inspector_output_format_version"]);
  EXPECT_EQ(Shown(row[6]), line.metadata["git_rev"]);
  EXPECT_EQ(Shown(row[7]), line.metadata["rec_mechanism"]);
  EXPECT_EQ(Shown(row[8]), line.metadata["dump_timestamp_us"]);
  EXPECT_EQ(Shown(row[9]), line.metadata["hostname"]);
  EXPECT_EQ(Shown(row[10]), line.metadata["pid"]);
}

void CheckOperations(SampleStore& sample) {
  const auto rows = sample.RowsByPlace(R"sql(
      SELECT f.path, o.line, o.communicator_id, o.communicator_name, o.rank, o.n_ranks, o.nnodes,
             o.format_version, o.git_rev, o.rec_mechanism, o.dump_timestamp_us, o.host, o.pid,
             o.kind, o.operation, o.sequence, o.message_bytes, o.exec_time_us, o.timing_source,
             o.algorithm, o.protocol, o.peer, o.algobw_gbs, o.busbw_gbs
      FROM operations o JOIN source f USING (source))sql");
  const auto check = [&](const std::string& prefix, const Place& place, const SampleLine& line,
                         const JsonValue& perf) {
    ASSERT_EQ(rows.count(place), 1U);
    const std::vector<Cell>& row = rows.find(place)->second;
    CheckHeader(line, row);
    const auto field = [&](const char* name) { return TextOrNull(perf, prefix + name); };
    EXPECT_EQ(Shown(row[11]), prefix == "p2p" ? "p2p" : "collective");
    EXPECT_EQ(Shown(row[12]), perf[prefix]);
    EXPECT_EQ(Shown(row[13]), field("_sn"));
    EXPECT_EQ(Shown(row[14]), field("_msg_size_bytes"));
    EXPECT_EQ(Shown(row[15]), field("_exec_time_us"));
    EXPECT_EQ(Shown(row[16]), field("_timing_source"));
    EXPECT_EQ(Shown(row[17]), field("_algo"));
    EXPECT_EQ(Shown(row[18]), field("_proto"));
    EXPECT_EQ(Shown(row[19]), field("_peer"));
    EXPECT_EQ(std::get<double>(row[20]), std::strtod(field("_algobw_gbs").c_str(), nullptr));
    EXPECT_EQ(std::get<double>(row[21]), std::strtod(field("_busbw_gbs").c_str(), nullptr));
  };
  size_t operations = 0;
  for (const std::string prefix : {"coll", "p2p"}) {
    operations += sample.ForEach((prefix + "_perf").c_str(),
                                 [&](const Place& place, const SampleLine& line,
                                     const JsonValue& perf) { check(prefix, place, line, perf); });
  }
  EXPECT_EQ(rows.size(), operations);
}

void CheckDumpStats(SampleStore& sample) {
  const auto rows = sample.RowsByPlace(R"sql(
      SELECT f.path, d.line, c.id, c.name, c.rank, c.n_ranks, c.nnodes, p.format_version, p.git_rev,
             p.rec_mechanism, d.dump_timestamp_us, p.host, p.pid, d.coll_records,
             d.coll_dropped_total, d.coll_dropped_since_last_dump, d.p2p_records,
             d.p2p_dropped_total, d.p2p_dropped_since_last_dump, d.proxy_records
      FROM dump_stats d JOIN communicator_rank c USING (communicator_rank)
      JOIN process p USING (process) JOIN source f ON f.source = d.source)sql");
  const size_t markers = sample.ForEach(
      "dump_stats", [&](const Place& place, const SampleLine& line, const JsonValue& stats) {
        ASSERT_EQ(rows.count(place), 1U);
        const std::vector<Cell>& row = rows.find(place)->second;
        CheckHeader(line, row);
        size_t column = 11;
        for (const char* key :
             {"coll_records", "coll_dropped_total", "coll_dropped_since_last_dump", "p2p_records",
              "p2p_dropped_total", "p2p_dropped_since_last_dump", "proxy_records"}) {
          EXPECT_EQ(Shown(row[column++]), TextOrNull(stats, key)) << key;
        }
      });
  EXPECT_EQ(rows.size(), markers);
}

void CheckEventTraces(SampleStore& sample) {
  const std::string from =
      " JOIN operation_series s USING (series) JOIN source f ON f.source = s.source";
  const auto operations = sample.RowsByPlace(
      "SELECT f.path, e.line, e.sequence, e.start_sn, e.stop_sn, e.start_us, e.stop_us, "
      "s.operation "
      "FROM operation_event e" +
      from);
  const auto kernels = sample.RowsByPlace(
      "SELECT f.path, e.line, e.position, e.channel, e.start_sn, e.stop_sn, e.record_sn, "
      "e.start_us, "
      "e.stop_us, e.record_us, e.sequence, s.operation FROM kernel_event e" +
      from + " ORDER BY e.position");
  size_t traces = 0;
  size_t channels = 0;
  for (const std::string prefix : {"coll", "p2p"}) {
    sample.ForEach((prefix + "_perf").c_str(),
                   [&](const Place& place, const SampleLine&, const JsonValue& perf) {
                     const JsonValue* const sn = perf.Find("event_trace_sn");
                     const JsonValue* const ts = perf.Find("event_trace_ts");
                     ASSERT_EQ(sn == nullptr, ts == nullptr);
                     if (sn == nullptr) return;
                     ++traces;
                     ASSERT_EQ(operations.count(place), 1U);
                     const std::vector<Cell>& row = operations.find(place)->second;
                     EXPECT_EQ(Shown(row[0]), perf[prefix + "_sn"]);
                     EXPECT_EQ(Shown(row[1]), (*sn)[prefix + "_start_sn"]);
                     EXPECT_EQ(Shown(row[2]), (*sn)[prefix + "_stop_sn"]);
                     EXPECT_EQ(Shown(row[3]), (*ts)[prefix + "_start_ts"]);
                     EXPECT_EQ(Shown(row[4]), (*ts)[prefix + "_stop_ts"]);
                     EXPECT_EQ(Shown(row[5]), perf[prefix]);
                     const std::vector<JsonValue>& sn_events = sn->Find("kernel_events")->items;
                     const std::vector<JsonValue>& ts_events = ts->Find("kernel_events")->items;
                     ASSERT_EQ(kernels.count(place), sn_events.size());
                     auto kernel = kernels.lower_bound(place);
                     for (size_t i = 0; i < sn_events.size(); ++i, ++kernel, ++channels) {
                       const std::vector<Cell>& event = kernel->second;
                       EXPECT_EQ(Shown(event[0]), std::to_string(i));
                       EXPECT_EQ(Shown(event[1]), sn_events[i]["channel_id"]);
                       EXPECT_EQ(Shown(event[1]), ts_events[i]["channel_id"]);
                       EXPECT_EQ(Shown(event[2]), sn_events[i]["kernel_start_sn"]);
                       EXPECT_EQ(Shown(event[3]), sn_events[i]["kernel_stop_sn"]);
                       EXPECT_EQ(Shown(event[4]), sn_events[i]["kernel_record_sn"]);
                       EXPECT_EQ(Shown(event[5]), ts_events[i]["kernel_start_ts"]);
                       EXPECT_EQ(Shown(event[6]), ts_events[i]["kernel_stop_ts"]);
                       EXPECT_EQ(Shown(event[7]), ts_events[i]["kernel_record_ts"]);
                       EXPECT_EQ(Shown(event[8]), perf[prefix + "_sn"]);
                       EXPECT_EQ(Shown(event[9]), perf[prefix]);
                     }
                   });
  }
  EXPECT_EQ(operations.size(), traces);
  EXPECT_EQ(kernels.size(), channels);
}

TEST_F(InspectorSamples, EveryValueComesBack) {
  std::map<std::string, size_t> lines;
  for (const std::string& folder : folders_) {
    SCOPED_TRACE(folder);
    SampleStore sample(folder);
    CheckAccounting(sample);
    CheckOperations(sample);
    CheckDumpStats(sample);
    CheckEventTraces(sample);
    for (const char* payload : {"coll_perf", "p2p_perf", "dump_stats"}) {
      lines[payload] += sample.ForEach(payload, [](const auto&, const auto&, const auto&) {});
    }
  }
  // The samples do hold what is checked.
  EXPECT_GT(lines["coll_perf"], 9000U);
  EXPECT_GT(lines["p2p_perf"], 500U);
  EXPECT_GT(lines["dump_stats"], 300U);
}

// The numbers of lines that the README of the samples gives.
TEST_F(InspectorSamples, LinesOfEachFolder) {
  const std::map<std::string, uint64_t> expected = {
      {"json-2.30.7-train-2x8", 4500},        {"json-2.30.7-verbose-2x4", 226},
      {"json-2.30.7-sweep-default-2x2", 628}, {"json-2.30.7-sweep-minsize0-2x4", 1520},
      {"json-2.30.7-ringdrop-1x4", 144},      {"json-2.30.7-cputiming-1x4", 81},
      {"json-2.30.7-idcollision-2x2", 144},   {"json-2.30.7-lasttail-lost-1x2", 195},
      {"json-2.30.7-noname-1x2", 31},         {"json-2.30.7-badname-1x2", 44},
      {"json-2.30.7-killed-truncated", 55},   {"json-2.29.7-train-2x4", 680},
      {"json-2.29.7-coarse20ms-2x4", 154},    {"json-2.28.9-train-2x4", 1115},
      {"json-2.28.9-verbose-1x4", 85},        {"reconstructed-v4.1-train-2x4", 645},
      {"reconstructed-v4.2-train-2x4", 644},  {"reconstructed-v4.3-train-2x4", 644},
      {"reconstructed-v4.4-train-2x4", 644},  {"reconstructed-v4.3-ringdrop-1x4", 136}};
  TestStore store;
  store.Ingest(folders_, "", 2);
  std::map<std::string, uint64_t> lines;
  for (const std::string& row :
       store.Rows("SELECT u.name, sum(lines) FROM source JOIN run u USING (run) GROUP BY ALL")) {
    const size_t bar = row.find('|');
    lines[row.substr(0, bar)] = std::stoull(row.substr(bar + 1));
  }
  EXPECT_EQ(lines, expected);
}

}  // namespace
}  // namespace telltale::test
