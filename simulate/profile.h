#pragma once

// A profile of a transformer's training steps as a profiler would have written it: operators nested
// in ranges, the calls that they make, the kernels that those launch, collectives on a stream of
// their own. The same events come as a Kineto trace (PyTorch's Chrome JSON, key order and line
// breaks as libkineto writes them) or as an Nsight Systems export (SQLite, schema 3.25).

#include <cstdint>
#include <string>

#include "base/result.h"

namespace telltale::simulate {

struct ProfileOptions {
  uint32_t layers = 32;
  uint32_t steps = 10;
  uint64_t target_bytes = 0;   // of a Kineto trace; replaces `steps`
  uint64_t target_ranges = 0;  // NVTX ranges of an export; replaces `steps`
  bool python = true;          // Kineto: Python functions around operators
  uint64_t seed = 1;
};

struct ProfileCounts {
  uint64_t ranges = 0;  // operators, annotations and Python functions
  uint64_t calls = 0;
  uint64_t kernels = 0;
  uint64_t flows = 0;
};

Result<ProfileCounts> WriteKinetoTrace(const std::string& path, const ProfileOptions& options);
Result<ProfileCounts> WriteNsightExport(const std::string& path, const ProfileOptions& options);

}  // namespace telltale::simulate
