#pragma once

// The evidence store: one DuckDB file with our schema. Opening says exactly what is wrong: no such
// store, a file of another kind, a newer schema, in use by another process, not writable.

#include <atomic>
#include <memory>
#include <string>

#include "store/database.h"
#include "store/file_format.h"

namespace telltale {

struct StoreOptions {
  Access access = Access::kReadOnly;
  // Makes a new store if there is none (only with kReadWrite).
  bool create = false;
  unsigned threads = 0;
  std::string memory_limit;
  bool external_access = true;
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> Open(const std::string& path, const StoreOptions& options);

  Database& database() { return *database_; }
  const std::string& path() const { return path_; }
  Result<std::unique_ptr<Connection>> Connect() { return database_->Connect(); }

  // Ids of a dimension table, unused so far in this store; thread safe.
  enum Dimension {
    kRun,
    kSource,
    kProcess,
    kCommunicator,
    kCommunicatorRank,
    kSeries,
    kCounter,
    kTraceProcess,
    kTrack,
    kEventName,
    kLaunchShape,
    kLogProcess,
    kLogLocation,
    kLogTemplate,
    kLogEvent,
    kMetricSeries,
    kStep,
    kRequest,
    kDimensions
  };
  int64_t NextId(Dimension dimension) { return next_id_[dimension]++; }
  // The first of so many consecutive ones.
  int64_t NextIds(Dimension dimension, size_t count) {
    return next_id_[dimension].fetch_add(static_cast<int64_t>(count));
  }

  // Writes everything that is still in the log into the file itself.
  Status Checkpoint();

  // The store's file, for what need not go through DuckDB; -1 if it is only read. Nobody else may
  // open and close it: that would give up DuckDB's lock.
  int file() const { return file_.handle; }

 private:
  struct File {
    int handle = -1;
    ~File();
  };
  Store(std::string path, std::unique_ptr<Database> database)
      : path_(std::move(path)), database_(std::move(database)) {}
  Status CheckSchema();
  Status FindNextIds();

  std::string path_;
  File file_;  // closed when DuckDB has given up its lock
  std::unique_ptr<Database> database_;
  std::atomic<int64_t> next_id_[kDimensions] = {};
};

}  // namespace telltale
