#include "readers/prometheus/prometheus_format.h"

#include "base/json_text.h"
#include "base/line_window.h"
#include "base/pci.h"
#include "base/text.h"
#include "readers/bounded_appender.h"
#include "readers/prometheus/exposition_parser.h"
#include "readers/remove_source.h"
#include "readers/source_writer.h"
#include "store/transaction.h"

namespace telltale::prometheus {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;
constexpr size_t kMostLineBytes = size_t{1} << 20;

bool Recognises(std::string_view head, std::string_view) { return LooksLikeExposition(head); }

Cell TextCell(const std::string& text) { return TextOrNull(StoredText(text)); }
// NULL beyond what the column holds.
Cell LineCell(uint64_t line) { return line <= UINT32_MAX ? Cell(line) : Cell(); }

// The value of the first label that there is; DCGM writes Hostname and UUID.
const std::string* FindLabel(const Labels& labels, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    for (const auto& [label, value] : labels) {
      if (label == name) return &value;
    }
  }
  return nullptr;
}

std::string LabelsJson(const Labels& labels) {
  std::string json = "{";
  for (const auto& [name, value] : labels) {
    if (json.size() > 1) json += ',';
    AppendJsonString(json, StoredText(name));
    json += ':';
    AppendJsonString(json, StoredText(value));
  }
  return json + '}';
}

// Samples without a time of their own wait until it is known whether their scrape is the last: only
// that is as old as the file. No scrape has more of them than the file has series.
class StoreSink : public SampleSink {
 public:
  StoreSink(Store& store, Connection& connection, int64_t source,
            std::optional<int64_t> file_time_ns)
      : store_(store),
        source_(source),
        file_time_ns_(file_time_ns),
        series_(connection, "metric_series"),
        samples_(connection, "metric_sample") {}

  Status Take(const Series& series) override {
    const std::string* const host =
        FindLabel(series.labels, {"Hostname", "hostname", "host", "node"});
    const std::string* const gpu = FindLabel(series.labels, {"gpu"});
    const std::string* const uuid = FindLabel(series.labels, {"UUID", "uuid"});
    const std::string* const bus = FindLabel(series.labels, {"pci_bus_id"});
    const auto gpu_number = gpu != nullptr ? NumberOf<int64_t>(*gpu) : std::nullopt;
    const auto bus_id = bus != nullptr ? NormalPciBusId(*bus) : std::nullopt;
    if (ids_.size() <= series.number) ids_.resize(series.number + 1);
    ids_[series.number] = store_.NextId(Store::kMetricSeries);
    return series_.Append(
        {Cell(ids_[series.number]), Cell(source_), TextCell(series.name), TextCell(series.type),
         TextCell(series.help), host != nullptr ? TextCell(*host) : Cell(),
         gpu_number ? Cell(*gpu_number) : Cell(), uuid != nullptr ? TextCell(*uuid) : Cell(),
         bus_id ? Cell(*bus_id) : Cell(), Cell(LabelsJson(series.labels))});
  }

  Status Take(const Sample& sample) override {
    if (sample.time_ns) return Write(sample, sample.time_ns);
    if (!waiting_.empty() && waiting_.front().scrape != sample.scrape) {
      undated_ += waiting_.size();
      TELLTALE_TRY(WriteWaiting(std::nullopt));
    }
    waiting_.push_back(sample);
    return {};
  }

  Status Close(LossCounts& losses) {
    (file_time_ns_ ? dated_by_file_ : undated_) += waiting_.size();
    losses.Add("file_time", "note", dated_by_file_, 0,
               "samples without a time: that at which the file was last written is taken");
    losses.Add("unknown_time", "note", undated_, 0,
               "samples without a time, of scrapes that others follow, or not from a file");
    TELLTALE_TRY(WriteWaiting(file_time_ns_));
    TELLTALE_TRY(series_.Close());
    return samples_.Close();
  }

 private:
  Status Write(const Sample& sample, std::optional<int64_t> time_ns) {
    return samples_.Append({Cell(ids_[sample.series]), time_ns ? Cell(*time_ns) : Cell(),
                            Cell(sample.value), LineCell(sample.line)});
  }

  Status WriteWaiting(std::optional<int64_t> time_ns) {
    for (const Sample& sample : waiting_) TELLTALE_TRY(Write(sample, time_ns));
    waiting_.clear();
    return {};
  }

  Store& store_;
  int64_t source_;
  std::vector<int64_t> ids_;  // in the store, by number of the series
  std::optional<int64_t> file_time_ns_;
  BoundedAppender series_, samples_;
  std::vector<Sample> waiting_;  // of one scrape
  uint64_t dated_by_file_ = 0;
  uint64_t undated_ = 0;
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
    StoreSink sink(store_, *connection_, id, FileTimeNs(file.path));
    ExpositionParser parser(sink);
    uint64_t expanded_bytes = 0;
    LineWindow windows(*source.bytes, kWindowBytes, kMostLineBytes);
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
    LossCounts losses = parser.losses();
    TELLTALE_TRY(sink.Close(losses));
    SourceRow row = DescribeSource(file, source, "prometheus", expanded_bytes);
    row.format_version = parser.is_open_metrics() ? "OpenMetrics" : "";
    if (IsKnownSource(options_, row, report)) return false;
    if (!row.damage.empty()) losses.Add("damaged_compression", "note", 1, 0, row.damage);
    const SourceCounts counts = {parser.records(), parser.rows()};
    if (row.replaces >= 0) TELLTALE_TRY(RemoveRows(row.replaces));
    TELLTALE_TRY(WriteSource(*connection_, id, row, counts, losses.all()));
    ReportSource(row, counts, losses.all(), report);
    return true;
  }

  Status RemoveRows(int64_t source) {
    TELLTALE_TRY(RemoveMetricSamples(*connection_, source));
    return RemoveSource(*connection_, source, {"metric_series"});
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

Format PrometheusFormat() { return {"prometheus", Recognises, MakeWorker, LinkRuns}; }

}  // namespace telltale::prometheus
