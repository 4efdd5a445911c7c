#include "readers/kernel_log/kernel_log_format.h"

#include "readers/kernel_log/kernel_clues.h"
#include "readers/kernel_log/kernel_prefix.h"
#include "readers/log/log_source.h"

namespace telltale::kernel_log {
namespace {

// Messages of the fabric manager have lines without a prefix.
const log::LogFamily& Family() {
  static const log::LogFamily family = {"kernel_log", KernelPeels(), KernelClues(), true};
  return family;
}

bool Recognises(std::string_view head, std::string_view) {
  const log::PrefixCount count = log::CountPrefixes(head, KernelPeels());
  return count.marked > 0 && count.marked * 3 >= count.lines;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, Family());
}

}  // namespace

Format KernelLogFormat() { return {"kernel_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::kernel_log
