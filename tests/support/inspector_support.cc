#include "tests/support/inspector_support.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "base/line_window.h"
#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/nccl_inspector/source_parser.h"

namespace telltale::test {
namespace fs = std::filesystem;
using namespace nccl_inspector;

TempFolder::TempFolder() : path_((fs::temp_directory_path() / "telltale-test-XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}
TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TempFolder::Write(const std::string& name, std::string_view bytes) const {
  const fs::path path = fs::path(path_) / name;
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
  return path.string();
}

std::string InspectorSamples() {
  const char* const set = std::getenv("TELLTALE_SAMPLES");
  const fs::path samples =
      set != nullptr ? fs::path(set) : fs::path(TELLTALE_SOURCE_DIR) / "../shared/samples";
  std::error_code error;
  const fs::path folder = fs::canonical(samples / "inspector", error);
  return error ? "" : folder.string();
}

std::vector<std::string> InspectorSampleFolders() {
  std::vector<std::string> folders;
  const std::string samples = InspectorSamples();
  if (samples.empty()) return folders;
  for (const auto& entry : fs::directory_iterator(samples)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_directory() && !name.starts_with("prom-"))
      folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

std::string BytesOf(const std::string& path) {
  std::string bytes;
  const gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as they are
  if (file == nullptr) throw std::runtime_error("cannot read " + path);
  char buffer[65536];
  for (int got = 0; (got = gzread(file, buffer, sizeof buffer)) > 0;) {
    bytes.append(buffer, static_cast<size_t>(got));
  }
  gzclose(file);
  return bytes;
}

std::vector<std::string> LinesOf(std::string_view bytes) {
  std::vector<std::string> lines;
  while (!bytes.empty()) {
    const size_t newline = bytes.find('\n');
    const size_t length = newline == std::string_view::npos ? bytes.size() : newline + 1;
    lines.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return lines;
}

std::string Gzipped(std::string_view bytes, size_t members) {
  std::string out;
  const size_t step = bytes.size() / members + 1;
  for (size_t at = 0; at < bytes.size() || at == 0; at += step) {
    const std::string_view part = bytes.substr(at, step);
    z_stream stream{};
    if (deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
    std::string member(deflateBound(&stream, part.size()) + 64, '\0');
    std::string input(part);
    stream.next_in = reinterpret_cast<Bytef*>(input.data());
    stream.avail_in = static_cast<uInt>(input.size());
    stream.next_out = reinterpret_cast<Bytef*>(member.data());
    stream.avail_out = static_cast<uInt>(member.size());
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
    member.resize(stream.total_out);
    deflateEnd(&stream);
    out += member;
  }
  return out;
}

std::string Zstandard(std::string_view bytes) {
  std::string out(ZSTD_compressBound(bytes.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 3));
  return out;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  if (at == std::string::npos) return text;
  EXPECT_EQ(text.find(from, at + 1), std::string::npos) << from << " is twice in " << text;
  return text.replace(at, from.size(), to);
}

namespace {

// The plugin's formula and format, written down again.
std::pair<double, double> Bandwidths(const InspectorLine& line) {
  if (line.exec_time_us == 0) return {0, 0};
  const auto n = static_cast<double>(line.n_ranks);
  const auto size = static_cast<double>(line.message_bytes);
  double traffic = 0;
  double factor = 0;
  if (line.operation == "AllReduce") {
    traffic = size;
    factor = 2 * (n - 1) / n;
  } else if (line.operation == "ReduceScatter" || line.operation.starts_with("AllGather")) {
    traffic = size * n;
    factor = (n - 1) / n;
  } else if (line.operation == "Broadcast" || line.operation == "Reduce" || line.is_p2p) {
    traffic = size;
    factor = 1;
  }
  const double algobw = traffic / 1e9 / (static_cast<double>(line.exec_time_us) / 1e6);
  return {algobw, algobw * factor};
}

}  // namespace

std::string InspectorLine::Header() const {
  return fmt::format(
      R"("header":{{"id":"{}",{}"rank":{},"n_ranks":{},"nnodes":{}}},)"
      R"("metadata":{{"inspector_output_format_version":"{}","git_rev":"unknown",)"
      R"("rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":{},"hostname":"{}","pid":{}}})",
      id, name ? fmt::format(R"("comm_name":"{}",)", *name) : "", rank, n_ranks, nnodes, version,
      dump_timestamp_us, host, pid);
}

std::string InspectorLine::Perf() const {
  const auto [algo_gbs, bus_gbs] = Bandwidths(*this);
  const std::string prefix = is_p2p ? "p2p" : "coll";
  std::string text = fmt::format(R"("{0}_perf":{{"{0}":"{1}")", prefix, operation);
  if (algorithm) text += fmt::format(R"(,"coll_algo":"{}")", *algorithm);
  if (protocol) text += fmt::format(R"(,"coll_proto":"{}")", *protocol);
  text += fmt::format(R"(,"{}_sn":{})", prefix, sequence);
  if (is_p2p) text += fmt::format(R"(,"p2p_peer":{})", peer);
  text += fmt::format(
      R"(,"{0}_msg_size_bytes":{1},"{0}_exec_time_us":{2},"{0}_timing_source":"{3}",)"
      R"("{0}_algobw_gbs":{4},"{0}_busbw_gbs":{5}}})",
      prefix, message_bytes, exec_time_us, timing_source,
      algobw.value_or(fmt::format("{:f}", algo_gbs)), busbw.value_or(fmt::format("{:f}", bus_gbs)));
  return text;
}

std::string InspectorLine::Text() const { return "{" + Header() + "," + Perf() + "}\n"; }
std::string InspectorLine::Payload() const { return "{" + Perf() + "}\n"; }

std::string InspectorLine::Marker(uint64_t coll_records, uint64_t p2p_records,
                                  const std::string& more) const {
  return fmt::format(R"({{{},"dump_stats":{{"coll_records":{},"coll_dropped_total":0,)"
                     R"("coll_dropped_since_last_dump":0,"p2p_records":{},"p2p_dropped_total":0,)"
                     R"("p2p_dropped_since_last_dump":0{}}}}})"
                     "\n",
                     Header(), coll_records, p2p_records, more);
}

Parsed Parse(std::string_view bytes, bool use_fast_path, size_t window_bytes) {
  constexpr size_t kMaxLineBytes = size_t{16} << 20;
  SourceParser parser(use_fast_path);
  const std::unique_ptr<ByteStream> stream = MemoryStream(std::span(bytes.data(), bytes.size()));
  LineWindow windows(*stream, window_bytes == 0 ? bytes.size() + 1 : window_bytes, kMaxLineBytes);
  while (true) {
    const Result<std::string_view> window = windows.Next();
    EXPECT_TRUE(window.has_value());
    if (!window || window->empty()) break;
    parser.ParseWindow(*window, windows.cut_line());
  }
  parser.Finish();
  return {std::move(parser.builder().data()), parser.fast_lines()};
}

testing::AssertionResult SameFacts(const std::vector<std::string>& left,
                                   const std::vector<std::string>& right) {
  const size_t common = std::min(left.size(), right.size());
  size_t at = 0;
  while (at < common && left[at] == right[at]) ++at;
  if (at == left.size() && at == right.size()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << fmt::format(
             "{} and {} facts; the first that differ:\n{}\n{}", left.size(), right.size(),
             at < left.size() ? left[at] : "(none)", at < right.size() ? right[at] : "(none)");
}

testing::AssertionResult SameText(const std::string& left, const std::string& right) {
  if (left == right) return testing::AssertionSuccess();
  return SameFacts(LinesOf(left), LinesOf(right));
}

uint64_t LossesOf(const SourceData& data, std::string_view kind) {
  uint64_t count = 0;
  for (const Loss& loss : data.losses) count += loss.kind->name == kind ? loss.count : 0;
  return count;
}

uint64_t LineLossesOf(const SourceReport& report) {
  uint64_t count = 0;
  for (const LossReport& loss : report.losses) count += loss.loss_class == "line" ? loss.count : 0;
  return count;
}

TestStore::TestStore() {
  auto store = Store::Open(folder_ / "store.duckdb", IngestStoreOptions());
  if (!store) throw std::runtime_error(store.error().message);
  store_ = std::move(*store);
}

IngestReport TestStore::Ingest(std::vector<std::string> paths, const std::string& run,
                               unsigned threads) {
  IngestOptions options;
  options.paths = std::move(paths);
  options.run = run;
  options.threads = threads;
  return Ingest(options);
}

IngestReport TestStore::Ingest(const IngestOptions& options) {
  auto report = telltale::Ingest(*store_, options);
  EXPECT_TRUE(report.has_value()) << report.error().message;
  return report ? std::move(*report) : IngestReport();
}

Table TestStore::Query(const std::string& sql) {
  auto connection = store_->Connect();
  if (!connection) throw std::runtime_error(connection.error().message);
  auto table = (*connection)->Query(sql);
  EXPECT_TRUE(table.has_value()) << table.error().message << "\n" << sql;
  return table ? std::move(*table) : Table();
}

std::string TestStore::Text(const std::string& sql) {
  const Table table = Query(sql);
  EXPECT_EQ(table.rows.size(), 1U) << sql;
  return table.rows.size() == 1 ? CellText(table.rows[0][0]) : "";
}

int64_t TestStore::Integer(const std::string& sql) {
  const std::string text = Text(sql);
  return text.empty() ? 0 : std::stoll(text);
}

std::vector<std::string> TestStore::Rows(const std::string& sql) {
  std::vector<std::string> rows;
  for (const std::vector<Cell>& row : Query(sql).rows) {
    std::string text;
    for (const Cell& cell : row) {
      if (&cell != row.data()) text += "|";
      text += std::holds_alternative<std::monostate>(cell) ? "-" : CellText(cell);
    }
    rows.push_back(std::move(text));
  }
  return rows;
}

int64_t TestStore::Lost(const std::string& kind) {
  return Integer(fmt::format(
      "SELECT coalesce(sum(count), 0)::BIGINT FROM ingest_loss WHERE kind = '{}'", kind));
}

std::vector<std::string> TestStore::Dump() {
  std::vector<std::string> dump;
  for (const std::string& table :
       Rows("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL")) {
    const std::string columns = table == "source" ? "* EXCLUDE (ingested_at)" : "*";
    for (const std::string& row :
         Rows(fmt::format("SELECT {} FROM {} ORDER BY ALL", columns, table))) {
      dump.push_back(table + ": " + row);
    }
  }
  return dump;
}

std::vector<std::string> TestStore::Contents() {
  const std::string file = "parse_filename(f.path)";
  const std::string rank =
      "c.id, c.name, c.rank, c.n_ranks, c.nnodes, p.host, p.pid, p.git_rev, p.rec_mechanism, "
      "p.format_version";
  // Joins the rank, process and source of a table with a column communicator_rank.
  const auto joins = [](const std::string& table) {
    return fmt::format(
        " JOIN communicator_rank c ON c.communicator_rank = {}.communicator_rank "
        "JOIN process p ON p.process = c.process JOIN source f ON f.source = c.source ",
        table);
  };
  const std::vector<std::pair<std::string, std::string>> queries = {
      {"source", "SELECT " + file +
                     ", u.name, f.* EXCLUDE (source, run, path, ingested_at) FROM source f "
                     "JOIN run u ON u.run = f.run"},
      {"operation",
       "SELECT " + file +
           ", k.instance, k.ambiguous, k.ranks_seen, o.* EXCLUDE (communicator, source, "
           "series) FROM operations o JOIN source f USING (source) "
           "LEFT JOIN communicator k USING (communicator)"},
      {"communicator", "SELECT * EXCLUDE (communicator, run) FROM communicator"},
      {"series", "SELECT " + file + ", " + rank +
                     ", s.* EXCLUDE (series, source, communicator_rank) FROM operation_series s" +
                     joins("s")},
      {"counter",
       "SELECT " + file + ", " + rank +
           ", k.* EXCLUDE (counter, source, communicator_rank) FROM operation_counter k" +
           joins("k")},
      {"run", "SELECT " + file + ", " + rank +
                  ", k.kind, k.operation, r.* EXCLUDE (counter) FROM sequence_run r JOIN "
                  "operation_counter k ON k.counter = r.counter" +
                  joins("k")},
      {"event", "SELECT " + file + ", " + rank +
                    ", e.* EXCLUDE (series), s.operation FROM operation_event e "
                    "JOIN operation_series s ON s.series = e.series" +
                    joins("s")},
      {"kernel", "SELECT " + file + ", " + rank +
                     ", e.* EXCLUDE (series), s.operation FROM kernel_event e "
                     "JOIN operation_series s ON s.series = e.series" +
                     joins("s")},
      {"dump_stats", "SELECT " + file + ", " + rank +
                         ", d.* EXCLUDE (source, communicator_rank) FROM dump_stats d" +
                         joins("d")},
      {"proxy_op", "SELECT " + file + ", " + rank +
                       ", d.* EXCLUDE (source, communicator_rank) FROM proxy_op d" + joins("d")},
      {"proxy_step", "SELECT " + file + ", " + rank +
                         ", d.* EXCLUDE (source, communicator_rank) FROM proxy_step d" +
                         joins("d")},
      {"loss",
       "SELECT parse_filename(f.path), c.id, c.name, c.rank, k.id, k.name, k.instance, l.* EXCLUDE "
       "(run, source, communicator_rank, communicator) FROM ingest_loss l "
       "LEFT JOIN source f ON f.source = l.source "
       "LEFT JOIN communicator_rank c ON c.communicator_rank = l.communicator_rank "
       "LEFT JOIN communicator k ON k.communicator = l.communicator"},
  };
  std::vector<std::string> contents;
  for (const auto& [name, sql] : queries) {
    for (std::string& row : Rows(sql)) contents.push_back(name + ": " + std::move(row));
  }
  std::sort(contents.begin(), contents.end());
  return contents;
}

}  // namespace telltale::test
