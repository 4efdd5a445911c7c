#include "readers/kineto/kineto_format.h"

#include <algorithm>
#include <atomic>

#include "base/slices.h"
#include "readers/kineto/json_cursor.h"
#include "readers/kineto/parallel_parser.h"
#include "readers/kineto/trace_builder.h"
#include "readers/trace/trace_source.h"

namespace telltale::kineto {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;  // stays in a core's cache

bool Recognises(std::string_view head, std::string_view) {
  if (head.find("\"traceEvents\"") != std::string_view::npos) return true;
  if (head.starts_with(kByteOrderMark)) head.remove_prefix(kByteOrderMark.size());
  const size_t first = head.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return false;
  if (head[first] == '[') {
    return head.find("\"ph\"") != std::string_view::npos &&
           head.find("\"ts\"") != std::string_view::npos;
  }
  // Much metadata in front of the events.
  return head[first] == '{' && (head.find("\"baseTimeNanoseconds\"") != std::string_view::npos ||
                                head.find("\"distributedInfo\"") != std::string_view::npos);
}

class KinetoWorker : public SourceWorker {
 public:
  KinetoWorker(std::unique_ptr<trace::TraceWriter> writer, WorkerOptions options)
      : writer_(std::move(writer)), options_(std::move(options)) {}

  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override;
  Status Flush() override { return {}; }
  Status Remove(int64_t source) override { return writer_->Remove(source); }

 private:
  std::unique_ptr<trace::TraceWriter> writer_;
  WorkerOptions options_;
};

// What only the whole file tells.
void AddWholeFileLosses(const TraceSplitter& splitter, const std::string& damage, unsigned threads,
                        trace::TraceData& data) {
  const uint64_t events = data.records;
  const auto line = [&](const char* kind, uint64_t count, uint64_t first_position) {
    if (count == 0) return;
    data.records += count;
    data.losses.push_back({kind, "line", count, first_position, ""});
  };
  const auto note = [&](const char* kind, uint64_t count, const std::string& detail = {}) {
    if (count > 0) data.losses.push_back({kind, "note", count, 0, detail});
  };
  line("broken_json", splitter.broken_events(), splitter.first_broken_position());
  line("cut_last_event", splitter.cut_event() ? 1 : 0, events);
  note("cut_file", splitter.cut() ? 1 : 0, "the trace ends before its last bracket");
  note("damaged_compression", damage.empty() ? 0 : 1, damage);
  note("broken_members", splitter.broken_members() ? 1 : 0,
       "what stands beside the events is not JSON; time base and rank may be missing");
  std::atomic<uint64_t> unfinished = 0;
  ForEachSlice(data.events.size(), threads, [&](size_t, size_t begin, size_t end) {
    uint64_t found = 0;
    for (size_t i = begin; i < end; ++i) {
      found += data.events[i].duration_ns == trace::kUnfinished ? 1 : 0;
    }
    unfinished += found;
  });
  note("unfinished_event", unfinished);
}

Status KinetoWorker::Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) {
  TraceSplitter splitter(*source.bytes, kWindowBytes);
  uint64_t reported_bytes = 0;
  const auto on_window = [&] {
    if (!options_.on_progress) return;
    options_.on_progress(source.fingerprint->size() - reported_bytes);
    reported_bytes = source.fingerprint->size();
  };
  auto parts = ParseEvents(splitter, options_.parsers, on_window);
  if (!parts) {
    report.message = parts.error().message;
    return {};
  }
  if (!splitter.found_events()) {
    report.status = SourceStatus::kNotRecognised;
    report.message = "no traceEvents in it";
    return {};
  }
  // What is left of the stream belongs to the fingerprint, and may be another trace.
  const auto more_text = splitter.HasMoreText();
  if (!more_text) {
    report.message = more_text.error().message;
    return {};
  }
  on_window();
  const SourceRow row = DescribeSource(file, source, "kineto", splitter.bytes_read());
  if (IsKnownSource(options_, row, report)) return {};
  BuiltTrace built = BuildTrace(std::move(*parts), splitter.Members(), file.path);
  AddWholeFileLosses(splitter, row.damage, options_.parsers, built.data);
  if (*more_text) {
    built.data.losses.push_back(
        {"text_behind_trace", "note", 1, built.data.records,
         "what follows the trace was not read; split files that were joined"});
  }
  return trace::StoreTrace(*writer_, row, built.data, std::move(built.order), built.tolerance_ns,
                           report);
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  TELLTALE_ASSIGN(auto writer, trace::TraceWriter::Create(store, options.parsers));
  return std::unique_ptr<SourceWorker>(new KinetoWorker(std::move(writer), options));
}

Status LinkRuns(Store&, std::span<const int64_t>) { return {}; }

}  // namespace

Format KinetoFormat() { return {"kineto", Recognises, MakeWorker, LinkRuns, true}; }

}  // namespace telltale::kineto
