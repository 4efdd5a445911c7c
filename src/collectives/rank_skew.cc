#include "collectives/rank_skew.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "base/slices.h"
#include "base/zeroed_array.h"
#include "collectives/lateness.h"
#include "collectives/record_scan.h"
#include "collectives/time_filter.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/column_visit.h"
#include "store/query.h"

namespace telltale::collectives {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();

// One rank's records of one operation of a communicator.
struct Row {
  int64_t communicator = 0;
  uint32_t operation = 0;
  int64_t rank = 0;
  uint32_t group = 0;
  size_t begin = 0;  // of its times, one for each sequence number of the group
  Lateness lateness;
};

// An operation of a communicator: rows first_row … end_row.
struct Group {
  size_t first_row = 0;
  size_t end_row = 0;
  uint64_t first_sequence = std::numeric_limits<uint64_t>::max();
  uint64_t last_sequence = 0;
  size_t length() const {
    return first_sequence > last_sequence ? 0 : last_sequence - first_sequence + 1;
  }
};

struct SeriesRow {
  uint32_t series = 0;
  int64_t communicator = 0;
  uint32_t operation = 0;
  int64_t rank = 0;
  uint64_t first_sequence = 0;
  uint64_t last_sequence = 0;
};

struct IrregularRecord {
  uint32_t series = 0;
  uint64_t sequence = 0;
  uint32_t exec_time_us = 0;
};

class Skew {
 public:
  Skew(Store& store, Connection& connection) : store_(store), connection_(connection) {}

  // False where arrays do not suit.
  Result<bool> Find() {
    BlocksToCome to_come = LoadBlocksAside(store_);
    TELLTALE_ASSIGN(filter_, TimeFilter::Of(connection_));
    TELLTALE_TRY(LoadSeries());
    TELLTALE_TRY(LoadIrregular());
    if (!suits_) return false;
    MakeRows();
    if (!suits_) return false;
    TELLTALE_ASSIGN(const RecordBlocks blocks, BlocksOf(store_, chosen_, to_come));
    times_ = ZeroedArray<uint32_t>(cells_);
    TELLTALE_TRY(PutAndMatch(blocks));
    TELLTALE_TRY(WriteTable());
    return true;
  }

 private:
  Status LoadSeries() {
    TELLTALE_TRY(connection_.Run(
        "CREATE OR REPLACE TEMP TABLE skew_series AS "
        "SELECT series, communicator, operation, rank, first_sequence, last_sequence "
        "FROM selected_series WHERE kind = 'collective' AND n_ranks > 1 "
        "AND communicator IS NOT NULL AND rank IS NOT NULL; "
        "CREATE OR REPLACE TEMP TABLE skew_operation AS "
        "SELECT (row_number() OVER (ORDER BY operation) - 1)::UINTEGER AS number, operation "
        "FROM (SELECT DISTINCT operation FROM skew_series)"));
    return ScanColumns(connection_,
                       "SELECT s.series::UINTEGER, s.communicator::BIGINT, o.number, s.rank, "
                       "coalesce(s.first_sequence, 18446744073709551615::UBIGINT), "
                       "coalesce(s.last_sequence, 0::UBIGINT) "
                       "FROM skew_series s JOIN skew_operation o USING (operation)",
                       [&](std::span<const void* const> columns, size_t rows) {
                         const auto* series = static_cast<const uint32_t*>(columns[0]);
                         const auto* communicator = static_cast<const int64_t*>(columns[1]);
                         const auto* operation = static_cast<const uint32_t*>(columns[2]);
                         const auto* rank = static_cast<const int64_t*>(columns[3]);
                         const auto* first = static_cast<const uint64_t*>(columns[4]);
                         const auto* last = static_cast<const uint64_t*>(columns[5]);
                         for (size_t i = 0; i < rows; ++i) {
                           series_.push_back({series[i], communicator[i], operation[i], rank[i],
                                              first[i], last[i]});
                         }
                       });
  }

  Status LoadIrregular() {
    return ScanColumns(
        connection_,
        "SELECT series::UINTEGER, sequence, exec_time_us FROM selected_irregular "
        "WHERE sequence IS NOT NULL AND exec_time_us > 0",
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* series = static_cast<const uint32_t*>(columns[0]);
          const auto* sequence = static_cast<const uint64_t*>(columns[1]);
          const auto* exec_time_us = static_cast<const uint64_t*>(columns[2]);
          for (size_t i = 0; i < rows; ++i) {
            suits_ &= exec_time_us[i] <= std::numeric_limits<uint32_t>::max();
            irregular_.push_back({series[i], sequence[i], static_cast<uint32_t>(exec_time_us[i])});
          }
        });
  }

  // A row for each rank of each group, with as many times as the group has sequence numbers.
  void MakeRows() {
    WidenByIrregular();
    std::sort(series_.begin(), series_.end(), [](const SeriesRow& a, const SeriesRow& b) {
      return std::tie(a.communicator, a.operation, a.rank, a.series) <
             std::tie(b.communicator, b.operation, b.rank, b.series);
    });
    uint32_t most_series = 0;
    for (const SeriesRow& series : series_) most_series = std::max(most_series, series.series);
    row_of_series_.assign(size_t{most_series} + 1, kNone);
    chosen_.assign(size_t{most_series} + 1, false);
    for (const SeriesRow& series : series_) {
      const bool same_group = !rows_.empty() && rows_.back().communicator == series.communicator &&
                              rows_.back().operation == series.operation;
      if (!same_group) {
        groups_.emplace_back().first_row = rows_.size();
      }
      if (!same_group || rows_.back().rank != series.rank) {
        Row& row = rows_.emplace_back();
        row.communicator = series.communicator;
        row.operation = series.operation;
        row.rank = series.rank;
        row.group = static_cast<uint32_t>(groups_.size() - 1);
      }
      Group& group = groups_.back();
      group.end_row = rows_.size();
      group.first_sequence = std::min(group.first_sequence, series.first_sequence);
      group.last_sequence = std::max(group.last_sequence, series.last_sequence);
      row_of_series_[series.series] = static_cast<uint32_t>(rows_.size() - 1);
      chosen_[series.series] = true;
    }
    constexpr uint64_t kMostCells = uint64_t{1} << 28;
    for (const Group& group : groups_) {
      if (group.first_sequence > group.last_sequence) continue;  // no records
      for (size_t row = group.first_row; row < group.end_row; ++row) {
        rows_[row].begin = cells_;
        if (group.last_sequence - group.first_sequence >= kMostCells - cells_) {
          suits_ = false;
          return;
        }
        cells_ += group.length();
      }
    }
  }

  void WidenByIrregular() {
    if (irregular_.empty()) return;
    std::sort(series_.begin(), series_.end(),
              [](const SeriesRow& a, const SeriesRow& b) { return a.series < b.series; });
    for (const IrregularRecord& record : irregular_) {
      const auto at = std::lower_bound(
          series_.begin(), series_.end(), record.series,
          [](const SeriesRow& series, uint32_t number) { return series.series < number; });
      if (at == series_.end() || at->series != record.series) continue;
      at->first_sequence = std::min(at->first_sequence, record.sequence);
      at->last_sequence = std::max(at->last_sequence, record.sequence);
    }
  }

  // A record comes once for each rank, operation and sequence number, but where files overlap: then
  // the longest time of a place must stay. Only if some place was put to twice, which shows in the
  // counts, the slower way is taken, over all once more.
  Status PutAndMatch(const RecordBlocks& blocks) {
    TELLTALE_ASSIGN(const size_t workers, VisitWorkers(connection_));
    workers_ = workers - 1;
    const RecordFields fields = {true, filter_.is_set()};
    std::vector<uint64_t> put(workers);
    TELLTALE_TRY(
        ScanRecords(store_, chosen_, fields, blocks, [&](size_t worker, const RecordSpan& span) {
          put[worker] += Put(span, [](uint32_t& place, uint32_t time) {
            std::atomic_ref<uint32_t>(place).store(time, std::memory_order_relaxed);
          });
        }));
    put[0] += PutIrregular();
    if (std::accumulate(put.begin(), put.end(), uint64_t{0}) == MatchAll()) return {};
    TELLTALE_TRY(ScanRecords(store_, chosen_, fields, blocks, [&](size_t, const RecordSpan& span) {
      (void)Put(span, [](uint32_t& place, uint32_t time) {
        const std::atomic_ref<uint32_t> at(place);
        uint32_t old = at.load();
        while (old < time && !at.compare_exchange_weak(old, time)) {
        }
      });
    }));
    (void)PutIrregular();
    (void)MatchAll();
    return {};
  }

  uint64_t PutIrregular() {
    uint64_t put = 0;
    for (const IrregularRecord& record : irregular_) {
      if (record.series >= row_of_series_.size() || row_of_series_[record.series] == kNone)
        continue;
      const Row& row = rows_[row_of_series_[record.series]];
      uint32_t& time = times_[row.begin + (record.sequence - groups_[row.group].first_sequence)];
      time = std::max(time, record.exec_time_us);
      ++put;
    }
    return put;
  }

  // How many places have a time.
  uint64_t MatchAll() {
    std::atomic<uint64_t> times = 0;
    ForEachInTurn(groups_.size(), workers_, 16, [&](size_t i) { times += Match(groups_[i]); });
    return times;
  }

  // How many records had a time.
  template <typename PutTime>
  uint64_t Put(const RecordSpan& span, const PutTime& put_time) {
    uint64_t put = 0;
    filter_.ForEachRun(
        span.timestamp_key, span.count, span.timestamp_offset_us,
        [&](size_t begin, size_t end) { put += PutAll(span.Part(begin, end), put_time); });
    return put;
  }

  template <typename PutTime>
  uint64_t PutAll(const RecordSpan& span, const PutTime& put_time) {
    const Row& row = rows_[row_of_series_[span.series]];
    const size_t length = groups_[row.group].length();
    const int64_t offset =
        span.sequence_offset - static_cast<int64_t>(groups_[row.group].first_sequence);
    uint32_t* const times = times_.data() + row.begin;
    const auto check = [&](size_t at) {
      if (at < length) return;
      throw std::runtime_error(fmt::format(
          "the store is damaged: series {} has more records than it says", span.series));
    };
    const uint32_t* const exec_time_us = span.exec_time_us;
    if (span.SequencesAreConsecutive()) {
      const auto at = static_cast<size_t>(span.sequence_key[0] + offset);
      check(at);
      check(at + span.count - 1);
      for (size_t i = 0; i < span.count; ++i) put_time(times[at + i], exec_time_us[i]);
      return span.count -
             static_cast<size_t>(std::count(exec_time_us, exec_time_us + span.count, 0U));
    }
    uint64_t put = 0;
    for (size_t i = 0; i < span.count; ++i) {
      if (exec_time_us[i] == 0) continue;
      const auto at = static_cast<size_t>(span.sequence_key[i] + offset);
      check(at);
      put_time(times[at], exec_time_us[i]);
      ++put;
    }
    return put;
  }

  // Longest and shortest time of each operation over the ranks, then each rank against them; a part
  // of the sequence numbers at a time, so that all stays in the cache. How many times there are.
  uint64_t Match(const Group& group) {
    for (size_t row = group.first_row; row < group.end_row; ++row) rows_[row].lateness = {};
    if (group.first_sequence > group.last_sequence) return 0;
    uint64_t times = 0;
    constexpr size_t kPart = 1024;
    std::array<uint32_t, kPart> longest{};
    std::array<uint32_t, kPart> shortest{};
    std::array<uint32_t, kPart> ranks{};
    for (size_t begin = 0; begin < group.length(); begin += kPart) {
      const size_t count = std::min(kPart, group.length() - begin);
      longest.fill(0);
      shortest.fill(std::numeric_limits<uint32_t>::max());
      ranks.fill(0);
      for (size_t row = group.first_row; row < group.end_row; ++row) {
        FoldTimes(times_.data() + rows_[row].begin + begin, count, longest.data(), shortest.data(),
                  ranks.data());
      }
      uint32_t most = 0;
      for (size_t i = 0; i < count; ++i) {
        times += ranks[i];
        if (ranks[i] < 2) longest[i] = 0;
        most = std::max(most, longest[i]);
      }
      for (size_t row = group.first_row; row < group.end_row; ++row) {
        const Lateness part = LatenessOf(times_.data() + rows_[row].begin + begin, count,
                                         longest.data(), shortest.data(), most);
        Lateness& all = rows_[row].lateness;
        all.operations += part.operations;
        all.sum_us += part.sum_us;
        all.max_us = std::max(all.max_us, part.max_us);
        all.longest_sum_us += part.longest_sum_us;
        all.latest += part.latest;
      }
    }
    return times;
  }

  Status WriteTable() {
    TELLTALE_TRY(connection_.Run(
        "CREATE OR REPLACE TEMP TABLE skew_row (communicator BIGINT, operation UINTEGER, rank "
        "BIGINT, operations UBIGINT, lateness_us_sum UBIGINT, lateness_us_max UBIGINT, "
        "longest_us_sum UBIGINT, latest UBIGINT)"));
    constexpr ColumnType kCount = ColumnType::kUInt64;
    constexpr std::array kColumns = {ColumnType::kInt64,
                                     ColumnType::kUInt32,
                                     ColumnType::kInt64,
                                     kCount,
                                     kCount,
                                     kCount,
                                     kCount,
                                     kCount};
    TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection_, "skew_row", kColumns));
    size_t next = 0;
    TELLTALE_TRY(insert->Insert([&](std::span<void* const> columns, size_t capacity) {
      size_t at = 0;
      for (; at < capacity && next < rows_.size(); ++next) {
        const Row& row = rows_[next];
        if (row.lateness.operations == 0) continue;
        static_cast<int64_t*>(columns[0])[at] = row.communicator;
        static_cast<uint32_t*>(columns[1])[at] = row.operation;
        static_cast<int64_t*>(columns[2])[at] = row.rank;
        const Lateness& late = row.lateness;
        const std::array counts = {late.operations, late.sum_us, late.max_us, late.longest_sum_us,
                                   late.latest};
        for (size_t i = 0; i < counts.size(); ++i) {
          static_cast<uint64_t*>(columns[3 + i])[at] = counts[i];
        }
        ++at;
      }
      return at;
    }));
    return connection_.Run(
        "CREATE OR REPLACE TEMP VIEW rank_skew AS "
        "SELECT r.* REPLACE (o.operation AS operation) "
        "FROM skew_row r JOIN skew_operation o ON o.number = r.operation");
  }

  Store& store_;
  Connection& connection_;
  TimeFilter filter_;
  bool suits_ = true;
  std::vector<SeriesRow> series_;
  std::vector<IrregularRecord> irregular_;
  std::vector<Row> rows_;
  std::vector<Group> groups_;
  std::vector<uint32_t> row_of_series_;
  ChosenSeries chosen_;
  size_t workers_ = 1;
  size_t cells_ = 0;
  ZeroedArray<uint32_t> times_;  // of all rows; 0: no record
};

}  // namespace

Status MakeRankSkewByRecords(Connection& connection) {
  TELLTALE_ASSIGN(const std::string sql, QueryText("slots/skew_by_records"));
  return connection.Run(sql);
}

Status MakeRankSkew(Store& store, Connection& connection) {
  TELLTALE_ASSIGN(const bool found, Skew(store, connection).Find());
  return found ? Status() : MakeRankSkewByRecords(connection);
}

}  // namespace telltale::collectives
