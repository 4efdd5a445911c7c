#pragma once

// Finds files, sees what they are, and puts them into the store on all cores.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "readers/format.h"

namespace telltale {

struct IngestOptions {
  std::vector<std::string> paths;  // files, folders (recursive) or "-" for standard input
  std::string run;                 // name of the run; empty: one run for each folder
  unsigned threads = 0;            // 0: as many as there are cores
  // East of Greenwich: of times in logs that name no zone.
  int32_t log_zone_seconds = 0;
  // Plain files from this size on are read by all threads together.
  uint64_t large_file_bytes = uint64_t{256} << 20;
  // Records in memory over all threads, before they go to the store (about 24 bytes each).
  uint64_t pending_records = uint64_t{4} << 20;
  // Called now and then with the bytes read so far and in all; thread safe.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> on_progress;
};

struct IngestReport {
  std::vector<SourceReport> sources;  // in the order of the paths, folders sorted by name
  uint64_t bytes = 0;                 // of the files that were read
  double seconds = 0;
};

// Options for opening the store that `Ingest` writes to, within 1 GiB of memory.
StoreOptions IngestStoreOptions();

// A file that cannot be read is a failed source in the report, and the others go on. Only what
// makes the whole ingest impossible (the store itself) is an error.
Result<IngestReport> Ingest(Store& store, const IngestOptions& options);

}  // namespace telltale
