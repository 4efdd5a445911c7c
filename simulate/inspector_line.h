#pragma once

// Writes lines as the NCCL Inspector plugin does, byte for byte: formats v4.0 (NCCL 2.28 to 2.30.7)
// to v4.4. Layout and formulas: NVIDIA/nccl ext-profiler/inspector (json.cc, inspector.cc), checked
// against genuine output in training_test.cc.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simulate/line_buffer.h"

namespace telltale::simulate {

enum class InspectorFormat { kV40, kV41, kV42, kV43, kV44 };

// "v4.0" ...
std::string_view FormatName(InspectorFormat format);

// What header and metadata say about one communicator in one process.
struct InspectorIdentity {
  uint64_t communicator_hash = 0;
  std::string communicator_name;
  bool writes_name = true;  // NCCL 2.30 and newer
  uint64_t rank = 0;        // in the communicator
  uint64_t rank_count = 0;
  uint64_t node_count = 0;
  std::string git_revision = "unknown";
  std::string hostname;
  uint64_t pid = 0;
};

enum class Function : uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kBroadcast,
  kReduce,
  kSendRecv,
  kSend,
  kRecv,
  kInvalid
};
std::string_view FunctionName(Function function);

// One channel of the event trace that verbose mode writes.
struct ChannelTrace {
  uint64_t channel_id;
  uint64_t start_sn, stop_sn, record_sn;
  uint64_t start_us, stop_us, record_us;
};
struct EventTrace {
  uint64_t start_sn, stop_sn;
  uint64_t start_us, stop_us;
  std::vector<ChannelTrace> channels;
};

struct OperationLine {
  Function function;
  uint64_t sequence;
  uint64_t peer = 0;  // point-to-point only
  uint64_t message_bytes;
  uint64_t exec_time_us;
  std::string_view timing_source = "kernel_gpu";
  std::string_view algorithm = "RING";  // from v4.2, collectives only
  std::string_view protocol = "SIMPLE";
  const EventTrace* trace = nullptr;  // verbose mode only
};

struct DumpStatsLine {
  uint64_t collective_records, collective_dropped_total, collective_dropped_now;
  uint64_t p2p_records, p2p_dropped_total, p2p_dropped_now;
};

struct Bandwidth {
  double algorithm_gbs;
  double bus_gbs;
};
Bandwidth BandwidthOf(Function function, uint64_t message_bytes, uint64_t exec_time_us,
                      uint64_t rank_count);

// The hash as the plugin prints it: "0x%lx" into a buffer of 17 bytes, which cuts full hashes.
std::string CommunicatorId(uint64_t hash);

// The lines of one communicator in one process. Thread compatible; holds no file.
class InspectorLineWriter {
 public:
  InspectorLineWriter(InspectorFormat format, const InspectorIdentity& identity);

  void AppendCollective(uint64_t dump_timestamp_us, const OperationLine& line,
                        LineBuffer& out) const;
  void AppendPointToPoint(uint64_t dump_timestamp_us, const OperationLine& line,
                          LineBuffer& out) const;
  void AppendDumpStats(uint64_t dump_timestamp_us, const DumpStatsLine& line,
                       LineBuffer& out) const;

 private:
  char* PutContext(char* out, uint64_t dump_timestamp_us) const;
  size_t MostBytes(const OperationLine& line) const;

  bool operations_carry_header_;
  bool operations_carry_algorithm_;
  uint64_t rank_count_;
  std::string before_timestamp_;
  std::string after_timestamp_;
};

}  // namespace telltale::simulate
