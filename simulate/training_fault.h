#pragma once

// Faults are mechanisms of the simulated machine, not labels painted on durations. To add one: a
// kind here, its row in the table of training_fault.cc (name, keys), its mechanism where the
// machine is modelled (training_job.cc, or training.cc for what happens to files and clocks).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::simulate {

enum class FaultKind {
  kLateRank,         // a rank arrives late at WORLD and DP operations
  kSlowLink,         // a communicator, or two hosts' link, has 1/factor of its bandwidth
  kSlowHost,         // all network communication through a host
  kCongestion,       // all network communication
  kRingLoss,         // the Inspector's rings are small and overwrite
  kClockOffset,      // a host's clock is off
  kMissingRankFile,  // a process's file is not there
  kJitter,           // computation time varies more
};

struct Fault {
  FaultKind kind;
  std::string text;  // as given
  std::optional<uint32_t> rank;
  std::optional<uint32_t> host;        // counted from 0
  std::optional<uint32_t> other_host;  // the link's other end
  std::string communicator;
  double milliseconds = 0;
  double factor = 1;
  double percent = 0;
  uint32_t ring_size = 0;
  double from = 0;  // parts of the job's steps: [from, to)
  double to = 1;
};

std::string_view FaultKindName(FaultKind kind);

// Reads "kind:key=value,key=value"; the error says what is expected.
Result<Fault> ParseFault(std::string_view text);

// The kinds with their keys and an example each, one a line, for help.
std::string FaultHelp();

}  // namespace telltale::simulate
