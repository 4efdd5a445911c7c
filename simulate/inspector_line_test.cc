// Genuine plugin output is taken apart and written again: the bytes must be the same.

#include "simulate/inspector_line.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace telltale::simulate {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> SamplesFolder() {
  const char* variable = std::getenv("TELLTALE_SAMPLES");
  const fs::path samples = fs::path(variable ? variable : "../shared/samples") / "inspector";
  return fs::is_directory(samples) ? std::optional(samples) : std::nullopt;
}

// Whole lines of a plain or gzip file; what comes after the last line's end is left out.
std::vector<std::string> LinesOf(const fs::path& path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
  std::vector<std::string> lines;
  std::string line;
  for (int c = gzgetc(file.get()); c >= 0; c = gzgetc(file.get())) {
    line += static_cast<char>(c);
    if (c != '\n') continue;
    lines.push_back(line);
    line.clear();
  }
  return lines;
}

// The value after `"key":`, a number or a string without its quotes, at or after `from`.
std::string Text(const std::string& line, const std::string& key, size_t from = 0) {
  const std::string marker = "\"" + key + "\":";
  size_t begin = line.find(marker, from);
  if (begin == std::string::npos) return "(none)";
  begin += marker.size();
  if (line[begin] != '"') return line.substr(begin, line.find_first_of(",}", begin) - begin);
  std::string text;
  for (size_t i = begin + 1; line[i] != '"'; ++i) {
    if (line[i] == '\\') ++i;
    text += line[i];
  }
  return text;
}

uint64_t Number(const std::string& line, const std::string& key, size_t from = 0) {
  const std::string text = Text(line, key, from);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << key << " in " << line;
  return number;
}

InspectorIdentity IdentityIn(const std::string& line) {
  InspectorIdentity identity;
  identity.communicator_hash = std::strtoull(Text(line, "id").c_str(), nullptr, 16);
  identity.writes_name = line.find("\"comm_name\"") != std::string::npos;
  if (identity.writes_name) identity.communicator_name = Text(line, "comm_name");
  identity.rank = Number(line, "rank");
  identity.rank_count = Number(line, "n_ranks");
  identity.node_count = Number(line, "nnodes");
  identity.git_revision = Text(line, "git_rev");
  identity.hostname = Text(line, "hostname");
  identity.pid = Number(line, "pid");
  return identity;
}

EventTrace TraceIn(const std::string& line, const std::string& kind) {
  EventTrace trace{Number(line, kind + "_start_sn"),
                   Number(line, kind + "_stop_sn"),
                   Number(line, kind + "_start_ts"),
                   Number(line, kind + "_stop_ts"),
                   {}};
  const size_t times_begin = line.find("\"event_trace_ts\"");
  for (size_t at = line.find("{\"channel_id\""); at != std::string::npos;
       at = line.find("{\"channel_id\"", at + 1)) {
    if (at < times_begin) {
      trace.channels.push_back({Number(line, "channel_id", at), Number(line, "kernel_start_sn", at),
                                Number(line, "kernel_stop_sn", at),
                                Number(line, "kernel_record_sn", at), 0, 0, 0});
      continue;
    }
    const uint64_t id = Number(line, "channel_id", at);
    const auto channel =
        std::find_if(trace.channels.begin(), trace.channels.end(),
                     [&](const ChannelTrace& candidate) { return candidate.channel_id == id; });
    channel->start_us = Number(line, "kernel_start_ts", at);
    channel->stop_us = Number(line, "kernel_stop_ts", at);
    channel->record_us = Number(line, "kernel_record_ts", at);
  }
  return trace;
}

Function FunctionNamed(const std::string& name) {
  for (int i = 0; i < static_cast<int>(Function::kInvalid); ++i) {
    if (FunctionName(static_cast<Function>(i)) == name) return static_cast<Function>(i);
  }
  return Function::kInvalid;
}

// Writes the lines of one file again, from the fields of each.
class Rewriter {
 public:
  std::string Rewrite(const std::string& line) {
    if (line.find("\"header\"") != std::string::npos) {
      identity_ = IdentityIn(line);
      version_ = Text(line, "inspector_output_format_version");
      timestamp_us_ = Number(line, "dump_timestamp_us");
    }
    static const std::map<std::string, InspectorFormat> formats = {{"v4.0", InspectorFormat::kV40},
                                                                   {"v4.1", InspectorFormat::kV41},
                                                                   {"v4.2", InspectorFormat::kV42},
                                                                   {"v4.3", InspectorFormat::kV43},
                                                                   {"v4.4", InspectorFormat::kV44}};
    const InspectorLineWriter writer(formats.at(version_), identity_);
    LineBuffer out;
    if (line.find("\"dump_stats\"") != std::string::npos) {
      writer.AppendDumpStats(
          timestamp_us_,
          {Number(line, "coll_records"), Number(line, "coll_dropped_total"),
           Number(line, "coll_dropped_since_last_dump"), Number(line, "p2p_records"),
           Number(line, "p2p_dropped_total"), Number(line, "p2p_dropped_since_last_dump")},
          out);
      return std::string(out.text());
    }
    const std::string kind = line.find("\"coll_perf\"") != std::string::npos ? "coll" : "p2p";
    const std::string source = Text(line, kind + "_timing_source");
    const std::string algorithm = Text(line, "coll_algo");
    const std::string protocol = Text(line, "coll_proto");
    EventTrace trace{};
    OperationLine operation{};
    operation.function = FunctionNamed(Text(line, kind));
    operation.sequence = Number(line, kind + "_sn");
    operation.message_bytes = Number(line, kind + "_msg_size_bytes");
    operation.exec_time_us = Number(line, kind + "_exec_time_us");
    operation.timing_source = source;
    operation.algorithm = algorithm;
    operation.protocol = protocol;
    if (line.find("\"event_trace_sn\"") != std::string::npos) {
      trace = TraceIn(line, kind);
      operation.trace = &trace;
    }
    if (kind == "coll") {
      writer.AppendCollective(timestamp_us_, operation, out);
    } else {
      operation.peer = Number(line, "p2p_peer");
      writer.AppendPointToPoint(timestamp_us_, operation, out);
    }
    return std::string(out.text());
  }

 private:
  InspectorIdentity identity_;
  std::string version_;
  uint64_t timestamp_us_ = 0;
};

TEST(InspectorLine, RewritesGenuineLinesToTheSameBytes) {
  const auto samples = SamplesFolder();
  if (!samples)
    GTEST_SKIP() << "no samples: set TELLTALE_SAMPLES to the folder that holds inspector/";
  size_t compared = 0;
  std::map<std::string, size_t> kinds;
  for (const auto& folder : fs::directory_iterator(*samples)) {
    const std::string name = folder.path().filename();
    if (!folder.is_directory() || name.starts_with("prom-")) continue;
    for (const auto& file : fs::directory_iterator(folder)) {
      Rewriter rewriter;
      for (const std::string& line : LinesOf(file.path())) {
        // What the plugin writes for a name that it cannot escape is not JSON.
        if (line.find("\"comm_name\":,") != std::string::npos) break;
        ASSERT_EQ(rewriter.Rewrite(line), line) << file.path();
        ++compared;
        for (const char* kind : {"p2p_perf", "dump_stats", "event_trace_ts", "comm_name", "v4.0",
                                 "v4.1", "v4.2", "v4.3", "v4.4", "kernel_cpu", "Invalid"}) {
          if (line.find(kind) != std::string::npos) ++kinds[kind];
        }
      }
    }
  }
  EXPECT_GT(compared, 10'000U);
  EXPECT_EQ(kinds.size(), 11U) << "a kind of line is not among the samples";
}

TEST(InspectorLine, IdIsCutTo16Characters) {
  EXPECT_EQ(CommunicatorId(0x1122334455667788), "0x11223344556677");
  EXPECT_EQ(CommunicatorId(0x0122334455667788), "0x12233445566778");
  EXPECT_EQ(CommunicatorId(0xabc), "0xabc");
  EXPECT_EQ(CommunicatorId(0), "0x0");
}

TEST(InspectorLine, BandwidthOfTheOddCases) {
  EXPECT_EQ(BandwidthOf(Function::kAllReduce, 1 << 20, 0, 8).algorithm_gbs, 0);
  EXPECT_EQ(BandwidthOf(Function::kInvalid, 1 << 20, 10, 8).algorithm_gbs, 0);
  const Bandwidth alone = BandwidthOf(Function::kAllReduce, 4194304, 7, 1);
  EXPECT_GT(alone.algorithm_gbs, 0);
  EXPECT_EQ(alone.bus_gbs, 0);
}

}  // namespace
}  // namespace telltale::simulate
