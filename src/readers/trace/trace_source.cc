#include "readers/trace/trace_source.h"

#include <limits>

namespace telltale::trace {

Status StoreTrace(TraceWriter& writer, const SourceRow& row, TraceData& data,
                  std::vector<uint32_t> order, int64_t tolerance_ns, SourceReport& report) {
  if (data.records >= std::numeric_limits<uint32_t>::max()) {
    report.message = "more than 4.29 billion records in one file";
    return {};
  }
  const CallChain chain = LinkCallChain(data, std::move(order), tolerance_ns, writer.threads());
  const auto note = [&](const char* kind, uint64_t count, const char* detail) {
    if (count > 0) data.losses.push_back({kind, "note", count, 0, detail});
  };
  note("gpu_work_without_correlation", chain.gpu_without_correlation, "");
  note("gpu_work_without_launch", chain.gpu_without_launch,
       "no call in the profile has their correlation id");
  note("repeated_correlation", chain.repeated_correlations, "");
  note("wait_without_record", chain.waits_without_record,
       "streams that wait for an event whose record is not in the profile");
  TELLTALE_TRY(writer.Write(row, data, chain));

  SourceRow written = row;
  written.format_version = data.format_version;
  ReportSource(written, {data.records, data.records - data.LostRecords()}, data.losses, report);
  return {};
}

}  // namespace telltale::trace
