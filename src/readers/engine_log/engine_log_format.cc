#include "readers/engine_log/engine_log_format.h"

#include "readers/engine_log/engine_clues.h"
#include "readers/engine_log/engine_prefix.h"
#include "readers/log/log_source.h"

namespace telltale::engine_log {
namespace {

const log::LogFamily& Family() {
  static const log::LogFamily family = {"engine_log", EnginePeels(), EngineClues(), false};
  return family;
}

// Start scripts and stack traces may take most of the first lines.
bool Recognises(std::string_view head, std::string_view) {
  const log::PrefixCount count = log::CountPrefixes(head, EnginePeels(), 2000);
  return count.marked > 0 && count.marked * 20 >= count.lines;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, Family());
}

}  // namespace

Format EngineLogFormat() { return {"engine_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::engine_log
