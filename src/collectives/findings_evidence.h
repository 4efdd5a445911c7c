#pragma once

// The rows behind a finding: where each lies in its source, and when it was dumped.

#include <map>
#include <optional>

#include "collectives/findings.h"
#include "collectives/findings_data.h"

namespace telltale::collectives {

class EvidenceReader {
 public:
  explicit EvidenceReader(Connection& connection) : connection_(connection) {}

  struct Row {
    std::string source;
    uint64_t line = 0;
    int64_t dump_ns = 0;
    uint64_t exec_time_us = 0;
  };
  // A record by its series and sequence number; nothing if there is none.
  Result<std::optional<Row>> Read(uint32_t series, uint64_t sequence);

 private:
  Connection& connection_;
};

}  // namespace telltale::collectives
