#include "collectives/between.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <vector>

#include "collectives/record_scan.h"
#include "collectives/time_filter.h"
#include "store/bandwidth_counts.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/column_visit.h"

namespace telltale::collectives {
namespace {

constexpr const char* kCounts = "between_count";
constexpr const char* kCellCounts = "between_cell_count";
constexpr const char* kTimes = "between_cell_time";

// Those of the tables that Select() made.
Result<std::set<std::string>> TablesToFill(Connection& connection) {
  TELLTALE_ASSIGN(const Table table,
                  connection.Query(fmt::format("SELECT table_name FROM duckdb_tables() WHERE "
                                               "temporary AND table_name IN ('{}', '{}', '{}')",
                                               kCounts, kCellCounts, kTimes)));
  std::set<std::string> tables;
  for (const auto& row : table.rows) tables.insert(CellText(row[0]));
  return tables;
}

class Between {
 public:
  Between(Store& store, Connection& connection) : store_(store), connection_(connection) {}

  Status Fill(const TimeFilter& filter) {
    TELLTALE_ASSIGN(tables_, TablesToFill(connection_));
    if (tables_.empty()) return {};
    BlocksToCome to_come = LoadBlocksAside(store_);
    if (Makes(kCellCounts) || Makes(kTimes)) {
      TELLTALE_TRY(connection_.Run("INSERT INTO between_cell FROM between_cell_of_series"));
    }
    TELLTALE_TRY(LoadSeries());
    TELLTALE_ASSIGN(const RecordBlocks blocks, BlocksOf(store_, chosen_, to_come));
    TELLTALE_ASSIGN(const size_t threads, VisitWorkers(connection_));
    SeriesCounts counts(threads, chosen_.size());
    const bool with_times = Makes(kTimes);
    times_.assign(threads, std::vector<BandwidthCounts>(with_times ? cells_ : 0));
    TELLTALE_TRY(ScanRecords(
        store_, chosen_, {.timestamp = true}, blocks, [&](size_t worker, const RecordSpan& span) {
          filter.ForEachRun(span.timestamp_key, span.count, span.timestamp_offset_us,
                            [&](size_t begin, size_t end) {
                              const RecordSpan part = span.Part(begin, end);
                              counts.Add(worker, part);
                              if (with_times) AddTimes(worker, part);
                            });
        }));
    counts.PutTogether();
    if (Makes(kCounts)) TELLTALE_TRY(counts.Write(connection_, kCounts));
    if (Makes(kCellCounts)) {
      TELLTALE_TRY(counts.By(cell_, cells_).Write(connection_, kCellCounts));
    }
    return with_times ? WriteTimes() : Status();
  }

 private:
  bool Makes(const char* table) const { return tables_.contains(table); }

  Status LoadSeries() {
    const bool by_cell = Makes(kCellCounts) || Makes(kTimes);  // else each alone
    return ScanColumns(connection_,
                       by_cell ? "SELECT unnest(members), cell FROM between_cell"
                               : "SELECT series::UINTEGER, series::UINTEGER FROM selected_series",
                       [&](std::span<const void* const> columns, size_t rows) {
                         const auto* series = static_cast<const uint32_t*>(columns[0]);
                         const auto* cell = static_cast<const uint32_t*>(columns[1]);
                         for (size_t i = 0; i < rows; ++i) {
                           if (series[i] >= chosen_.size()) {
                             chosen_.resize(size_t{series[i]} + 1);
                             cell_.resize(chosen_.size());
                           }
                           chosen_[series[i]] = true;
                           cell_[series[i]] = cell[i];
                           cells_ = std::max(cells_, size_t{cell[i]} + 1);
                         }
                       });
  }

  void AddTimes(size_t worker, const RecordSpan& span) {
    times_[worker][cell_[span.series]].AddEach(0, span.exec_time_us, span.count);
  }

  Status WriteTimes() {
    struct Row {
      uint32_t cell = 0;
      uint32_t exec_time_us = 0;
      uint64_t operations = 0;
    };
    std::vector<Row> rows;
    for (uint32_t cell = 0; cell < cells_; ++cell) {
      BandwidthCounts& times = times_[0][cell];
      for (size_t i = 1; i < times_.size(); ++i) times.Add(std::move(times_[i][cell]));
      times.ForEachTime([&](uint32_t exec_time_us, uint64_t operations) {
        rows.push_back({cell, exec_time_us, operations});
      });
    }
    constexpr std::array kColumns = {ColumnType::kUInt32, ColumnType::kUInt32, ColumnType::kUInt64};
    TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection_, kTimes, kColumns));
    return insert->InsertRows(rows.size(),
                              [&](size_t i, std::span<void* const> columns, size_t at) {
                                static_cast<uint32_t*>(columns[0])[at] = rows[i].cell;
                                static_cast<uint32_t*>(columns[1])[at] = rows[i].exec_time_us;
                                static_cast<uint64_t*>(columns[2])[at] = rows[i].operations;
                              });
  }

  Store& store_;
  Connection& connection_;
  std::set<std::string> tables_;  // those to fill
  ChosenSeries chosen_;
  std::vector<uint32_t> cell_;  // by series, whose times are counted together
  size_t cells_ = 0;
  std::vector<std::vector<BandwidthCounts>> times_;  // by worker and cell
};

}  // namespace

void SeriesCounts::Count::Add(const Count& other) {
  operations += other.operations;
  exec_time_us_sum += other.exec_time_us_sum;
  exec_time_us_min = std::min(exec_time_us_min, other.exec_time_us_min);
  exec_time_us_max = std::max(exec_time_us_max, other.exec_time_us_max);
  first_us = std::min(first_us, other.first_us);
  last_us = std::max(last_us, other.last_us);
}

Result<bool> SeriesCounts::AreWanted(Connection& connection) {
  TELLTALE_ASSIGN(const std::set<std::string> tables, TablesToFill(connection));
  return tables.contains(kCounts);
}

SeriesCounts::SeriesCounts(size_t workers, size_t series)
    : counts_(workers, std::vector<Count>(series)) {}

void SeriesCounts::Add(size_t worker, const RecordSpan& span) {
  Count count;
  count.operations = span.count;
  uint32_t first = std::numeric_limits<uint32_t>::max();
  uint32_t last = 0;
  for (size_t i = 0; i < span.count; ++i) {
    count.exec_time_us_sum += span.exec_time_us[i];
    count.exec_time_us_min = std::min(count.exec_time_us_min, span.exec_time_us[i]);
    count.exec_time_us_max = std::max(count.exec_time_us_max, span.exec_time_us[i]);
    first = std::min(first, span.timestamp_key[i]);
    last = std::max(last, span.timestamp_key[i]);
  }
  count.first_us = first + span.timestamp_offset_us;
  count.last_us = last + span.timestamp_offset_us;
  counts_[worker][span.series].Add(count);
}

void SeriesCounts::PutTogether() {
  for (; counts_.size() > 1; counts_.pop_back()) {
    for (size_t i = 0; i < counts_[0].size(); ++i) counts_[0][i].Add(counts_.back()[i]);
  }
}

SeriesCounts SeriesCounts::By(const std::vector<uint32_t>& group_of_series, size_t groups) const {
  SeriesCounts by(1, groups);
  for (size_t i = 0; i < counts_[0].size(); ++i) {
    if (counts_[0][i].operations > 0) by.counts_[0][group_of_series[i]].Add(counts_[0][i]);
  }
  return by;
}

Status SeriesCounts::Write(Connection& connection, const std::string& table) const {
  constexpr ColumnType kCount = ColumnType::kUInt64;
  constexpr std::array kColumns = {
      ColumnType::kUInt32, kCount, kCount, kCount, kCount, ColumnType::kInt64, ColumnType::kInt64};
  TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection, table, kColumns));
  size_t next = 0;
  return insert->Insert([&](std::span<void* const> columns, size_t capacity) {
    size_t row = 0;
    for (; row < capacity && next < counts_[0].size(); ++next) {
      const Count& count = counts_[0][next];
      if (count.operations == 0) continue;
      static_cast<uint32_t*>(columns[0])[row] = static_cast<uint32_t>(next);
      const std::array<uint64_t, 4> numbers = {count.operations, count.exec_time_us_sum,
                                               count.exec_time_us_min, count.exec_time_us_max};
      for (size_t i = 0; i < numbers.size(); ++i) {
        static_cast<uint64_t*>(columns[1 + i])[row] = numbers[i];
      }
      static_cast<int64_t*>(columns[5])[row] = count.first_us;
      static_cast<int64_t*>(columns[6])[row] = count.last_us;
      ++row;
    }
    return row;
  });
}

Status CountBetween(Store& store, Connection& connection) {
  TELLTALE_ASSIGN(const TimeFilter filter, TimeFilter::Of(connection));
  return filter.is_set() ? Between(store, connection).Fill(filter) : Status();
}

}  // namespace telltale::collectives
