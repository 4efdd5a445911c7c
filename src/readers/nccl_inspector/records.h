#pragma once

// What one NCCL Inspector file holds, in the shape in which the store keeps it: processes,
// communicator ranks and operation series (each thing said once), and below each series its
// records. Field names are the plugin's (NVIDIA/nccl, plugins/profiler/inspector, formats v4.0 to
// v4.4).

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "readers/nccl_inspector/sequence_set.h"

namespace telltale::nccl_inspector {

// metadata of a line.
struct ProcessKey {
  std::optional<std::string> host;
  std::optional<uint64_t> pid;
  std::optional<std::string> git_rev;
  std::optional<std::string> rec_mechanism;
  std::optional<std::string> format_version;
  bool operator==(const ProcessKey&) const = default;
};

// header of a line, and the process that wrote it.
struct CommunicatorRankKey {
  std::string id;
  std::optional<std::string> name;
  int64_t rank = 0;
  int64_t n_ranks = 0;
  std::optional<uint64_t> nnodes;
  uint32_t process = 0;  // index into SourceData::processes
  bool operator==(const CommunicatorRankKey&) const = default;
};

enum class OperationKind { kCollective, kP2p };

// coll_perf or p2p_perf, without sequence number and times.
struct SeriesKey {
  uint32_t communicator_rank = 0;  // index into SourceData::communicator_ranks
  OperationKind kind = OperationKind::kCollective;
  std::string operation;
  std::optional<int64_t> peer;
  std::optional<uint64_t> message_bytes;
  std::optional<std::string> algorithm;
  std::optional<std::string> protocol;
  std::optional<std::string> timing_source;
  bool operator==(const SeriesKey&) const = default;
};

// A record whose bandwidths follow from size, time and ranks, and whose numbers fit.
struct Record {
  uint32_t sequence = 0;
  uint32_t exec_time_us = 0;
  uint32_t line = 0;
  int64_t dump_timestamp_us = 0;
};

struct IrregularRecord {
  uint32_t series = 0;
  std::optional<uint64_t> sequence;
  std::optional<uint64_t> message_bytes;
  std::optional<uint64_t> exec_time_us;
  std::optional<uint64_t> dump_timestamp_us;
  uint64_t line = 0;
  std::optional<double> algobw_gbs;
  std::optional<double> busbw_gbs;
};

// Which sequence numbers a rank recorded of one operation.
struct SequenceTracker {
  // More runs than this are only counted: the data is a sample anyway.
  static constexpr size_t kMaxRuns = 65536;

  uint32_t communicator_rank = 0;
  OperationKind kind = OperationKind::kCollective;
  std::string operation;  // empty for p2p: sends and receives share one counter
  std::vector<SequenceRun> runs;
  size_t merge_at = 64;  // how many runs there may be before they are merged
  uint64_t next = 0;     // the number that continues the last run
  uint32_t dump = 0;     // RingState::dump of its last record
  uint64_t records = 0;
  uint64_t highest_closed = 0;  // of runs that are no longer in the list
  bool too_many_runs = false;

  uint64_t Highest() const {
    uint64_t highest = highest_closed;
    for (const SequenceRun& run : runs) highest = std::max(highest, run.last);
    return highest;
  }
};

// The ring from which a dump writes: one for collectives and one for p2p in each communicator rank.
struct RingState {
  uint64_t last_line = 0;
  int64_t last_timestamp_us = 0;
  uint32_t dump = 0;          // counts dumps; 0 before the first
  uint32_t dump_records = 0;  // in the dump that is being read
  // The first dump; in a part of a file it may be the rest of one that the part in front has begun.
  uint64_t first_line = 0;
  int64_t first_timestamp_us = 0;
  std::optional<uint32_t>
      first_dump_records;  // once it is over; not in largest_dump until EndDumps
  uint32_t largest_dump = 0;
  uint32_t largest_dumps = 0;  // how many dumps have that size
  // Runs whose gap lies between two dumps, by their first number, with the size of the later dump
  // once that is over.
  struct DumpStart {
    uint32_t tracker = 0;
    uint32_t dump = 0;
    uint32_t dump_records = 0;
    uint64_t sequence = 0;
  };
  std::vector<DumpStart> dump_starts;
};

struct Series {
  SeriesKey key;
  uint32_t tracker = 0;  // index into SourceData::trackers
  uint32_t ring = 0;     // index into SourceData::rings
  // Of the formula algobw = traffic_bytes / 1e9 / seconds, busbw = algobw * bus_factor.
  double traffic_bytes = 0;
  double bus_factor = 0;
  std::vector<Record> records;
};

// event_trace_sn and event_trace_ts of one operation (verbose mode).
struct KernelEvent {
  std::optional<uint64_t> channel, start_sn, stop_sn, record_sn, start_us, stop_us, record_us;
};
struct OperationEvents {
  uint32_t series = 0;
  std::optional<uint64_t> sequence;
  uint64_t line = 0;
  std::optional<uint64_t> start_sn, stop_sn, start_us, stop_us;
  std::vector<KernelEvent> kernels;
};

// The unsigned counters of dump_stats, in the order of the columns of the table dump_stats.
inline constexpr std::array kDumpStatsKeys = {
    "coll_records",
    "coll_dropped_total",
    "coll_dropped_since_last_dump",
    "p2p_records",
    "p2p_dropped_total",
    "p2p_dropped_since_last_dump",
    "proxy_records",
    "proxy_dropped_total",
    "proxy_dropped_since_last_dump",
    "proxy_ops_dropped_total",
    "proxy_ops_dropped_since_last_dump",
    "proxy_steps_overwritten_total",
    "proxy_steps_overwritten_since_last_dump",
    "proxy_segment_step_capacity",
    "proxy_pxn_skipped_process_total",
    "proxy_steps_enabled",
};
enum DumpStatsIndex { kCollRecords = 0, kP2pRecords = 3, kProxyRecords = 6 };

struct DumpStats {
  uint32_t communicator_rank = 0;
  uint64_t line = 0;
  std::optional<uint64_t> dump_timestamp_us;
  std::array<std::optional<uint64_t>, kDumpStatsKeys.size()> counters;
  std::optional<std::string> proxy_output_mode;
};

// The integers of a proxy_trace object that describes an operation, in the order of the columns of
// proxy_op from record_sn to total_us; keys of v4.3 and v4.4, early and late.
inline constexpr std::array kProxyOpKeys = {
    "record_sn",       "proxy_records_dropped",
    "parent_sn",       "proxy_op_sn",
    "origin_pid",      "rank",
    "channel_id",      "peer",
    "n_steps",         "chunk_size_bytes",
    "n_steps_started", "n_steps_completed",
    "n_steps_dropped", "trans_size_bytes",
    "total_us",
};
inline constexpr std::array kProxyOpEvents = {"proxy_op_start", "proxy_op_in_progress",
                                              "proxy_op_stop"};
enum ProxyOpIndex {
  kProxyOpSn = 3,
  kOriginPid = 4,
  kChannelId = 6,
  kPeer = 7,
  kTransSize = 13,
  kTotalUs = 14
};

struct ProxyOp {
  uint32_t communicator_rank = 0;
  uint64_t line = 0;
  std::optional<uint64_t> dump_timestamp_us;
  std::string record_type;
  std::optional<std::string> parent_type, direction, timing_source;
  std::optional<bool> is_final;
  std::optional<double> op_bw_gbs;
  std::array<std::optional<int64_t>, kProxyOpKeys.size()> numbers;
  std::array<std::optional<uint64_t>, kProxyOpEvents.size()> sn, us;
};

// The same for a step: the element of steps[] in nested mode, or a line of its own in flat mode.
inline constexpr std::array kProxyStepKeys = {
    "proxy_step_sn",  "step",    "trans_size_bytes", "total_us",       "gpu_produce_us",
    "peer_credit_us", "wire_us", "flush_us",         "gpu_consume_us",
};
inline constexpr std::array kProxyStepEvents = {
    "proxy_step_start", "send_gpu_wait",   "send_peer_wait", "send_wait",
    "recv_wait",        "recv_flush_wait", "recv_gpu_wait",  "proxy_step_stop",
};

struct ProxyStep {
  uint32_t communicator_rank = 0;
  uint64_t line = 0;
  uint32_t position = 0;  // in steps[] of the line
  std::optional<std::string> direction;
  std::optional<int64_t> proxy_op_sn, peer, channel;
  std::array<std::optional<uint64_t>, kProxyStepKeys.size()> numbers;
  std::array<std::optional<uint64_t>, kProxyStepEvents.size()> sn, us;
};

// Something of a source that is not a row, or that should be known (table ingest_loss).
struct Loss {
  const struct LossKind* kind = nullptr;
  uint64_t count = 0;
  uint64_t first_position = 0;
  std::optional<uint32_t> communicator_rank;
  std::string operation;
  std::string detail;
};

struct SourceData {
  std::vector<ProcessKey> processes;
  std::vector<CommunicatorRankKey> communicator_ranks;
  std::vector<Series> series;
  std::vector<SequenceTracker> trackers;
  std::vector<RingState> rings;
  std::vector<IrregularRecord> irregular;
  std::vector<OperationEvents> events;
  std::vector<DumpStats> dump_stats;
  std::vector<ProxyOp> proxy_ops;
  std::vector<ProxyStep> proxy_steps;
  std::vector<Loss> losses;
  uint64_t lines = 0;            // of the file, rows and losses together
  uint64_t rows = 0;             // lines that are rows
  uint64_t pending_records = 0;  // records in `series` that were not written to the store yet
};

}  // namespace telltale::nccl_inspector
