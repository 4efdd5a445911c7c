#pragma once

// Writes sources into the store's tables. Small sources wait until there are enough records for an
// insert, and share a transaction; a large one gets a transaction of its own, into which its
// records go part by part. Either way a source is wholly in or wholly out.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "readers/nccl_inspector/record_pool.h"
#include "readers/nccl_inspector/record_writer.h"
#include "readers/nccl_inspector/records.h"
#include "readers/source_row.h"
#include "store/bulk_insert.h"
#include "store/store.h"

namespace telltale::nccl_inspector {

class StoreWriter {
 public:
  static Result<std::unique_ptr<StoreWriter>> Create(Store& store, uint64_t max_pending_records);

  // Takes a whole source; it is sure to be kept after the next Commit (which comes by itself now
  // and then).
  Status Add(SourceRow row, SourceData data);

  // A large source: Begin, then WritePart as often as needed (it empties the rows of `data` and
  // keeps what is said once), then End, or Abandon to leave nothing of it.
  Status Begin();
  Status WritePart(SourceData& data);
  Status End(SourceRow row, SourceData& data);
  void Abandon();

  Status Commit();

  // Removes a source, in a transaction of its own.
  Status Remove(int64_t source);

  // Where the memory of records goes once they are written.
  RecordPool& pool() { return pool_; }

  // Records and other rows in memory.
  static uint64_t PendingRows(const SourceData& data);

  ~StoreWriter();

 private:
  struct Source;
  StoreWriter(Store& store, std::unique_ptr<Connection> connection, uint64_t max_pending_records);

  Status Flush();
  Status OpenTransaction();
  Status WriteWaiting();
  Status WriteWritten();
  Status Rollback(Status failure);
  void AllocateIds(Source& source);
  void AddRecords(Source& source);
  Status WriteOtherRows(std::span<const std::unique_ptr<Source>> sources);
  Status WriteDimensions(std::span<const std::unique_ptr<Source>> sources);
  void DropRows(SourceData& data);
  static uint64_t Dimensions(const SourceData& data);
  Status RemoveReplaced(const SourceRow& row);
  Status RemoveRows(int64_t source);

  Store& store_;
  RecordPool pool_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<RecordWriter> records_;
  std::unique_ptr<BulkInsert> run_insert_;
  uint64_t max_pending_records_;
  uint64_t pending_rows_ = 0;      // of waiting_
  uint64_t uncommitted_rows_ = 0;  // flushed into the open transaction
  bool in_transaction_ = false;
  uint64_t written_dimensions_ = 0;  // of written_
  std::vector<std::unique_ptr<Source>> waiting_;
  std::vector<std::unique_ptr<Source>> written_;  // all but their dimensions
  std::unique_ptr<Source> large_;
};

}  // namespace telltale::nccl_inspector
