#pragma once

// Puts records into operation_record, operation_block and operation_histogram. DuckDB stores rows
// in vectors of 2,048, and what starts in the middle of one costs it twice: so only whole vectors
// are inserted while more may come, and the rest waits.

#include <memory>
#include <vector>

#include "readers/nccl_inspector/series_blocks.h"
#include "store/bulk_insert.h"
#include "store/time_counts.h"

namespace telltale::nccl_inspector {

// The records of a source and what is kept of it while they are written.
struct SourceRecords {
  SourceData& data;
  std::vector<SeriesState>& series;  // of data.series
  KeyLayout& layout;
};

class RecordWriter {
 public:
  // `connection` must outlive it.
  static Result<std::unique_ptr<RecordWriter>> Create(Connection& connection);

  // Series lie in the order (communicator rank, kind, operation, size …), each by sequence number.
  // The records must stay until Insert().
  void Add(SourceRecords source);
  // Writes what was added; afterwards its records are no longer needed.
  Status Insert();
  // Insert() for all that waits, before the end of a transaction.
  Status Finish();
  // After the transaction was rolled back.
  void Discard();

 private:
  RecordWriter() = default;
  Status InsertRecords(size_t rows);
  Status InsertBlocks();
  void KeepFrom(size_t block, const Record* next);

  std::unique_ptr<BulkInsert> record_insert_;
  std::unique_ptr<BulkInsert> block_insert_;
  std::unique_ptr<BulkInsert> histogram_insert_;
  TimeCounter counter_;
  std::vector<TimeCount> counts_;      // not inserted yet
  std::vector<Block> blocks_;          // not inserted yet
  std::vector<BlockRecords> waiting_;  // records that are not inserted yet
  std::vector<Record> kept_;           // those of waiting_ whose source is gone
  size_t waiting_rows_ = 0;
};

}  // namespace telltale::nccl_inspector
