#pragma once

// The rows that every source has: itself, and what is missing of it.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "readers/format.h"
#include "readers/source_row.h"
#include "store/database.h"

namespace telltale {

struct SourceLoss {
  std::string kind;
  std::string loss_class;  // line or note
  uint64_t count = 0;
  uint64_t first_position = 0;
  std::string detail;
};

struct SourceCounts {
  uint64_t records = 0;
  uint64_t rows = 0;
};

// What is known of a source that has been read to its end; `format` as in the table source.
SourceRow DescribeSource(const SourceFile& file, OpenedSource& source, const char* format,
                         uint64_t expanded_bytes);

// NULL where there is none.
inline Cell TextOrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

// When a file was last written, nanoseconds since 1970; none for standard input.
std::optional<int64_t> FileTimeNs(const std::string& path);

// In the transaction that is open on the connection.
Status WriteSource(Connection& connection, int64_t source, const SourceRow& row,
                   const SourceCounts& counts, const std::vector<SourceLoss>& losses);

// Whether the store has this content already; says so in the report.
bool IsKnownSource(const WorkerOptions& options, const SourceRow& row, SourceReport& report);

// What was written: the counts and losses, for the one who asked for the ingest.
void ReportSource(const SourceRow& row, const SourceCounts& counts,
                  const std::vector<SourceLoss>& losses, SourceReport& report);

}  // namespace telltale
