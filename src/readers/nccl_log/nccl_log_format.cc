#include "readers/nccl_log/nccl_log_format.h"

#include <array>

#include "readers/log/log_source.h"
#include "readers/nccl_log/nccl_clues.h"
#include "readers/nccl_log/nccl_prefix.h"

namespace telltale::nccl_log {
namespace {

constexpr std::array<log::Peel, 1> kPeels = {PeelNccl};

const log::LogFamily& Family() {
  static const log::LogFamily family = {"nccl_log", kPeels, NcclClues(), false};
  return family;
}

bool Recognises(std::string_view head, std::string_view) {
  const log::PrefixCount count = log::CountPrefixes(head, kPeels);
  return count.marked > 0 && count.marked * 2 >= count.lines;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, Family());
}

}  // namespace

Format NcclLogFormat() { return {"nccl_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::nccl_log
