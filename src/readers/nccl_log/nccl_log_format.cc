#include "readers/nccl_log/nccl_log_format.h"

#include <array>

#include "readers/log/log_source.h"
#include "readers/log_families.h"
#include "readers/nccl_log/nccl_prefix.h"

namespace telltale::nccl_log {
namespace {

constexpr std::array<log::Peel, 1> kPeels = {PeelNccl};

// Where other programs write too, it is theirs.
bool Recognises(std::string_view head, std::string_view) {
  const log::PrefixCount nccl = log::CountPrefixes(head, kPeels);
  const log::PrefixCount any = log::CountPrefixes(head, NcclLogFamily().peels);
  return nccl.marked > 0 && nccl.marked * 2 >= nccl.lines && any.marked == nccl.marked;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, NcclLogFamily());
}

}  // namespace

Format NcclLogFormat() { return {"nccl_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::nccl_log
