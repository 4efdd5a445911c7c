#pragma once

// One process under the NCCL Inspector: completed operations go to a ring per communicator, and a
// dump thread writes the rings out every interval.

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/inspector_line.h"
#include "simulate/log_file.h"
#include "simulate/training_job.h"

namespace telltale::simulate {

struct InspectorSettings {
  InspectorFormat format;
  bool verbose_events;
  uint32_t ring_size;  // NCCL 2.29 and older keep 1 record a communicator
  int64_t interval_ns;
  int64_t start_us;         // the job's first moment, UTC
  int64_t clock_offset_us;  // of this process's host
  uint64_t seed;            // of this process
};

// What became of the operations that reached the rings.
struct InspectorCounts {
  uint64_t written = 0;
  uint64_t overwritten = 0;
  uint64_t left_in_ring = 0;  // at the end
  uint64_t dump_stats = 0;    // marker lines, not counted in `written`
};

class InspectorProcess {
 public:
  // `identities` are by group, in the order of creation; `program` must outlive the process.
  InspectorProcess(const InspectorSettings& settings,
                   const std::vector<std::pair<Group, InspectorIdentity>>& identities,
                   const std::vector<ProgramOperation>& program, LogFile file);

  Status Open() { return file_.Create(); }

  // Takes the operations that ended before `known_until` out of `records`, after which no operation
  // that ends earlier may come, and dumps whenever the interval is over. `buffer` is scratch space.
  Status Take(std::vector<OperationRecord>& records, int64_t known_until, LineBuffer& buffer);

  // The job has ended: the last dump, unless that is lost as it is in NCCL when a communicator is
  // destroyed before the interval is over.
  Status Finish(bool lose_last_interval, LineBuffer& buffer);

  const InspectorCounts& counts() const { return counts_; }
  const LogFile& file() const { return file_; }
  // Operations of one communicator that were overwritten.
  struct Overwritten {
    uint64_t collectives;
    uint64_t p2p;
  };
  Overwritten OverwrittenIn(Group group) const {
    const CommunicatorLog& log = logs_[log_of_group_[static_cast<size_t>(group)]];
    return {log.collectives.dropped_total, log.p2p.dropped_total};
  }

 private:
  // Keeps the newest `ring_size` records.
  struct Ring {
    std::vector<OperationRecord> records;
    size_t oldest = 0;
    uint64_t dropped_total = 0;
    uint64_t dropped_reported = 0;
  };
  struct CommunicatorLog {
    Group group;
    uint64_t rank_count;
    InspectorLineWriter writer;
    Ring collectives;
    Ring p2p;
  };

  void Push(const OperationRecord& record);
  Status Dump(LineBuffer& buffer);
  void DumpRing(CommunicatorLog& log, Ring& ring, LineBuffer& buffer);
  void DumpRecord(const CommunicatorLog& log, const OperationRecord& record, LineBuffer& buffer);
  void FillTrace(const OperationRecord& record);
  uint64_t Draw(uint64_t bound);
  void MoveTime(uint64_t most_us);
  uint64_t HostUs(int64_t ns) const;

  InspectorSettings settings_;
  const std::vector<ProgramOperation>* program_;
  LogFile file_;
  std::vector<CommunicatorLog> logs_;  // in dump order
  std::array<uint8_t, kGroups> log_of_group_{};
  int64_t next_dump_ns_;
  uint64_t dump_us_ = 0;  // the running dump's time
  uint64_t draws_ = 0;
  EventTrace trace_;
  InspectorCounts counts_;
};

}  // namespace telltale::simulate
