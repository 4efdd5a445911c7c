#include "readers/nccl_inspector/inspector_format.h"

#include <algorithm>
#include <map>
#include <optional>
#include <regex>
#include <thread>

#include "base/line_window.h"
#include "readers/nccl_inspector/link.h"
#include "readers/nccl_inspector/ordered_ranges.h"
#include "readers/nccl_inspector/source_parser.h"
#include "readers/nccl_inspector/store_writer.h"

namespace telltale::nccl_inspector {
namespace {

// Fits a core's second-level cache together with the records made from it.
constexpr size_t kWindowBytes = size_t{128} << 10;
// The longest real lines are verbose ones (64 channels: 12 kB) and nested proxy records.
constexpr size_t kMaxLineBytes = size_t{16} << 20;

bool LooksLikeFileName(std::string_view path) {
  static const std::regex kName(R"(.*-pid[0-9]+\.(log|jsonl|json)(\.gz|\.zst)?)");
  return std::regex_match(path.begin(), path.end(), kName);
}

bool Recognises(std::string_view head, std::string_view path) {
  for (const std::string_view mark : {R"("inspector_output_format_version")", R"("coll_perf")",
                                      R"("p2p_perf")", R"("dump_stats")"}) {
    if (head.find(mark) != std::string_view::npos) return true;
  }
  // An empty file, or one whose first line is already broken, by the plugin's file name.
  return LooksLikeFileName(path) && (head.empty() || head.starts_with("{\"header\""));
}

std::string VersionsOf(const SourceData& data) {
  std::vector<std::string> versions;
  for (const ProcessKey& process : data.processes) {
    if (process.format_version) versions.push_back(*process.format_version);
  }
  std::sort(versions.begin(), versions.end());
  versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
  std::string text;
  for (const std::string& version : versions) text += (text.empty() ? "" : ",") + version;
  return text;
}

// What a source lost as a whole, besides the lines that were counted while reading.
void AddWholeSourceLosses(SourceData& data, SourceBuilder& builder, const std::string& damage) {
  if (data.lines == 0) builder.AddLoss(kEmptyFile, 1, 0);
  if (!damage.empty()) builder.AddLoss(kDamagedCompression, 1, data.lines, {}, damage);
  const bool cut = std::any_of(data.losses.begin(), data.losses.end(),
                               [](const Loss& loss) { return loss.kind == &kCutLastLine; });
  if (cut) builder.AddLoss(kCutFile, 1, data.lines);
}

void FillReport(const SourceData& data, const SourceRow& row, SourceReport& report) {
  report.status = SourceStatus::kIngested;
  report.format = "nccl_inspector";
  report.format_version = row.format_version;
  report.records = data.lines;
  report.rows = data.rows;
  std::map<std::pair<std::string, std::string>, LossReport> merged;
  for (const Loss& loss : data.losses) {
    LossReport& entry = merged[{loss.kind->name, loss.detail}];
    entry.kind = loss.kind->name;
    entry.loss_class = LossClassName(loss.kind->loss_class);
    entry.detail = loss.detail;
    entry.count += loss.count;
  }
  for (auto& [key, entry] : merged) report.losses.push_back(std::move(entry));
}

class InspectorWorker : public SourceWorker {
 public:
  InspectorWorker(std::unique_ptr<StoreWriter> writer, WorkerOptions options)
      : writer_(std::move(writer)), options_(std::move(options)) {}

  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override;
  Status IngestLarge(const SourceFile& file, SourceReport& report) override;
  Status Flush() override { return writer_->Commit(); }
  Status Remove(int64_t source) override { return writer_->Remove(source); }

 private:
  Status Finish(const SourceFile& file, SourceRow row, SourceBuilder& builder, bool in_parts,
                SourceReport& report);
  std::unique_ptr<StoreWriter> writer_;
  WorkerOptions options_;
};

Status InspectorWorker::Finish(const SourceFile& file, SourceRow row, SourceBuilder& builder,
                               bool in_parts, SourceReport& report) {
  SourceData& data = builder.data();
  std::string other;
  if (options_.is_copy && options_.is_copy(row.fingerprint, file.path, other)) {
    writer_->Abandon();
    report.status = SourceStatus::kAlreadyThere;
    report.message = "same content as " + other;
    return {};
  }
  AddWholeSourceLosses(data, builder, row.damage);
  row.run = file.run;
  row.path = file.path;
  row.replaces = file.replaces;
  row.format_version = VersionsOf(data);
  FillReport(data, row, report);
  if (in_parts) return writer_->End(std::move(row), data);
  return writer_->Add(std::move(row), std::move(data));
}

Status InspectorWorker::Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) {
  SourceParser parser(true, &writer_->pool());
  LineWindow windows(*source.bytes, kWindowBytes, kMaxLineBytes);
  bool in_parts = false;
  uint64_t expanded_bytes = 0;
  uint64_t reported_bytes = 0;
  while (true) {
    auto window = windows.Next();
    if (!window) {
      writer_->Abandon();
      report.message = window.error().message;
      return {};
    }
    if (window->empty()) break;
    parser.ParseWindow(*window, windows.cut_line());
    expanded_bytes = windows.offset() + window->size();
    if (options_.on_progress && source.fingerprint != nullptr) {
      options_.on_progress(source.fingerprint->size() - reported_bytes);
      reported_bytes = source.fingerprint->size();
    }
    SourceData& data = parser.builder().data();
    if (StoreWriter::PendingRows(data) < options_.max_pending_records) continue;
    Status status = in_parts ? Status() : writer_->Begin();
    in_parts = true;
    if (status) status = writer_->WritePart(data);
    if (!status) {
      writer_->Abandon();
      return status;
    }
  }
  parser.Finish();
  SourceRow row;
  row.compression = CompressionName(source.compression);
  row.expanded_bytes = expanded_bytes;
  row.size_bytes = source.fingerprint->size();
  row.fingerprint = source.fingerprint->Finish();
  // Empty files are no copies of each other.
  if (row.size_bytes == 0) row.fingerprint += ":" + file.path;
  row.damage = source.decompressor->damage();
  return Finish(file, std::move(row), parser.builder(), in_parts, report);
}

Status InspectorWorker::IngestLarge(const SourceFile& file, SourceReport& report) {
  // The fingerprint needs every byte in order, so it is taken beside the parsers.
  Result<std::string> fingerprint = std::string();
  std::optional<Error> unreadable;
  std::thread fingerprinter([&] { fingerprint = FingerprintOfFile(file.path, file.size_bytes); });
  SourceBuilder whole;
  Status status = writer_->Begin();
  if (status) {
    OrderedRangesOptions ranges;
    ranges.path = file.path;
    ranges.size_bytes = file.size_bytes;
    ranges.threads = options_.parsers;
    ranges.window_bytes = kWindowBytes;
    ranges.max_line_bytes = kMaxLineBytes;
    ranges.on_progress = options_.on_progress;
    Status written;
    const Status parsed = ParseOrderedRanges(ranges, [&](SourceBuilder&& part) -> Status {
      whole.Append(std::move(part));
      if (StoreWriter::PendingRows(whole.data()) < options_.max_pending_records) return {};
      written = writer_->WritePart(whole.data());
      return written;
    });
    status = written;
    if (written && !parsed) unreadable = parsed.error();
    whole.EndDumps();
  }
  fingerprinter.join();
  if (!fingerprint) unreadable = fingerprint.error();
  if (!status || unreadable) {
    writer_->Abandon();
    if (unreadable) report.message = unreadable->message;
    return status;
  }
  SourceRow row;
  row.compression = CompressionName(Compression::kNone);
  row.size_bytes = file.size_bytes;
  row.expanded_bytes = file.size_bytes;
  row.fingerprint = *fingerprint;
  return Finish(file, std::move(row), whole, true, report);
}

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  TELLTALE_ASSIGN(std::unique_ptr<StoreWriter> writer,
                  StoreWriter::Create(store, options.max_pending_records));
  return std::unique_ptr<SourceWorker>(new InspectorWorker(std::move(writer), options));
}

}  // namespace

Format InspectorFormat() { return {"nccl_inspector", Recognises, MakeWorker, LinkRuns}; }

}  // namespace telltale::nccl_inspector
