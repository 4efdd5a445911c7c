#include "collectives/rated_slots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "collectives/record_scan.h"
#include "store/bandwidth_counts.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"

namespace telltale::collectives {
namespace {

constexpr uint32_t kNoSlot = std::numeric_limits<uint32_t>::max();

struct SlotOfSeries {
  uint32_t slot = kNoSlot;
  BandwidthFormula formula;
  int64_t origin = 0;
  int64_t width = 1;
};

struct SlotBin {
  uint32_t slot = 0;
  int64_t bin = 0;
  bool operator==(const SlotBin&) const = default;
};
struct SlotBinHash {
  size_t operator()(const SlotBin& at) const {
    return (static_cast<size_t>(at.bin) * 0x9E3779B97F4A7C15U) ^ (size_t{at.slot} << 20);
  }
};

// The bandwidths of each slot and bin that one thread counted.
class SlotCounts {
 public:
  BandwidthCounts& At(const SlotBin& at) {
    const auto [place, is_new] = index_.try_emplace(at, counts_.size());
    if (is_new) {
      counts_.emplace_back();
      bins_.push_back(at);
    }
    return counts_[place->second];
  }
  void Add(SlotCounts&& other) {
    for (size_t i = 0; i < other.counts_.size(); ++i) {
      BandwidthCounts& counts = At(other.bins_[i]);
      if (counts.empty()) {
        counts = std::move(other.counts_[i]);
      } else {
        counts.Add(other.counts_[i]);
      }
    }
  }
  size_t size() const { return counts_.size(); }
  const SlotBin& bin(size_t i) const { return bins_[i]; }
  const BandwidthCounts& counts(size_t i) const { return counts_[i]; }

 private:
  std::unordered_map<SlotBin, size_t, SlotBinHash> index_;
  std::vector<BandwidthCounts> counts_;
  std::vector<SlotBin> bins_;
};

int64_t FloorDivide(int64_t value, int64_t width) {
  return value / width - (value % width < 0 ? 1 : 0);
}

class Rater {
 public:
  Rater(Store& store, Connection& connection, Bins bins)
      : store_(store), connection_(connection), bins_(bins) {}

  Status Rate() {
    TELLTALE_TRY(LoadTimes());
    TELLTALE_TRY(LoadSeries());
    if (bins_ == Bins::kNone && !by_time_) {
      TELLTALE_TRY(ScanHistogram(store_, thread_of_series_,
                                 [&](size_t thread, uint32_t series, const uint32_t* exec_time_us,
                                     const uint32_t* operations, size_t count) {
                                   AddCounts(counts_[thread], series_[series], exec_time_us,
                                             operations, count);
                                 }));
    } else {
      const bool timestamps = by_time_ || bins_ == Bins::kTime;
      TELLTALE_TRY(ScanRecords(
          store_, thread_of_series_,
          timestamps ? RecordFields::kTimestamp : RecordFields::kSequence,
          [&](size_t thread, const RecordSpan& span) { AddSpan(counts_[thread], span); }));
    }
    TELLTALE_TRY(AddIrregular());
    for (size_t i = 1; i < kScanThreads; ++i) counts_[0].Add(std::move(counts_[i]));
    TELLTALE_TRY(Summarise());
    return WriteTable();
  }

 private:
  Status LoadTimes() {
    const auto variable = [&](const char* name, int64_t otherwise) {
      return connection_.QueryInteger(
          fmt::format("SELECT coalesce(getvariable('{}')::BIGINT, {})", name, otherwise));
    };
    TELLTALE_ASSIGN(since_us_, variable("since_us", kEarliest));
    TELLTALE_ASSIGN(until_us_, variable("until_us", kLatest));
    by_time_ = since_us_ != kEarliest || until_us_ != kLatest;
    return {};
  }

  // Halves of the series, in the order of their numbers: records lie in about that order.
  Status LoadSeries() {
    std::vector<uint32_t> numbers;
    TELLTALE_TRY(ScanColumns(
        connection_,
        "SELECT series, slot, traffic_bytes, bus_factor, origin, width FROM slot_series",
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* series = static_cast<const uint32_t*>(columns[0]);
          const auto* slot = static_cast<const uint32_t*>(columns[1]);
          const auto* traffic_bytes = static_cast<const double*>(columns[2]);
          const auto* bus_factor = static_cast<const double*>(columns[3]);
          const auto* origin = static_cast<const int64_t*>(columns[4]);
          const auto* width = static_cast<const int64_t*>(columns[5]);
          for (size_t i = 0; i < rows; ++i) {
            const BandwidthFormula formula = {traffic_bytes[i], bus_factor[i]};
            if (!formula.IsRated()) continue;
            if (series[i] >= series_.size()) series_.resize(series[i] + 1);
            series_[series[i]] = {slot[i], formula, origin[i], std::max<int64_t>(width[i], 1)};
            numbers.push_back(series[i]);
          }
        }));
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end());
    thread_of_series_.assign(series_.size(), kNoThread);
    for (auto number = numbers.begin(); number != numbers.end(); ++number) {
      thread_of_series_[*number] = number < middle ? 0 : 1;
    }
    return {};
  }

  static void AddCounts(SlotCounts& into, const SlotOfSeries& series, const uint32_t* exec_time_us,
                        const uint32_t* operations, size_t count) {
    BandwidthCounts& counts = into.At({series.slot, 0});
    const uint32_t formula = counts.NumberOf(series.formula);
    for (size_t i = 0; i < count; ++i) {
      if (exec_time_us[i] > 0) counts.Add(formula, exec_time_us[i], operations[i]);
    }
  }

  // Values mostly rise through a span, so that the bin seldom changes.
  void AddSpan(SlotCounts& into, const RecordSpan& span) const {
    const SlotOfSeries& series = series_[span.series];
    const bool by_sequence = bins_ == Bins::kSequence;
    const uint32_t* keys = by_sequence ? span.sequence_key : span.timestamp_key;
    const int64_t offset = by_sequence ? span.sequence_offset : span.timestamp_offset_us;
    BandwidthCounts* counts = nullptr;
    uint32_t formula = 0;
    int64_t bin_begin = 0;
    int64_t bin_end = 0;
    for (size_t i = 0; i < span.count; ++i) {
      if (by_time_) {
        const int64_t us = span.timestamp_key[i] + span.timestamp_offset_us;
        if (us < since_us_ || us >= until_us_) continue;
      }
      const int64_t value = bins_ == Bins::kNone ? 0 : keys[i] + offset - series.origin;
      if (counts == nullptr || value < bin_begin || value >= bin_end) {
        const int64_t bin = bins_ == Bins::kNone ? 0 : FloorDivide(value, series.width);
        counts = &into.At({series.slot, bin});
        formula = counts->NumberOf(series.formula);
        bin_begin = bin * series.width;
        bin_end = bin_begin + series.width;
      }
      if (span.exec_time_us[i] > 0) counts->Add(formula, span.exec_time_us[i], 1);
    }
  }

  Status AddIrregular() {
    const char* const value = bins_ == Bins::kTime       ? "dump_timestamp_us"
                              : bins_ == Bins::kSequence ? "sequence"
                                                         : "origin";
    return ScanColumns(
        connection_,
        fmt::format("SELECT slot, {0} - origin, width, traffic_bytes, bus_factor, rate_time_us "
                    "FROM slot_irregular WHERE {0} IS NOT NULL",
                    value),
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* slot = static_cast<const uint32_t*>(columns[0]);
          const auto* from_origin = static_cast<const int64_t*>(columns[1]);
          const auto* width = static_cast<const int64_t*>(columns[2]);
          const auto* traffic_bytes = static_cast<const double*>(columns[3]);
          const auto* bus_factor = static_cast<const double*>(columns[4]);
          const auto* rate_time_us = static_cast<const uint32_t*>(columns[5]);
          for (size_t i = 0; i < rows; ++i) {
            const BandwidthFormula formula = {traffic_bytes[i], bus_factor[i]};
            if (!formula.IsRated() || rate_time_us[i] == 0) continue;
            BandwidthCounts& counts =
                counts_[0].At({slot[i], FloorDivide(from_origin[i], width[i])});
            counts.Add(counts.NumberOf(formula), rate_time_us[i], 1);
          }
        });
  }

  Status Summarise() {
    summaries_.resize(counts_[0].size());
    return OnScanThreads([&](size_t thread) -> Status {
      for (size_t i = thread; i < summaries_.size(); i += kScanThreads) {
        const BandwidthCounts& counts = counts_[0].counts(i);
        if (!counts.empty()) summaries_[i] = counts.Summarise();
      }
      return {};
    });
  }

  Status WriteTable() {
    TELLTALE_TRY(connection_.Run(
        "CREATE OR REPLACE TEMP TABLE rated (slot UINTEGER, bin BIGINT, n UBIGINT, "
        "busbw_gbs_min DOUBLE, busbw_gbs_p10 DOUBLE, busbw_gbs_p25 DOUBLE, busbw_gbs_p50 DOUBLE, "
        "busbw_gbs_p75 DOUBLE, busbw_gbs_p90 DOUBLE, busbw_gbs_max DOUBLE, busbw_gbs_mean DOUBLE, "
        "variation DOUBLE)"));
    constexpr ColumnType kReal = ColumnType::kDouble;
    constexpr std::array kColumns = {ColumnType::kUInt32,
                                     ColumnType::kInt64,
                                     ColumnType::kUInt64,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal,
                                     kReal};
    TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection_, "rated", kColumns));
    size_t next = 0;
    TELLTALE_TRY(insert->Insert([&](std::span<void* const> columns, size_t capacity) {
      size_t row = 0;
      for (; row < capacity && next < summaries_.size(); ++next) {
        const BandwidthSummary& summary = summaries_[next];
        if (summary.n == 0) continue;
        const auto put = [&](size_t column, double value) {
          static_cast<double*>(columns[column])[row] = value;
        };
        static_cast<uint32_t*>(columns[0])[row] = counts_[0].bin(next).slot;
        static_cast<int64_t*>(columns[1])[row] = counts_[0].bin(next).bin;
        static_cast<uint64_t*>(columns[2])[row] = summary.n;
        for (size_t i = 0; i < summary.quantiles.size(); ++i) put(3 + i, summary.quantiles[i]);
        put(10, summary.mean);
        put(11, summary.stddev ? *summary.stddev / summary.mean : -1);
        ++row;
      }
      return row;
    }));
    // The insert has no NULL.
    return connection_.Run("UPDATE rated SET variation = NULL WHERE n = 1");
  }

  static constexpr int64_t kEarliest = std::numeric_limits<int64_t>::min();
  static constexpr int64_t kLatest = std::numeric_limits<int64_t>::max();

  Store& store_;
  Connection& connection_;
  Bins bins_;
  bool by_time_ = false;
  int64_t since_us_ = kEarliest;
  int64_t until_us_ = kLatest;
  std::vector<SlotOfSeries> series_;  // by number
  ThreadOfSeries thread_of_series_;
  std::array<SlotCounts, kScanThreads> counts_;
  std::vector<BandwidthSummary> summaries_;
};

}  // namespace

Status RateSlots(Store& store, Connection& connection, Bins bins) {
  return Rater(store, connection, bins).Rate();
}

}  // namespace telltale::collectives
