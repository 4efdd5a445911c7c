#pragma once

// The truth about a simulated job, as JSON: who is where, what was injected and where it was felt,
// and what became of each record. It is for tests and evaluation; no reader opens it.

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/inspector_process.h"
#include "simulate/training_job.h"
#include "simulate/training_layout.h"

namespace telltale::simulate {

// Operations of one rank without a line in its file, by cause.
struct LostOperations {
  uint64_t overwritten = 0;      // in the ring, or in the one slot of NCCL 2.29 and older
  uint64_t last_interval = 0;    // finished after the last dump
  uint64_t missing_file = 0;     // written to a file that is not there
  uint64_t below_min_size = 0;   // too small to be recorded
  uint64_t p2p_unsupported = 0;  // Send and Recv before NCCL 2.30
  uint64_t Total() const {
    return overwritten + last_interval + missing_file + below_min_size + p2p_unsupported;
  }
  LostOperations& operator+=(const LostOperations& other);
};
LostOperations LostBy(const InspectorProcess& process, const TrainingJob& job, uint32_t rank);

// Operation lines in the process's file.
uint64_t RecordsOf(const InspectorProcess& process);

// `ring_size` is the size in effect; `processes` are by global rank.
std::string TruthJson(const TrainingOptions& options, uint32_t ring_size, const Layout& layout,
                      const TrainingJob& job, const std::vector<InspectorProcess>& processes);

}  // namespace telltale::simulate
