#include "readers/engine_log/engine_log_format.h"

#include "readers/engine_log/engine_prefix.h"
#include "readers/log/log_source.h"
#include "readers/log_families.h"

namespace telltale::engine_log {
namespace {

// What a rank wrote to its stderr before it died may be nothing but a traceback.
bool BeginsWithTraceback(std::string_view head) {
  std::string_view line = head.substr(0, head.find('\n'));
  (void)log::PeelPrefix(line, EngineLogFamily().peels);
  return line.starts_with("Traceback (most recent call last):");
}

// Start scripts and stack traces may take most of the first lines; a page that quotes a line or two
// is no log.
bool Recognises(std::string_view head, std::string_view) {
  if (BeginsWithTraceback(log::WithoutByteOrderMark(head))) return true;
  const log::PrefixCount count = log::CountPrefixes(head, EngineLogFamily().peels, 2000);
  if (count.marked * 20 < count.lines) return false;
  const bool begins = log::CountPrefixes(head, EngineLogFamily().peels, 1).marked > 0;
  return begins || count.marked >= 3 || count.marked * 2 > count.lines;
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  return log::MakeLogWorker(store, options, EngineLogFamily());
}

}  // namespace

Format EngineLogFormat() { return {"engine_log", Recognises, MakeWorker, log::LinkLogs}; }

}  // namespace telltale::engine_log
