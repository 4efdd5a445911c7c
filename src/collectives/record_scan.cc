#include "collectives/record_scan.h"

#include <algorithm>
#include <array>
#include <thread>

#include "store/column_scan.h"

namespace telltale::collectives {
namespace {

// Offsets of all blocks, found by series and number in it.
class Blocks {
 public:
  struct Offsets {
    int64_t sequence = 0;
    int64_t timestamp_us = 0;
  };

  Status Load(Connection& connection) {
    std::vector<int64_t> blocks;
    std::vector<Offsets> offsets;
    TELLTALE_TRY(ScanColumns(
        connection, "SELECT block, sequence_offset, timestamp_offset_us FROM operation_block",
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* block = static_cast<const int64_t*>(columns[0]);
          const auto* sequence = static_cast<const int64_t*>(columns[1]);
          const auto* timestamp = static_cast<const int64_t*>(columns[2]);
          blocks.insert(blocks.end(), block, block + rows);
          for (size_t i = 0; i < rows; ++i) offsets.push_back({sequence[i], timestamp[i]});
        }));
    for (const int64_t block : blocks) {
      const auto series = static_cast<size_t>(block >> kShift);
      if (series + 2 > first_.size()) first_.resize(series + 2);
      first_[series + 1] = std::max(first_[series + 1], (static_cast<size_t>(block) & kNumber) + 1);
    }
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    offsets_.resize(first_.empty() ? 0 : first_.back());
    for (size_t i = 0; i < blocks.size(); ++i) offsets_[Place(blocks[i])] = offsets[i];
    return {};
  }

  const Offsets& Of(int64_t block) const { return offsets_[Place(block)]; }

  static uint32_t Series(int64_t block) { return static_cast<uint32_t>(block >> kShift); }
  static constexpr unsigned kShift = 16;

 private:
  static constexpr size_t kNumber = (size_t{1} << kShift) - 1;
  size_t Place(int64_t block) const {
    return first_[static_cast<size_t>(block >> kShift)] + (static_cast<size_t>(block) & kNumber);
  }
  std::vector<size_t> first_;  // place of a series' first block
  std::vector<Offsets> offsets_;
};

// The series of a thread lie from `first` on and before `end`.
struct SeriesRange {
  uint64_t first = 0;
  uint64_t end = 0;
};
SeriesRange RangeOf(const ThreadOfSeries& thread_of_series, size_t thread) {
  const auto is_own = [&](uint8_t of) { return of == thread; };
  const auto first = std::find_if(thread_of_series.begin(), thread_of_series.end(), is_own);
  const auto last = std::find_if(thread_of_series.rbegin(), thread_of_series.rend(), is_own);
  if (first == thread_of_series.end()) return {};
  return {static_cast<uint64_t>(first - thread_of_series.begin()),
          static_cast<uint64_t>(thread_of_series.rend() - last)};
}

bool Owns(const ThreadOfSeries& thread_of_series, size_t thread, uint32_t series) {
  return series < thread_of_series.size() && thread_of_series[series] == thread;
}

// Splits a chunk where the value of its first column changes.
template <typename T, typename OnRun>
void ForEachRun(const T* values, size_t rows, const OnRun& on_run) {
  for (size_t begin = 0; begin < rows;) {
    size_t end = begin + 1;
    while (end < rows && values[end] == values[begin]) ++end;
    on_run(begin, end);
    begin = end;
  }
}

}  // namespace

Status OnScanThreads(const std::function<Status(size_t thread)>& work) {
  std::array<Status, kScanThreads> statuses;
  std::vector<std::thread> threads;
  for (size_t i = 1; i < kScanThreads; ++i) {
    threads.emplace_back([&, i] { statuses[i] = work(i); });
  }
  statuses[0] = work(0);
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) TELLTALE_TRY(status);
  return {};
}

Status ScanRecords(Store& store, const ThreadOfSeries& thread_of_series, RecordFields fields,
                   const std::function<void(size_t thread, const RecordSpan& span)>& on_span) {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store.Connect());
  Blocks blocks;
  TELLTALE_TRY(blocks.Load(*connection));
  const bool timestamps = fields == RecordFields::kTimestamp;
  return OnScanThreads([&](size_t thread) -> Status {
    const SeriesRange range = RangeOf(thread_of_series, thread);
    if (range.first == range.end) return {};
    TELLTALE_ASSIGN(const std::unique_ptr<Connection> own, store.Connect());
    const std::string sql = fmt::format(
        "SELECT block, exec_time_us, sequence_key{} FROM operation_record "
        "WHERE block >= {} AND block < {}",
        timestamps ? ", timestamp_key" : "", range.first << Blocks::kShift,
        range.end << Blocks::kShift);
    return ScanColumns(*own, sql, [&](std::span<const void* const> columns, size_t rows) {
      const auto* block = static_cast<const int64_t*>(columns[0]);
      const auto* time = static_cast<const uint32_t*>(columns[1]);
      const auto* sequence = static_cast<const uint32_t*>(columns[2]);
      const auto* timestamp = timestamps ? static_cast<const uint32_t*>(columns[3]) : nullptr;
      ForEachRun(block, rows, [&](size_t begin, size_t end) {
        const uint32_t series = Blocks::Series(block[begin]);
        if (!Owns(thread_of_series, thread, series)) return;
        const Blocks::Offsets& offsets = blocks.Of(block[begin]);
        on_span(thread, {series, end - begin, time + begin, sequence + begin, offsets.sequence,
                         timestamps ? timestamp + begin : nullptr, offsets.timestamp_us});
      });
    });
  });
}

Status ScanHistogram(Store& store, const ThreadOfSeries& thread_of_series,
                     const OnCounts& on_counts) {
  return OnScanThreads([&](size_t thread) -> Status {
    const SeriesRange range = RangeOf(thread_of_series, thread);
    if (range.first == range.end) return {};
    TELLTALE_ASSIGN(const std::unique_ptr<Connection> own, store.Connect());
    const std::string sql = fmt::format(
        "SELECT series, exec_time_us, operations FROM operation_histogram "
        "WHERE series >= {} AND series < {}",
        range.first, range.end);
    return ScanColumns(*own, sql, [&](std::span<const void* const> columns, size_t rows) {
      const auto* series = static_cast<const uint32_t*>(columns[0]);
      const auto* time = static_cast<const uint32_t*>(columns[1]);
      const auto* operations = static_cast<const uint32_t*>(columns[2]);
      ForEachRun(series, rows, [&](size_t begin, size_t end) {
        if (!Owns(thread_of_series, thread, series[begin])) return;
        on_counts(thread, series[begin], time + begin, operations + begin, end - begin);
      });
    });
  });
}

}  // namespace telltale::collectives
