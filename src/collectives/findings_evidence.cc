#include "collectives/findings_evidence.h"

#include <array>

namespace telltale::collectives {
namespace {

uint64_t Unsigned(const Cell& cell) {
  if (const auto* value = std::get_if<int64_t>(&cell)) return static_cast<uint64_t>(*value);
  if (const auto* value = std::get_if<uint64_t>(&cell)) return *value;
  return 0;
}

// The range of blocks lets DuckDB skip all row groups but one or two.
constexpr const char* kSql = R"(
SELECT f.path, record.line::BIGINT, record.dump_us::BIGINT, record.exec_time_us::BIGINT FROM (
  SELECT r.record.line_key + b.line_offset AS line, r.record.timestamp_key + b.timestamp_offset_us AS dump_us,
         r.record.exec_time_us
  FROM operation_record r JOIN operation_block b ON b.block = r.block
  WHERE r.block BETWEEN {0} AND {1} AND b.block BETWEEN {0} AND {1}
    AND r.record.sequence_key + b.sequence_offset = {3}
  UNION ALL
  SELECT line, least(dump_timestamp_us, 9223372036854775), exec_time_us FROM operation_record_irregular
  WHERE series = {2} AND sequence = {3}) record,
  operation_series s JOIN source f ON f.source = s.source
WHERE s.series = {2} ORDER BY record.line LIMIT 1)";

}  // namespace

Result<std::optional<EvidenceReader::Row>> EvidenceReader::Read(uint32_t series,
                                                                uint64_t sequence) {
  const int64_t first = static_cast<int64_t>(series) << 16;
  TELLTALE_ASSIGN(
      const Table table,
      connection_.Query(fmt::format(fmt::runtime(kSql), first, first + 0xffff, series, sequence)));
  if (table.rows.empty()) return std::optional<Row>();
  const std::vector<Cell>& cells = table.rows.front();
  Row row;
  row.source = CellText(cells[0]);
  row.line = Unsigned(cells[1]);
  constexpr uint64_t kMostUs = 9'223'372'036'854'775;
  row.dump_ns = Unsigned(cells[2]) <= kMostUs ? static_cast<int64_t>(Unsigned(cells[2]) * 1000) : 0;
  row.exec_time_us = Unsigned(cells[3]);
  return std::optional<Row>(row);
}

}  // namespace telltale::collectives
