#include "readers/otlp/otlp_format.h"

#include "base/line_window.h"
#include "readers/bounded_appender.h"
#include "readers/otlp/otlp_parser.h"
#include "readers/remove_source.h"
#include "readers/source_writer.h"
#include "store/transaction.h"

namespace telltale::otlp {
namespace {

constexpr size_t kWindowBytes = size_t{1} << 20;

bool Recognises(std::string_view head, std::string_view) { return LooksLikeOtlp(head); }

Cell CellOf(std::string_view text) { return text.empty() ? Cell() : Cell(std::string(text)); }
Cell CellOf(const std::optional<int64_t>& value) { return value ? Cell(*value) : Cell(); }
// NULL beyond what the column holds.
Cell PositionCell(uint64_t position) { return position <= UINT32_MAX ? Cell(position) : Cell(); }

class StoreSink : public RecordSink {
 public:
  StoreSink(Connection& connection, int64_t source)
      : source_(source), spans_(connection, "span"), logs_(connection, "otlp_log") {}

  Status Take(const Span& span, const Origin& origin) override {
    return spans_.Append(
        {Cell(source_), PositionCell(span.position), CellOf(span.trace_id), CellOf(span.span_id),
         CellOf(span.parent_span_id), CellOf(span.name), CellOf(span.kind), Cell(span.start_ns),
         Cell(span.end_ns), CellOf(span.status), CellOf(origin.service), CellOf(origin.host),
         CellOf(origin.pid), CellOf(origin.scope), CellOf(span.attributes), CellOf(span.events)});
  }

  Status Take(const LogRecord& record, const Origin& origin) override {
    return logs_.Append({Cell(source_), PositionCell(record.position), CellOf(record.time_ns),
                         CellOf(record.observed_ns), CellOf(record.severity), CellOf(record.body),
                         CellOf(record.trace_id), CellOf(record.span_id), CellOf(origin.service),
                         CellOf(origin.host), CellOf(origin.pid), CellOf(record.attributes)});
  }

  Status Close() {
    TELLTALE_TRY(spans_.Close());
    return logs_.Close();
  }

 private:
  int64_t source_;
  BoundedAppender spans_, logs_;
};

class Worker : public SourceWorker {
 public:
  Worker(Store& store, std::unique_ptr<Connection> connection, WorkerOptions options)
      : store_(store), connection_(std::move(connection)), options_(std::move(options)) {}

  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override {
    TELLTALE_TRY(connection_->Run("BEGIN"));
    const auto is_kept = Read(file, source, report);
    if (is_kept && *is_kept) return connection_->Run("COMMIT");
    (void)connection_->Run("ROLLBACK");
    return is_kept ? Status() : tl::unexpected(is_kept.error());
  }

  Status Flush() override { return {}; }
  Status Remove(int64_t source) override {
    return InTransaction(*connection_, [&] { return RemoveRows(source); });
  }

 private:
  // Whether the rows are to stay; the report says why not.
  Result<bool> Read(const SourceFile& file, OpenedSource& source, SourceReport& report) {
    const int64_t id = store_.NextId(Store::kSource);
    StoreSink sink(*connection_, id);
    OtlpParser parser(sink);
    uint64_t expanded_bytes = 0;
    LineWindow windows(*source.bytes, kWindowBytes, JsonDocuments::kMostBytes);
    uint64_t reported_bytes = 0;
    while (true) {
      const auto window = windows.Next();
      if (!window) {
        report.message = window.error().message;
        return false;
      }
      if (window->empty()) break;
      TELLTALE_TRY(parser.ParseWindow(*window, windows.cut_line()));
      expanded_bytes = windows.offset() + window->size();
      if (options_.on_progress) options_.on_progress(source.fingerprint->size() - reported_bytes);
      reported_bytes = source.fingerprint->size();
    }
    TELLTALE_TRY(parser.Finish());
    TELLTALE_TRY(sink.Close());
    SourceRow row = DescribeSource(file, source, "otlp", expanded_bytes);
    if (IsKnownSource(options_, row, report)) return false;
    LossCounts losses = parser.losses();
    if (!row.damage.empty()) losses.Add("damaged_compression", "note", 1, 0, row.damage);
    const SourceCounts counts = {parser.records(), parser.rows()};
    if (row.replaces >= 0) TELLTALE_TRY(RemoveRows(row.replaces));
    TELLTALE_TRY(WriteSource(*connection_, id, row, counts, losses.all()));
    ReportSource(row, counts, losses.all(), report);
    return true;
  }

  Status RemoveRows(int64_t source) {
    return RemoveSource(*connection_, source, {"span", "otlp_log"});
  }

  Store& store_;
  std::unique_ptr<Connection> connection_;
  WorkerOptions options_;
};

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  TELLTALE_ASSIGN(auto connection, store.Connect());
  return std::unique_ptr<SourceWorker>(new Worker(store, std::move(connection), options));
}

Status LinkRuns(Store&, std::span<const int64_t>) { return {}; }

}  // namespace

Format OtlpFormat() { return {"otlp", Recognises, MakeWorker, LinkRuns}; }

}  // namespace telltale::otlp
