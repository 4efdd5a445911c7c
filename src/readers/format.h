#pragma once

// What a reader is to ingest. To add one:
//   1. make a folder src/readers/<format>/ with a function that returns its Format;
//   2. name the function in formats.cc.
// A reader recognises its files by content, writes each source in one transaction (several small
// ones may share one), and accounts for every record that is not a row.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_stream.h"
#include "base/result.h"
#include "store/store.h"

namespace telltale {

struct LossReport {
  std::string kind;
  std::string loss_class;  // line, operation or note
  uint64_t count = 0;
  std::string detail;
};

enum class SourceStatus { kIngested, kAlreadyThere, kNotRecognised, kFailed };

struct SourceReport {
  std::string path;
  SourceStatus status = SourceStatus::kFailed;
  std::string format;
  std::string format_version;
  std::string message;   // why it was not ingested, or what was replaced
  uint64_t records = 0;  // lines of the file = rows + losses of class line
  uint64_t rows = 0;
  std::vector<LossReport> losses;
};

// A file on its way in.
struct SourceFile {
  std::string path;
  uint64_t size_bytes = 0;
  int64_t run = 0;
  int64_t replaces = -1;  // an older source of the same file, to be removed in the same transaction
};

// An opened file: its head has been looked at, `bytes` starts at the beginning again.
struct OpenedSource {
  ByteStream* bytes = nullptr;
  const ByteStream* decompressor = nullptr;  // knows about damage once all is read
  Compression compression = Compression::kNone;
  Fingerprint* fingerprint = nullptr;  // complete once all is read
};

struct WorkerOptions {
  uint64_t max_pending_records = uint64_t{1} << 20;  // in memory before they go to the store
  unsigned parsers = 1;                              // threads for one large file
  int32_t log_zone_seconds = 0;  // east of Greenwich: of times in logs that name no zone
  std::function<void(uint64_t bytes)> on_progress;  // thread safe
  // Whether a source with this fingerprint is in already (then `other` is its path); thread safe.
  // From this call on the fingerprint counts as being in.
  std::function<bool(const std::string& fingerprint, const std::string& path, std::string& other)>
      is_copy;
};

// Reads sources on one thread and writes them to the store.
class SourceWorker {
 public:
  virtual ~SourceWorker() = default;
  // The report is complete when this returns, also when the file could not be read to its end; the
  // rows are only sure to be kept after Flush. An error is one of the store: nothing can go on.
  virtual Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) = 0;
  // A large plain file, on several threads; if not overridden, opened and given to Ingest, which
  // may have them.
  virtual Status IngestLarge(const SourceFile& file, SourceReport& report);
  virtual Status Flush() = 0;
  // Removes a source of this format, in a transaction of its own.
  virtual Status Remove(int64_t source) = 0;
};

struct Format {
  const char* name;
  // Whether the first bytes of a file (decompressed) are of this format.
  bool (*recognises)(std::string_view head, std::string_view path);
  Result<std::unique_ptr<SourceWorker>> (*make_worker)(Store& store, const WorkerOptions& options);
  // Joins the sources of the runs named, after all are in: derived tables and losses.
  Status (*link)(Store& store, std::span<const int64_t> runs);
  // Whether a file is one thing, which is written anew as a whole (a profile), rather than a log.
  bool is_whole = false;
  // Whether files of such a name are other sources although their content be equal: the name alone
  // says whose they are. Null: no names are.
  bool (*is_told_by_name)(std::string_view path) = nullptr;
};

// What tells a source from others, of the fingerprint of its content.
std::string SourceFingerprint(std::string content, std::string_view path, uint64_t size_bytes);

std::span<const Format> Formats();

}  // namespace telltale
