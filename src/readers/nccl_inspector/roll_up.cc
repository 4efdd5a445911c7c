#include "readers/nccl_inspector/roll_up.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/column_visit.h"
#include "store/query.h"

namespace telltale::nccl_inspector {
namespace {

constexpr uint32_t kNoCell = std::numeric_limits<uint32_t>::max();

struct CellTime {
  uint64_t key = kFree;  // cell, time
  uint64_t operations = 0;

  static constexpr uint64_t kFree = std::numeric_limits<uint64_t>::max();
  static uint64_t Key(uint32_t cell, uint32_t exec_time_us) {
    return uint64_t{cell} << 32 | exec_time_us;
  }
  uint32_t cell() const { return static_cast<uint32_t>(key >> 32); }
  uint32_t exec_time_us() const { return static_cast<uint32_t>(key); }
};

// Counts by cell and time, with open addressing: many rows, few different keys.
class CellTimes {
 public:
  void Add(uint64_t key, uint64_t operations) {
    if (2 * used_ >= slots_.size()) Grow();
    CellTime& slot = SlotOf(key);
    used_ += slot.key == CellTime::kFree ? 1 : 0;
    slot.key = key;
    slot.operations += operations;
  }
  void Add(const CellTimes& other) {
    for (const CellTime& slot : other.slots_) {
      if (slot.key != CellTime::kFree) Add(slot.key, slot.operations);
    }
  }
  std::vector<CellTime> Sorted() const {
    std::vector<CellTime> sorted;
    for (const CellTime& slot : slots_) {
      if (slot.key != CellTime::kFree) sorted.push_back(slot);
    }
    std::sort(sorted.begin(), sorted.end(),
              [](const CellTime& a, const CellTime& b) { return a.key < b.key; });
    return sorted;
  }

 private:
  CellTime& SlotOf(uint64_t key) {
    const size_t mask = slots_.size() - 1;
    // Fibonacci hashing: neighbouring times come into different places.
    size_t at = static_cast<size_t>((key * 0x9E3779B97F4A7C15U) >> 32) & mask;
    while (slots_[at].key != CellTime::kFree && slots_[at].key != key) at = (at + 1) & mask;
    return slots_[at];
  }
  void Grow() {
    constexpr size_t kFirstSize = 4096;
    std::vector<CellTime> old(std::max(2 * slots_.size(), kFirstSize));
    old.swap(slots_);
    for (const CellTime& slot : old) {
      if (slot.key != CellTime::kFree) SlotOf(slot.key) = slot;
    }
  }
  std::vector<CellTime> slots_;
  size_t used_ = 0;
};

Result<std::vector<uint32_t>> CellOfSeries(Connection& connection) {
  std::vector<uint32_t> cell_of_series;
  TELLTALE_TRY(ScanColumns(connection, "SELECT unnest(members)::UINTEGER, cell FROM rollup_cell",
                           [&](std::span<const void* const> columns, size_t rows) {
                             const auto* series = static_cast<const uint32_t*>(columns[0]);
                             const auto* cell = static_cast<const uint32_t*>(columns[1]);
                             for (size_t i = 0; i < rows; ++i) {
                               if (series[i] >= cell_of_series.size())
                                 cell_of_series.resize(series[i] + 1, kNoCell);
                               cell_of_series[series[i]] = cell[i];
                             }
                           }));
  return cell_of_series;
}

// As a join in SQL this took five times as long.
Status WriteCellHistogram(Connection& connection) {
  TELLTALE_ASSIGN(const std::vector<uint32_t> cell_of_series, CellOfSeries(connection));
  TELLTALE_ASSIGN(const size_t workers, VisitWorkers(connection));
  std::vector<CellTimes> times(workers);
  constexpr std::array kColumns = {VisitedColumn{"series", ColumnType::kUInt32},
                                   VisitedColumn{"exec_time_us", ColumnType::kUInt32},
                                   VisitedColumn{"operations", ColumnType::kUInt32}};
  TELLTALE_TRY(
      VisitColumns(connection, "operation_histogram", "", kColumns,
                   [&](size_t worker, std::span<const void* const> columns, size_t rows) {
                     const auto* series = static_cast<const uint32_t*>(columns[0]);
                     const auto* exec_time_us = static_cast<const uint32_t*>(columns[1]);
                     const auto* operations = static_cast<const uint32_t*>(columns[2]);
                     for (size_t i = 0; i < rows; ++i) {
                       const uint32_t cell =
                           series[i] < cell_of_series.size() ? cell_of_series[series[i]] : kNoCell;
                       if (cell == kNoCell) continue;
                       times[worker].Add(CellTime::Key(cell, exec_time_us[i]), operations[i]);
                     }
                   }));
  for (size_t i = 1; i < workers; ++i) times[0].Add(times[i]);
  const std::vector<CellTime> sorted = times[0].Sorted();

  constexpr std::array kInserted = {ColumnType::kUInt32, ColumnType::kUInt32, ColumnType::kUInt64};
  TELLTALE_ASSIGN(const auto insert,
                  BulkInsert::Create(connection, "operation_cell_histogram", kInserted));
  return insert->InsertRows(sorted.size(),
                            [&](size_t i, std::span<void* const> columns, size_t at) {
                              static_cast<uint32_t*>(columns[0])[at] = sorted[i].cell();
                              static_cast<uint32_t*>(columns[1])[at] = sorted[i].exec_time_us();
                              static_cast<uint64_t*>(columns[2])[at] = sorted[i].operations;
                            });
}

Status RunFor(Connection& connection, int64_t run, std::string_view query) {
  TELLTALE_ASSIGN(const std::string sql, QueryText(query));
  return connection.Run(fmt::format("SET VARIABLE rollup_run = {}; {}", run, sql));
}

}  // namespace

Status RollUpPlaces(Connection& connection, int64_t run) {
  return RunFor(connection, run, "rollups/places");
}

Status RollUpCells(Connection& connection, int64_t run) {
  TELLTALE_TRY(RunFor(connection, run, "rollups/cells"));
  TELLTALE_TRY(WriteCellHistogram(connection));
  return connection.Run("DROP TABLE rollup_cell");
}

}  // namespace telltale::nccl_inspector
