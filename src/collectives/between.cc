#include "collectives/between.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <vector>

#include "collectives/record_scan.h"
#include "collectives/time_filter.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/column_visit.h"
#include "store/time_counts.h"

namespace telltale::collectives {
namespace {

struct Count {
  uint64_t operations = 0;
  uint64_t exec_time_us_sum = 0;
  uint32_t exec_time_us_min = std::numeric_limits<uint32_t>::max();
  uint32_t exec_time_us_max = 0;
  int64_t first_us = std::numeric_limits<int64_t>::max();
  int64_t last_us = std::numeric_limits<int64_t>::min();

  void Add(const Count& other) {
    operations += other.operations;
    exec_time_us_sum += other.exec_time_us_sum;
    exec_time_us_min = std::min(exec_time_us_min, other.exec_time_us_min);
    exec_time_us_max = std::max(exec_time_us_max, other.exec_time_us_max);
    first_us = std::min(first_us, other.first_us);
    last_us = std::max(last_us, other.last_us);
  }
};

// What one worker counts; a series' records mostly come to it one after the other.
class Worker {
 public:
  void Add(const RecordSpan& span, const TimeFilter& filter) {
    if (span.series != series_) {
      Finish();
      series_ = span.series;
    }
    for (size_t i = 0; i < span.count; ++i) {
      const int64_t us = span.timestamp_key[i] + span.timestamp_offset_us;
      if (!filter.Holds(us)) continue;
      count_.first_us = std::min(count_.first_us, us);
      count_.last_us = std::max(count_.last_us, us);
      exec_time_us_.push_back(span.exec_time_us[i]);
    }
  }

  // Counts what has come of the last series.
  void Finish() {
    if (exec_time_us_.empty()) return;
    count_.operations = exec_time_us_.size();
    for (const uint32_t time : exec_time_us_) {
      count_.exec_time_us_sum += time;
      count_.exec_time_us_min = std::min(count_.exec_time_us_min, time);
      count_.exec_time_us_max = std::max(count_.exec_time_us_max, time);
    }
    if (series_ >= counts.size()) counts.resize(size_t{series_} + 1);
    counts[series_].Add(count_);
    counter_.Append(series_, exec_time_us_, std::identity(), times);
    exec_time_us_.clear();
    count_ = {};
  }

  std::vector<Count> counts;  // by series
  std::vector<TimeCount> times;

 private:
  uint32_t series_ = 0;
  Count count_;
  std::vector<uint32_t> exec_time_us_;  // of the series
  TimeCounter counter_;
};

Result<bool> HasTable(Connection& connection, std::string_view name) {
  TELLTALE_ASSIGN(
      const int64_t tables,
      connection.QueryInteger(fmt::format(
          "SELECT count(*) FROM duckdb_tables() WHERE temporary AND table_name = '{}'", name)));
  return tables > 0;
}

Result<ChosenSeries> SelectedSeries(Connection& connection) {
  ChosenSeries chosen;
  TELLTALE_TRY(ScanColumns(connection, "SELECT series::UINTEGER FROM selected_series",
                           [&](std::span<const void* const> columns, size_t rows) {
                             const auto* series = static_cast<const uint32_t*>(columns[0]);
                             for (size_t i = 0; i < rows; ++i) {
                               if (series[i] >= chosen.size()) chosen.resize(series[i] + 1);
                               chosen[series[i]] = true;
                             }
                           }));
  return chosen;
}

Status WriteCounts(Connection& connection, const std::vector<Count>& counts) {
  constexpr ColumnType kCount = ColumnType::kUInt64;
  constexpr std::array kColumns = {
      ColumnType::kUInt32, kCount, kCount, kCount, kCount, ColumnType::kInt64, ColumnType::kInt64};
  TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection, "between_count", kColumns));
  size_t next = 0;
  return insert->Insert([&](std::span<void* const> columns, size_t capacity) {
    size_t row = 0;
    for (; row < capacity && next < counts.size(); ++next) {
      const Count& count = counts[next];
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

Status WriteTimes(Connection& connection, const std::vector<Worker>& workers) {
  constexpr std::array kColumns = {ColumnType::kUInt32, ColumnType::kUInt32, ColumnType::kUInt32};
  TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection, "between_time", kColumns));
  for (const Worker& worker : workers) TELLTALE_TRY(InsertTimeCounts(*insert, worker.times));
  return {};
}

}  // namespace

Status CountBetween(Store& store, Connection& connection) {
  TELLTALE_ASSIGN(const TimeFilter filter, TimeFilter::Of(connection));
  if (!filter.is_set()) return {};
  TELLTALE_ASSIGN(const bool wants_counts, HasTable(connection, "between_count"));
  TELLTALE_ASSIGN(const bool wants_times, HasTable(connection, "between_time"));
  if (!wants_counts && !wants_times) return {};
  BlocksToCome to_come = LoadBlocksAside(store);
  TELLTALE_ASSIGN(const ChosenSeries chosen, SelectedSeries(connection));
  TELLTALE_ASSIGN(const RecordBlocks blocks, BlocksOf(store, chosen, to_come));
  TELLTALE_ASSIGN(const size_t threads, VisitWorkers(connection));
  std::vector<Worker> workers(threads);
  TELLTALE_TRY(ScanRecords(
      store, chosen, {.timestamp = true}, blocks,
      [&](size_t worker, const RecordSpan& span) { workers[worker].Add(span, filter); }));
  for (Worker& worker : workers) worker.Finish();
  if (wants_counts) {
    std::vector<Count>& all = workers[0].counts;
    for (size_t i = 1; i < workers.size(); ++i) {
      const std::vector<Count>& counts = workers[i].counts;
      all.resize(std::max(all.size(), counts.size()));
      for (size_t series = 0; series < counts.size(); ++series) all[series].Add(counts[series]);
    }
    TELLTALE_TRY(WriteCounts(connection, all));
  }
  return wants_times ? WriteTimes(connection, workers) : Status();
}

}  // namespace telltale::collectives
