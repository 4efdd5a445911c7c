#include "simulate/inspector_line.h"

#include <fmt/format.h>

namespace telltale::simulate {
namespace {

// The plugin escapes as its JSON printer does; names made here hold no control characters.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '/' || c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

char* PutSequenceTrace(char* out, std::string_view kind, const EventTrace& trace) {
  out = PutText(out, ",\"event_trace_sn\":{\"");
  out = PutText(out, kind);
  out = PutUnsigned(PutText(out, "_start_sn\":"), trace.start_sn);
  out = PutText(PutText(out, ",\""), kind);
  out = PutUnsigned(PutText(out, "_stop_sn\":"), trace.stop_sn);
  out = PutText(out, ",\"kernel_events\":[");
  for (const ChannelTrace& channel : trace.channels) {
    if (&channel != trace.channels.data()) *out++ = ',';
    out = PutUnsigned(PutText(out, "{\"channel_id\":"), channel.channel_id);
    out = PutUnsigned(PutText(out, ",\"kernel_start_sn\":"), channel.start_sn);
    out = PutUnsigned(PutText(out, ",\"kernel_stop_sn\":"), channel.stop_sn);
    out = PutUnsigned(PutText(out, ",\"kernel_record_sn\":"), channel.record_sn);
    *out++ = '}';
  }
  return PutText(out, "]}");
}

char* PutTimeTrace(char* out, std::string_view kind, const EventTrace& trace) {
  out = PutText(out, ",\"event_trace_ts\":{\"");
  out = PutText(out, kind);
  out = PutUnsigned(PutText(out, "_start_ts\":"), trace.start_us);
  out = PutText(PutText(out, ",\""), kind);
  out = PutUnsigned(PutText(out, "_stop_ts\":"), trace.stop_us);
  out = PutText(out, ",\"kernel_events\":[");
  for (const ChannelTrace& channel : trace.channels) {
    if (&channel != trace.channels.data()) *out++ = ',';
    out = PutUnsigned(PutText(out, "{\"channel_id\":"), channel.channel_id);
    out = PutUnsigned(PutText(out, ",\"kernel_start_ts\":"), channel.start_us);
    out = PutUnsigned(PutText(out, ",\"kernel_stop_ts\":"), channel.stop_us);
    out = PutUnsigned(PutText(out, ",\"kernel_record_ts\":"), channel.record_us);
    *out++ = '}';
  }
  return PutText(out, "]}");
}

char* PutTraceAndEnd(char* out, std::string_view kind, const EventTrace* trace) {
  if (trace != nullptr) {
    out = PutSequenceTrace(out, kind, *trace);
    out = PutTimeTrace(out, kind, *trace);
  }
  return PutText(out, "}}\n");
}

}  // namespace

std::string_view FormatName(InspectorFormat format) {
  static constexpr std::string_view kNames[] = {"v4.0", "v4.1", "v4.2", "v4.3", "v4.4"};
  return kNames[static_cast<size_t>(format)];
}

std::string_view FunctionName(Function function) {
  static constexpr std::string_view kNames[] = {"AllReduce", "AllGather", "ReduceScatter",
                                                "Broadcast", "Reduce",    "SendRecv",
                                                "Send",      "Recv",      "Invalid"};
  return kNames[static_cast<size_t>(function)];
}

Bandwidth BandwidthOf(Function function, uint64_t message_bytes, uint64_t exec_time_us,
                      uint64_t rank_count) {
  if (exec_time_us == 0) return {0, 0};
  const auto ranks = static_cast<double>(rank_count);
  double traffic_bytes = static_cast<double>(message_bytes);
  double bus_factor = 1;
  switch (function) {
    case Function::kAllReduce:
      bus_factor = 2 * (ranks - 1) / ranks;
      break;
    case Function::kAllGather:
    case Function::kReduceScatter:
      traffic_bytes *= ranks;
      bus_factor = (ranks - 1) / ranks;
      break;
    case Function::kInvalid:
      return {0, 0};
    default:
      break;
  }
  // The order of these operations decides the last printed digit.
  const double seconds = static_cast<double>(exec_time_us) / 1e6;
  const double algorithm_gbs = traffic_bytes / 1e9 / seconds;
  return {algorithm_gbs, algorithm_gbs * bus_factor};
}

std::string CommunicatorId(uint64_t hash) { return fmt::format("{:#x}", hash).substr(0, 16); }

InspectorLineWriter::InspectorLineWriter(InspectorFormat format, const InspectorIdentity& identity)
    : operations_carry_header_(format < InspectorFormat::kV43),
      operations_carry_algorithm_(format >= InspectorFormat::kV42),
      rank_count_(identity.rank_count) {
  const std::string name = identity.writes_name ? fmt::format("\"comm_name\":\"{}\",",
                                                              Escaped(identity.communicator_name))
                                                : std::string();
  before_timestamp_ = fmt::format(
      "{{\"header\":{{\"id\":\"{}\",{}\"rank\":{},\"n_ranks\":{},\"nnodes\":{}}},"
      "\"metadata\":{{\"inspector_output_format_version\":\"{}\",\"git_rev\":\"{}\","
      "\"rec_mechanism\":\"nccl_profiler_interface\",\"dump_timestamp_us\":",
      CommunicatorId(identity.communicator_hash), name, identity.rank, identity.rank_count,
      identity.node_count, FormatName(format), Escaped(identity.git_revision));
  after_timestamp_ =
      fmt::format(",\"hostname\":\"{}\",\"pid\":{}}},", Escaped(identity.hostname), identity.pid);
}

char* InspectorLineWriter::PutContext(char* out, uint64_t dump_timestamp_us) const {
  out = PutUnsigned(PutText(out, before_timestamp_), dump_timestamp_us);
  return PutText(out, after_timestamp_);
}

size_t InspectorLineWriter::MostBytes(const OperationLine& line) const {
  constexpr size_t kFixed = 512 + 2 * kMaxSixDecimals;
  const size_t trace_bytes = line.trace == nullptr ? 0 : 512 + 320 * line.trace->channels.size();
  return before_timestamp_.size() + after_timestamp_.size() + line.timing_source.size() +
         line.algorithm.size() + line.protocol.size() + kFixed + trace_bytes;
}

void InspectorLineWriter::AppendCollective(uint64_t dump_timestamp_us, const OperationLine& line,
                                           LineBuffer& out) const {
  char* p = out.Reserve(MostBytes(line));
  if (operations_carry_header_) {
    p = PutContext(p, dump_timestamp_us);
  } else {
    *p++ = '{';
  }
  p = PutText(p, "\"coll_perf\":{\"coll\":\"");
  p = PutText(p, FunctionName(line.function));
  if (operations_carry_algorithm_) {
    p = PutText(PutText(p, "\",\"coll_algo\":\""), line.algorithm);
    p = PutText(PutText(p, "\",\"coll_proto\":\""), line.protocol);
  }
  p = PutUnsigned(PutText(p, "\",\"coll_sn\":"), line.sequence);
  p = PutUnsigned(PutText(p, ",\"coll_msg_size_bytes\":"), line.message_bytes);
  p = PutUnsigned(PutText(p, ",\"coll_exec_time_us\":"), line.exec_time_us);
  p = PutText(PutText(p, ",\"coll_timing_source\":\""), line.timing_source);
  const Bandwidth bandwidth =
      BandwidthOf(line.function, line.message_bytes, line.exec_time_us, rank_count_);
  p = PutSixDecimals(PutText(p, "\",\"coll_algobw_gbs\":"), bandwidth.algorithm_gbs);
  p = PutSixDecimals(PutText(p, ",\"coll_busbw_gbs\":"), bandwidth.bus_gbs);
  out.Commit(PutTraceAndEnd(p, "coll", line.trace));
}

void InspectorLineWriter::AppendPointToPoint(uint64_t dump_timestamp_us, const OperationLine& line,
                                             LineBuffer& out) const {
  char* p = out.Reserve(MostBytes(line));
  if (operations_carry_header_) {
    p = PutContext(p, dump_timestamp_us);
  } else {
    *p++ = '{';
  }
  p = PutText(p, "\"p2p_perf\":{\"p2p\":\"");
  p = PutText(p, FunctionName(line.function));
  p = PutUnsigned(PutText(p, "\",\"p2p_sn\":"), line.sequence);
  p = PutUnsigned(PutText(p, ",\"p2p_peer\":"), line.peer);
  p = PutUnsigned(PutText(p, ",\"p2p_msg_size_bytes\":"), line.message_bytes);
  p = PutUnsigned(PutText(p, ",\"p2p_exec_time_us\":"), line.exec_time_us);
  p = PutText(PutText(p, ",\"p2p_timing_source\":\""), line.timing_source);
  const Bandwidth bandwidth =
      BandwidthOf(Function::kSendRecv, line.message_bytes, line.exec_time_us, rank_count_);
  p = PutSixDecimals(PutText(p, "\",\"p2p_algobw_gbs\":"), bandwidth.algorithm_gbs);
  p = PutSixDecimals(PutText(p, ",\"p2p_busbw_gbs\":"), bandwidth.bus_gbs);
  out.Commit(PutTraceAndEnd(p, "p2p", line.trace));
}

void InspectorLineWriter::AppendDumpStats(uint64_t dump_timestamp_us, const DumpStatsLine& line,
                                          LineBuffer& out) const {
  char* p = out.Reserve(before_timestamp_.size() + after_timestamp_.size() + 512);
  p = PutContext(p, dump_timestamp_us);
  p = PutUnsigned(PutText(p, "\"dump_stats\":{\"coll_records\":"), line.collective_records);
  p = PutUnsigned(PutText(p, ",\"coll_dropped_total\":"), line.collective_dropped_total);
  p = PutUnsigned(PutText(p, ",\"coll_dropped_since_last_dump\":"), line.collective_dropped_now);
  p = PutUnsigned(PutText(p, ",\"p2p_records\":"), line.p2p_records);
  p = PutUnsigned(PutText(p, ",\"p2p_dropped_total\":"), line.p2p_dropped_total);
  p = PutUnsigned(PutText(p, ",\"p2p_dropped_since_last_dump\":"), line.p2p_dropped_now);
  out.Commit(PutText(p, "}}\n"));
}

}  // namespace telltale::simulate
