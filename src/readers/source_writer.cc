#include "readers/source_writer.h"

#include <chrono>
#include <filesystem>
#include <system_error>

#include "store/bulk_insert.h"

namespace telltale {

std::optional<int64_t> FileTimeNs(const std::string& path) {
  using namespace std::chrono;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return std::nullopt;
  return duration_cast<nanoseconds>(file_clock::to_sys(written).time_since_epoch()).count();
}

SourceRow DescribeSource(const SourceFile& file, OpenedSource& source, const char* format,
                         uint64_t expanded_bytes) {
  SourceRow row;
  row.run = file.run;
  row.path = file.path;
  row.format = format;
  row.compression = CompressionName(source.compression);
  row.expanded_bytes = expanded_bytes;
  row.size_bytes = source.fingerprint->size();
  row.fingerprint = SourceFingerprint(source.fingerprint->Finish(), file.path, row.size_bytes);
  row.damage = source.decompressor != nullptr ? source.decompressor->damage() : "";
  row.replaces = file.replaces;
  return row;
}

Status WriteSource(Connection& connection, int64_t source, const SourceRow& row,
                   const SourceCounts& counts, const std::vector<SourceLoss>& losses) {
  LazyAppender loss_rows(connection, "ingest_loss");
  for (const SourceLoss& loss : losses) {
    TELLTALE_TRY(loss_rows.Append({Cell(row.run), Cell(source), Cell(), Cell(), Cell(),
                                   loss.loss_class, loss.kind, Cell(loss.count),
                                   Cell(loss.first_position), TextOrNull(loss.detail), false}));
  }
  TELLTALE_TRY(loss_rows.Close());
  LazyAppender source_rows(connection, "source");
  TELLTALE_TRY(source_rows.Append(
      {Cell(source), Cell(row.run), row.path, row.format, TextOrNull(row.format_version),
       row.compression, Cell(row.size_bytes), Cell(row.expanded_bytes), row.fingerprint,
       Cell(counts.records), Cell(counts.rows), Cell(), Cell(), TextOrNull(row.damage), Cell()}));
  TELLTALE_TRY(source_rows.Close());
  return connection.Run(
      "UPDATE source SET ingested_at = now()::TIMESTAMP WHERE ingested_at IS NULL");
}

bool IsKnownSource(const WorkerOptions& options, const SourceRow& row, SourceReport& report) {
  std::string other;
  if (!options.is_copy || !options.is_copy(row.fingerprint, row.path, other)) return false;
  report.status = SourceStatus::kAlreadyThere;
  report.message = "same content as " + other;
  return true;
}

void ReportSource(const SourceRow& row, const SourceCounts& counts,
                  const std::vector<SourceLoss>& losses, SourceReport& report) {
  report.status = SourceStatus::kIngested;
  report.format = row.format;
  report.format_version = row.format_version;
  report.records = counts.records;
  report.rows = counts.rows;
  for (const SourceLoss& loss : losses) {
    report.losses.push_back({loss.kind, loss.loss_class, loss.count, loss.detail});
  }
}

}  // namespace telltale
