#include "readers/kernel_log/kernel_log_format.h"

#include "readers/kernel_log/kernel_prefix.h"
#include "readers/log/log_source.h"
#include "readers/log_families.h"

namespace telltale::kernel_log {
namespace {

bool Recognises(std::string_view head, std::string_view) {
  const log::PrefixCount count = log::CountPrefixes(head, KernelPeels());
  return count.marked > 0 && count.marked * 3 >= count.lines;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, KernelLogFamily());
}

}  // namespace

Format KernelLogFormat() { return {"kernel_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::kernel_log
