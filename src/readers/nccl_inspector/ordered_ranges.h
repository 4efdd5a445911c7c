#pragma once

// One large plain file on several threads: it is cut into ranges at lines that can be read without
// what is in front of them (CutPoints); each range is parsed on its own, and the results come back
// in the order of the file. Memory is bounded: only a few ranges are ahead of the consumer.

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "readers/nccl_inspector/source_builder.h"

namespace telltale::nccl_inspector {

struct OrderedRangesOptions {
  std::string path;
  uint64_t size_bytes = 0;
  uint64_t range_bytes = uint64_t{32} << 20;
  unsigned threads = 1;
  size_t window_bytes = size_t{1} << 20;
  size_t max_line_bytes = size_t{16} << 20;
  std::function<void(uint64_t bytes)> on_progress;
};

// `consume` runs on the calling thread. An error of it or of reading ends the work.
Status ParseOrderedRanges(const OrderedRangesOptions& options,
                          const std::function<Status(SourceBuilder&&)>& consume);

}  // namespace telltale::nccl_inspector
