#include "readers/log/log_source.h"

#include <chrono>
#include <future>

#include "base/line_window.h"
#include "readers/log/log_builder.h"
#include "readers/log/log_writer.h"
#include "readers/log/template_merge.h"
#include "readers/source_writer.h"
#include "store/transaction.h"

namespace telltale::log {
namespace {

constexpr size_t kWindowBytes = size_t{4} << 20;
constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kPendingBytes = size_t{24} << 20;
constexpr uint64_t kMostLines = 4'000'000'000;  // numbers of lines have 32 bits

int64_t NowNs() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

// Rows that are written while the next are read.
class RowsBeingWritten {
 public:
  ~RowsBeingWritten() { (void)Wait(); }
  Status Wait() { return written_.valid() ? written_.get() : Status(); }
  void Start(LogWriter& writer, LogRows rows) {
    written_ = std::async(std::launch::async,
                          [&writer, rows = std::move(rows)] { return writer.Write(rows); });
  }

 private:
  std::future<Status> written_;
};

class Worker : public SourceWorker {
 public:
  Worker(std::unique_ptr<LogWriter> writer, Store& store, WorkerOptions options,
         const LogFamily& family)
      : store_(store),
        writer_(std::move(writer)),
        options_(std::move(options)),
        family_(family),
        clues_(family.clues) {}

  // A source that fits into memory is written when it has been read, several in one transaction; a
  // larger one piece by piece, in a transaction of its own.
  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override {
    const auto is_kept = Read(file, source, report);
    if (is_kept && *is_kept) {
      ++shared_sources_;
      if (!is_piecewise_ && shared_sources_ < kMostShared) return {};
      return Commit();
    }
    if (is_kept && !is_piecewise_) return {};
    (void)writer_->connection().Run("ROLLBACK");
    is_open_ = false;
    if (!is_kept) return tl::unexpected(is_kept.error());
    return {};
  }

  Status Flush() override { return Commit(); }
  Status Remove(int64_t source) override {
    TELLTALE_TRY(Commit());
    return InTransaction(writer_->connection(), [&] { return writer_->Remove(source); });
  }

 private:
  static constexpr size_t kMostShared = 64;

  Status Begin() {
    if (is_open_) return {};
    is_open_ = true;
    shared_sources_ = 0;
    return writer_->connection().Run("BEGIN");
  }
  Status Commit() {
    if (!is_open_) return {};
    is_open_ = false;
    return writer_->connection().Run("COMMIT");
  }

  Status BeginSource(const SourceFile& file) {
    TELLTALE_TRY(Begin());
    if (file.replaces >= 0) TELLTALE_TRY(writer_->Remove(file.replaces));
    source_ = store_.NextId(Store::kSource);
    writer_->Begin(source_);
    return {};
  }

  // False where nothing is to be kept; the report says why.
  Result<bool> Read(const SourceFile& file, OpenedSource& source, SourceReport& report) {
    is_piecewise_ = false;
    LogBuilder builder(
        family_, clues_,
        LogClock(FileTimeNs(file.path).value_or(NowNs()), options_.log_zone_seconds));
    LineWindow windows(*source.bytes, kWindowBytes, kLongestLine);
    uint64_t cut_lines = 0;
    uint64_t first_cut = 0;
    uint64_t expanded_bytes = 0;
    uint64_t reported = 0;
    RowsBeingWritten writing;
    while (true) {
      const auto window = windows.Next();
      if (!window) {
        report.message = window.error().message;
        return false;
      }
      if (window->empty()) break;
      if (builder.lines() >= kMostLines) {
        report.message = "more than 4 billion lines in one file";
        return false;
      }
      builder.Add(*window);
      expanded_bytes = windows.offset() + window->size();
      if (windows.cut_line() && cut_lines++ == 0) first_cut = builder.lines();
      if (builder.pending_bytes() > kPendingBytes) {
        if (!is_piecewise_) {
          TELLTALE_TRY(Commit());
          is_piecewise_ = true;
          TELLTALE_TRY(BeginSource(file));
        }
        TELLTALE_TRY(writing.Wait());
        writing.Start(*writer_, builder.TakeRows());
      }
      const uint64_t done = source.fingerprint->size();
      if (options_.on_progress) options_.on_progress(done - reported);
      reported = done;
    }
    TELLTALE_TRY(writing.Wait());
    const SourceRow row = DescribeSource(file, source, family_.format, expanded_bytes);
    if (IsKnownSource(options_, row, report)) return false;
    if (!is_piecewise_) TELLTALE_TRY(BeginSource(file));
    TELLTALE_TRY(writer_->Write(builder.TakeRows()));
    TELLTALE_TRY(writer_->Finish(builder));
    std::vector<SourceLoss> losses = LossesOf(builder, row);
    if (cut_lines > 0) {
      losses.push_back(
          {"cut_line", "note", cut_lines, first_cut, "lines of more than 1 MiB are kept to there"});
    }
    const SourceCounts counts = {builder.lines(), builder.lines()};
    TELLTALE_TRY(WriteSource(writer_->connection(), source_, row, counts, losses));
    ReportSource(row, counts, losses, report);
    return true;
  }

  std::vector<SourceLoss> LossesOf(const LogBuilder& builder, const SourceRow& row) const {
    std::vector<SourceLoss> losses;
    const auto note = [&](const char* kind, uint64_t count, std::string detail) {
      if (count > 0) losses.push_back({kind, "note", count, 0, std::move(detail)});
    };
    const LogClock& clock = builder.clock();
    note("year_assumed", clock.assumed_years(),
         "times without a year; lines follow each other, the last not behind the file's own time");
    note("date_assumed", clock.assumed_dates(),
         "times without a date; lines follow each other, the last not behind the file's own time");
    const int32_t zone = options_.log_zone_seconds;
    note("zone_assumed", clock.assumed_zones(),
         fmt::format("times without a zone are read as UTC{}{:02}:{:02}; --log-zone names another",
                     zone < 0 ? '-' : '+', std::abs(zone) / 3600, std::abs(zone) / 60 % 60));
    note("time_since_start", clock.since_start(),
         "times count from the start of the host: no place on a timeline");
    note("not_utf8", builder.lines_not_utf8(), "bytes that are not UTF-8 are written as \\xNN");
    note("too_many_processes", builder.lines_of_nobody(),
         "lines of processes beyond 65,536: who wrote them is not kept");
    note("damaged_compression", row.damage.empty() ? 0 : 1, row.damage);
    return losses;
  }

  Store& store_;
  std::unique_ptr<LogWriter> writer_;
  WorkerOptions options_;
  const LogFamily& family_;
  ClueFinder clues_;
  int64_t source_ = 0;
  bool is_piecewise_ = false;  // the source that is being read
  bool is_open_ = false;       // a transaction
  size_t shared_sources_ = 0;  // in it
};

}  // namespace

Result<std::unique_ptr<SourceWorker>> MakeLogWorker(Store& store, const WorkerOptions& options,
                                                    const LogFamily& family) {
  TELLTALE_ASSIGN(auto writer, LogWriter::Create(store));
  return std::unique_ptr<SourceWorker>(new Worker(std::move(writer), store, options, family));
}

Status LinkLogs(Store& store, std::span<const int64_t> runs) {
  if (runs.empty()) return {};
  TELLTALE_ASSIGN(auto connection, store.Connect());
  // The formats of logs come here one after the other: what the first joined, the others need not.
  TELLTALE_ASSIGN(
      const int64_t missing,
      connection->QueryInteger("SELECT count(*) FROM log_template WHERE shared IS NULL"));
  if (missing == 0) return {};
  // Those of the whole store are joined anew: the outcome is the same whatever came first.
  TELLTALE_ASSIGN(const Table table,
                  connection->Query("SELECT DISTINCT text FROM log_template ORDER BY text"));
  std::vector<std::string> texts;
  for (const auto& row : table.rows) texts.push_back(CellText(row[0]));
  const MergedTemplates merged = MergeTemplates(texts);
  return InTransaction(*connection, [&]() -> Status {
    TELLTALE_TRY(connection->Run(
        "CREATE OR REPLACE TEMP TABLE shared_template (text VARCHAR, shared VARCHAR)"));
    LazyAppender rows(*connection, "shared_template");
    for (size_t i = 0; i < texts.size(); ++i) {
      TELLTALE_TRY(rows.Append({Cell(texts[i]), Cell(merged.texts[merged.groups[i]])}));
    }
    TELLTALE_TRY(rows.Close());
    return connection->Run(
        "UPDATE log_template SET shared = s.shared FROM shared_template s "
        "WHERE s.text = log_template.text");
  });
}

}  // namespace telltale::log
