#include "collectives/record_scan.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/zeroed_array.h"
#include "store/column_visit.h"

namespace telltale::collectives {
namespace {

constexpr unsigned kSeriesShift = 16;  // of a block's number

size_t SeriesOf(int64_t block) { return static_cast<size_t>(block >> kSeriesShift); }
size_t NumberOf(int64_t block) {
  return static_cast<size_t>(block) & ((size_t{1} << kSeriesShift) - 1);
}

bool IsChosen(const ChosenSeries& chosen, uint32_t series) {
  return series < chosen.size() && chosen[series];
}

// What leaves out the rows before and behind the chosen series; empty where all may be read.
std::string RangeCondition(const ChosenSeries& chosen, const char* column, unsigned shift) {
  const auto first = std::find(chosen.begin(), chosen.end(), true);
  const auto end = std::find(chosen.rbegin(), chosen.rend(), true).base();
  return fmt::format("{0} >= {1} AND {0} < {2}", column,
                     static_cast<uint64_t>(first - chosen.begin()) << shift,
                     static_cast<uint64_t>(std::max(end, first) - chosen.begin()) << shift);
}

// Splits a chunk where the value of its first column changes. The rows of a value lie together.
template <typename T, typename OnRun>
void ForEachRun(const T* values, size_t rows, const OnRun& on_run) {
  constexpr size_t kAtOnce = 32;
  for (size_t begin = 0; begin < rows;) {
    const T value = values[begin];
    size_t last = begin;
    while (last + kAtOnce < rows && values[last + kAtOnce] == value) last += kAtOnce;
    for (size_t step = kAtOnce / 2; step > 0; step /= 2) {
      if (last + step < rows && values[last + step] == value) last += step;
    }
    on_run(begin, last + 1);
    begin = last + 1;
  }
}

}  // namespace

Result<RecordBlocks> RecordBlocks::Load(Store& store, const std::string& where) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  RecordBlocks blocks;
  TELLTALE_TRY(blocks.CountBlocks(*connection, where));
  blocks.offsets_ = ZeroedArray<Offsets>(blocks.first_.empty() ? 0 : blocks.first_.back());
  constexpr std::array kColumns = {VisitedColumn{"block", ColumnType::kInt64},
                                   VisitedColumn{"sequence_offset", ColumnType::kInt64},
                                   VisitedColumn{"timestamp_offset_us", ColumnType::kInt64}};
  TELLTALE_TRY(
      VisitColumns(*connection, "operation_block", where, kColumns,
                   [&](size_t, std::span<const void* const> columns, size_t rows) {
                     const auto* block = static_cast<const int64_t*>(columns[0]);
                     const auto* sequence = static_cast<const int64_t*>(columns[1]);
                     const auto* timestamp_us = static_cast<const int64_t*>(columns[2]);
                     for (size_t i = 0; i < rows; ++i) {
                       blocks.offsets_[blocks.Place(block[i])] = {sequence[i], timestamp_us[i]};
                     }
                   }));
  return blocks;
}

const RecordBlocks::Offsets& RecordBlocks::Of(int64_t block) const {
  const size_t series = SeriesOf(block);
  if (series + 1 >= first_.size() || Place(block) >= first_[series + 1]) {
    throw std::runtime_error(fmt::format("the store is damaged: there is no block {}", block));
  }
  return offsets_[Place(block)];
}

size_t RecordBlocks::Place(int64_t block) const {
  return first_[SeriesOf(block)] + NumberOf(block);
}

// Sets first_ from the highest number of each series.
Status RecordBlocks::CountBlocks(Connection& connection, const std::string& where) {
  TELLTALE_ASSIGN(const size_t workers, VisitWorkers(connection));
  std::vector<std::vector<size_t>> counts(workers);
  constexpr std::array kColumns = {VisitedColumn{"block", ColumnType::kInt64}};
  TELLTALE_TRY(VisitColumns(connection, "operation_block", where, kColumns,
                            [&](size_t worker, std::span<const void* const> columns, size_t rows) {
                              const auto* block = static_cast<const int64_t*>(columns[0]);
                              std::vector<size_t>& count = counts[worker];
                              for (size_t i = 0; i < rows; ++i) {
                                const size_t series = SeriesOf(block[i]);
                                if (series >= count.size()) count.resize(series + 1);
                                count[series] = std::max(count[series], NumberOf(block[i]) + 1);
                              }
                            }));
  for (const std::vector<size_t>& count : counts) {
    if (count.size() >= first_.size()) first_.resize(count.size() + 1);
    for (size_t i = 0; i < count.size(); ++i) first_[i + 1] = std::max(first_[i + 1], count[i]);
  }
  for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  return {};
}

BlocksToCome LoadBlocksAside(Store& store) {
  constexpr int64_t kMostBlocks = int64_t{1} << 22;
  return std::async(std::launch::async, [&store]() -> Result<std::optional<RecordBlocks>> {
    TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
    TELLTALE_ASSIGN(const int64_t count,
                    connection->QueryInteger("SELECT count(*) FROM operation_block"));
    if (count > kMostBlocks) return std::optional<RecordBlocks>();
    TELLTALE_ASSIGN(RecordBlocks blocks, RecordBlocks::Load(store, ""));
    return std::optional<RecordBlocks>(std::move(blocks));
  });
}

Result<RecordBlocks> BlocksOf(Store& store, const ChosenSeries& chosen, BlocksToCome& to_come) {
  if (to_come.valid()) {
    TELLTALE_ASSIGN(std::optional<RecordBlocks> blocks, to_come.get());
    if (blocks) return *std::move(blocks);
  }
  return RecordBlocks::Load(store, RangeCondition(chosen, "block", kSeriesShift));
}

Status ScanRecords(Store& store, const ChosenSeries& chosen, RecordFields fields,
                   const RecordBlocks& blocks, const OnSpan& on_span) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  const std::string where = RangeCondition(chosen, "block", kSeriesShift);
  std::vector<VisitedColumn> visited = {{"block", ColumnType::kInt64},
                                        {"record.exec_time_us", ColumnType::kUInt32}};
  const size_t sequence_column = visited.size();
  if (fields.sequence) visited.push_back({"record.sequence_key", ColumnType::kUInt32});
  const size_t timestamp_column = visited.size();
  if (fields.timestamp) visited.push_back({"record.timestamp_key", ColumnType::kUInt32});
  return VisitColumns(
      *connection, "operation_record", where, visited,
      [&](size_t worker, std::span<const void* const> columns, size_t rows) {
        const auto* block = static_cast<const int64_t*>(columns[0]);
        const auto* time = static_cast<const uint32_t*>(columns[1]);
        const auto* sequence =
            fields.sequence ? static_cast<const uint32_t*>(columns[sequence_column]) : nullptr;
        const auto* timestamp =
            fields.timestamp ? static_cast<const uint32_t*>(columns[timestamp_column]) : nullptr;
        ForEachRun(block, rows, [&](size_t begin, size_t end) {
          const auto series = static_cast<uint32_t>(block[begin] >> kSeriesShift);
          if (!IsChosen(chosen, series)) return;
          const RecordBlocks::Offsets& offsets = blocks.Of(block[begin]);
          on_span(worker, {series, end - begin, time + begin,
                           fields.sequence ? sequence + begin : nullptr, offsets.sequence,
                           fields.timestamp ? timestamp + begin : nullptr, offsets.timestamp_us});
        });
      });
}

Status ScanHistogram(Store& store, const ChosenSeries& chosen, const OnCounts& on_counts) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  constexpr std::array kColumns = {VisitedColumn{"series", ColumnType::kUInt32},
                                   VisitedColumn{"exec_time_us", ColumnType::kUInt32},
                                   VisitedColumn{"operations", ColumnType::kUInt32}};
  return VisitColumns(
      *connection, "operation_histogram", RangeCondition(chosen, "series", 0), kColumns,
      [&](size_t worker, std::span<const void* const> columns, size_t rows) {
        const auto* series = static_cast<const uint32_t*>(columns[0]);
        const auto* time = static_cast<const uint32_t*>(columns[1]);
        const auto* operations = static_cast<const uint32_t*>(columns[2]);
        ForEachRun(series, rows, [&](size_t begin, size_t end) {
          if (!IsChosen(chosen, series[begin])) return;
          on_counts(worker, series[begin], time + begin, operations + begin, end - begin);
        });
      });
}

}  // namespace telltale::collectives
