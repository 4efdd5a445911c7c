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
  static Result<std::unique_ptr<TraceWriter>> Create(Store& store);
  Status Write(const SourceRow& row, const TraceData& data, const CallChain& chain);

 private:
  struct Ids;
  TraceWriter(Store& store, std::unique_ptr<Connection> connection)
      : store_(store), connection_(std::move(connection)) {}
  Status WriteDimensions(const SourceRow& row, const TraceData& data, const Ids& ids);
  Status WriteEvents(const TraceData& data, const CallChain& chain, const Ids& ids);
  Status WriteSideTables(const TraceData& data, const CallChain& chain, const Ids& ids);
  Status RemoveReplaced(int64_t source);

  Store& store_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<BulkInsert> event_insert_, launch_insert_, memory_insert_, wait_insert_,
      flow_insert_, counter_insert_;
};

}  // namespace telltale::trace
