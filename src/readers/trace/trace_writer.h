#pragma once

// Writes a profile into the store, in one transaction: wholly in or wholly out.

#include <memory>
#include <string>

#include "readers/source_row.h"
#include "readers/trace/call_chain.h"
#include "readers/trace/trace_data.h"
#include "store/bulk_insert.h"
#include "store/store.h"

namespace telltale::trace {

class TraceWriter {
 public:
  // Sources are written on this number of threads; more than one only while nothing else writes.
  static Result<std::unique_ptr<TraceWriter>> Create(Store& store, unsigned threads);
  unsigned threads() const { return threads_; }
  Status Write(const SourceRow& row, const TraceData& data, const CallChain& chain);
  // Removes a source, in a transaction of its own.
  Status Remove(int64_t source);

 private:
  struct Ids;
  TraceWriter(Store& store, std::unique_ptr<Connection> connection, unsigned threads)
      : store_(store), connection_(std::move(connection)), threads_(threads) {}
  Status WriteDimensions(const SourceRow& row, const TraceData& data, const Ids& ids);
  Status WriteEvents(const TraceData& data, const CallChain& chain, const Ids& ids);
  Status WriteLaunches(const TraceData& data, const Ids& ids);
  Status WriteSideTables(const TraceData& data, const CallChain& chain, const Ids& ids);
  Status WriteOutput(const TraceData& data, const Ids& ids);
  Status RemoveRows(int64_t source);

  Store& store_;
  std::unique_ptr<Connection> connection_;
  unsigned threads_;
  std::unique_ptr<BulkInsert> event_insert_, launch_insert_, memory_insert_, wait_insert_,
      flow_insert_, counter_insert_;
};

}  // namespace telltale::trace
