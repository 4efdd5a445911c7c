#include "collectives/rated_slots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "base/slices.h"
#include "collectives/between.h"
#include "collectives/record_scan.h"
#include "collectives/time_filter.h"
#include "store/bandwidth_counts.h"
#include "store/bulk_insert.h"
#include "store/column_scan.h"
#include "store/column_visit.h"
#include "store/time_counts.h"

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
};

// The bandwidths of each slot and bin that one worker counted.
class SlotCounts {
 public:
  // Good until the next call for the slot.
  BandwidthCounts& At(const SlotBin& at) {
    if (at.slot >= slots_.size()) slots_.resize(at.slot + 1);
    Slot& slot = slots_[at.slot];
    if (at.bin < 0 || at.bin >= kNearBins) return slot.far[at.bin];
    const auto bin = static_cast<size_t>(at.bin);
    if (bin >= slot.near.size()) slot.near.resize(bin + 1);
    return slot.near[bin];
  }

  size_t slots() const { return slots_.size(); }
  void MakeRoomFor(size_t slots) { slots_.resize(std::max(slots_.size(), slots)); }

  // What the other counted of a slot; for different slots from several threads, in room made.
  void AddSlot(uint32_t slot, SlotCounts& other) {
    if (slot >= other.slots_.size()) return;
    other.ForEachBin(slot, [&](int64_t bin, BandwidthCounts& theirs) {
      BandwidthCounts& ours = At({slot, bin});
      if (ours.empty()) {
        std::swap(ours, theirs);
      } else {
        ours.Add(std::move(theirs));
      }
    });
  }

  // By slot and bin.
  template <typename Visit>
  void ForEach(const Visit& visit) {
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
      ForEachBin(slot, [&](int64_t bin, BandwidthCounts& counts) {
        visit(SlotBin{slot, bin}, counts);
      });
    }
  }

 private:
  template <typename Visit>
  void ForEachBin(uint32_t slot, const Visit& visit) {
    std::vector<BandwidthCounts>& near = slots_[slot].near;
    for (size_t bin = 0; bin < near.size(); ++bin) {
      if (!near[bin].empty()) visit(static_cast<int64_t>(bin), near[bin]);
    }
    for (auto& [bin, counts] : slots_[slot].far) {
      if (!counts.empty()) visit(bin, counts);
    }
  }

  static constexpr int64_t kNearBins = 4096;
  struct Slot {
    std::vector<BandwidthCounts> near;  // by bin
    std::map<int64_t, BandwidthCounts> far;
  };
  std::vector<Slot> slots_;
};

// What one worker does; where it counted last, as the next records mostly belong there too.
struct Worker {
  SlotCounts counts;
  std::vector<uint32_t> times;  // of `series`, where there are no bins
  uint32_t series = 0;
  TimeCounter counter;
  std::vector<uint32_t> counted_times;
  std::vector<uint32_t> counted_operations;
  BandwidthCounts* last = nullptr;
  uint32_t slot = kNoSlot;
  BandwidthFormula formula;
  uint32_t formula_number = 0;
  int64_t bin_begin = 0;
  int64_t bin_end = 0;
};

int64_t FloorDivide(int64_t value, int64_t width) {
  return value / width - (value % width < 0 ? 1 : 0);
}

class Rater {
 public:
  Rater(Store& store, Connection& connection, Bins bins, BlocksToCome blocks)
      : store_(store), connection_(connection), bins_(bins), blocks_(std::move(blocks)) {}

  Status Rate() {
    TELLTALE_ASSIGN(filter_, TimeFilter::Of(connection_));
    TELLTALE_TRY(LoadSeries());
    TELLTALE_ASSIGN(const bool counts_series, ChooseCounted());
    TELLTALE_ASSIGN(const size_t workers, VisitWorkers(connection_));
    workers_.resize(workers);
    if (counts_series) counts_.emplace(workers, chosen_.size());
    if (bins_ == Bins::kNone && !counts_series) TELLTALE_TRY(PartWhole());
    if (IsAny(whole_)) {
      TELLTALE_TRY(ScanHistogram(store_, whole_,
                                 [&](size_t worker, uint32_t series, const uint32_t* exec_time_us,
                                     const uint32_t* operations, size_t count) {
                                   AddCounts(workers_[worker], series_[series], exec_time_us,
                                             operations, count);
                                 }));
    }
    if (IsAny(chosen_)) {
      const RecordFields fields = {bins_ == Bins::kSequence,
                                   filter_.is_set() || bins_ == Bins::kTime};
      TELLTALE_ASSIGN(const RecordBlocks blocks, BlocksOf(store_, chosen_, blocks_));
      TELLTALE_TRY(
          ScanRecords(store_, chosen_, fields, blocks,
                      [&](size_t worker, const RecordSpan& span) { AddSpan(worker, span); }));
      for (Worker& worker : workers_) CountSeries(worker);
    }
    if (counts_) {
      counts_->PutTogether();
      TELLTALE_TRY(counts_->Write(connection_));
    }
    TELLTALE_TRY(AddIrregular());
    Merge();
    Summarise();
    return WriteTable();
  }

 private:
  Status LoadSeries() {
    size_t count = 0;
    uint32_t slots = 0;
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
            ++count;
            slots = std::max(slots, slot[i] + 1);
            if (series[i] >= series_.size()) series_.resize(series[i] + 1);
            series_[series[i]] = {slot[i], formula, origin[i], std::max<int64_t>(width[i], 1)};
            if (series[i] >= chosen_.size()) chosen_.resize(series[i] + 1);
            chosen_[series[i]] = true;
          }
        }));
    constexpr size_t kFewSeries = 4;
    by_series_ = bins_ == Bins::kNone && count < kFewSeries * slots;
    return {};
  }

  static bool IsAny(const ChosenSeries& series) {
    return std::find(series.begin(), series.end(), true) != series.end();
  }

  // Series of which no record is left out by its time need no pass: the rollup has their times.
  Status PartWhole() {
    if (!filter_.is_set()) {
      whole_.swap(chosen_);
      return {};
    }
    whole_.resize(chosen_.size());
    return ScanColumns(connection_,
                       "SELECT series::UINTEGER, first_dump_timestamp_us, last_dump_timestamp_us "
                       "FROM operation_series WHERE first_dump_timestamp_us IS NOT NULL AND "
                       "last_dump_timestamp_us IS NOT NULL",
                       [&](std::span<const void* const> columns, size_t rows) {
                         const auto* series = static_cast<const uint32_t*>(columns[0]);
                         const auto* first_us = static_cast<const int64_t*>(columns[1]);
                         const auto* last_us = static_cast<const int64_t*>(columns[2]);
                         for (size_t i = 0; i < rows; ++i) {
                           if (series[i] >= chosen_.size() || !chosen_[series[i]]) continue;
                           if (!filter_.HoldsAll(first_us[i], last_us[i])) continue;
                           whole_[series[i]] = true;
                           chosen_[series[i]] = false;
                         }
                       });
  }

  // Whether the query wants counts by series too, which the same pass can give; then all the
  // selected ones are chosen.
  Result<bool> ChooseCounted() {
    if (!filter_.is_set()) return false;
    TELLTALE_ASSIGN(const bool wanted, SeriesCounts::AreWanted(connection_));
    if (!wanted) return false;
    TELLTALE_TRY(ScanColumns(connection_, "SELECT series::UINTEGER FROM selected_series",
                             [&](std::span<const void* const> columns, size_t rows) {
                               const auto* series = static_cast<const uint32_t*>(columns[0]);
                               for (size_t i = 0; i < rows; ++i) {
                                 if (series[i] >= chosen_.size())
                                   chosen_.resize(size_t{series[i]} + 1);
                                 chosen_[series[i]] = true;
                               }
                             }));
    return true;
  }

  static void AddCounts(Worker& worker, const SlotOfSeries& series, const uint32_t* exec_time_us,
                        const uint32_t* operations, size_t count) {
    BandwidthCounts& counts = worker.counts.At({series.slot, 0});
    counts.AddCounted(counts.NumberOf(series.formula), exec_time_us, operations, count);
  }

  void AddSpan(size_t number, const RecordSpan& span) {
    filter_.ForEachRun(span.timestamp_key, span.count, span.timestamp_offset_us,
                       [&](size_t begin, size_t end) {
                         const RecordSpan part = span.Part(begin, end);
                         if (counts_) counts_->Add(number, part);
                         AddSelected(workers_[number], part);
                       });
  }

  void AddSelected(Worker& worker, const RecordSpan& span) const {
    if (span.series >= series_.size() || series_[span.series].slot == kNoSlot) return;
    const SlotOfSeries& series = series_[span.series];
    if (by_series_) return AddToSeries(worker, span);
    if (worker.slot != series.slot || !(worker.formula == series.formula)) {
      worker.slot = series.slot;
      worker.formula = series.formula;
      worker.last = nullptr;
    }
    AddRange(worker, series, span);
  }

  // A slot of few records is better filled a series at a time, whose records are counted in the
  // cache.
  void AddToSeries(Worker& worker, const RecordSpan& span) const {
    if (worker.series != span.series) CountSeries(worker);
    worker.series = span.series;
    worker.times.insert(worker.times.end(), span.exec_time_us, span.exec_time_us + span.count);
  }

  void CountSeries(Worker& worker) const {
    if (worker.times.empty()) return;
    const SlotOfSeries& series = series_[worker.series];
    BandwidthCounts& counts = worker.counts.At({series.slot, 0});
    worker.counted_times.clear();
    worker.counted_operations.clear();
    worker.counter.Count(worker.times, std::identity(),
                         [&](uint32_t exec_time_us, uint32_t operations) {
                           worker.counted_times.push_back(exec_time_us);
                           worker.counted_operations.push_back(operations);
                         });
    counts.AddCounted(counts.NumberOf(series.formula), worker.counted_times.data(),
                      worker.counted_operations.data(), worker.counted_times.size());
    worker.times.clear();
  }

  // Values mostly rise through a span, so that many records in a row go to one bin.
  void AddRange(Worker& worker, const SlotOfSeries& series, const RecordSpan& span) const {
    const bool by_sequence = bins_ == Bins::kSequence;
    const uint32_t* const keys = by_sequence ? span.sequence_key : span.timestamp_key;
    const int64_t offset =
        (by_sequence ? span.sequence_offset : span.timestamp_offset_us) - series.origin;
    const bool are_consecutive = by_sequence && span.SequencesAreConsecutive();
    const size_t end = span.count;
    for (size_t begin = 0; begin < end;) {
      const int64_t value = bins_ == Bins::kNone ? 0 : keys[begin] + offset;
      if (worker.last == nullptr || value < worker.bin_begin || value >= worker.bin_end) {
        const int64_t bin = FloorDivide(value, series.width);
        worker.last = &worker.counts.At({series.slot, bin});
        worker.formula_number = worker.last->NumberOf(series.formula);
        worker.bin_begin = bin * series.width;
        worker.bin_end = worker.bin_begin + series.width;
      }
      size_t bin_end = end;
      if (are_consecutive) {
        bin_end = std::min(end, begin + static_cast<size_t>(worker.bin_end - value));
      } else if (bins_ != Bins::kNone) {
        bin_end = KeyRange(worker.bin_begin, worker.bin_end, offset).EndOfRun(keys, begin, end);
      }
      worker.last->AddEach(worker.formula_number, span.exec_time_us + begin, bin_end - begin);
      begin = bin_end;
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
                workers_[0].counts.At({slot[i], FloorDivide(from_origin[i], width[i])});
            counts.Add(counts.NumberOf(formula), rate_time_us[i], 1);
          }
        });
  }

  void Merge() {
    SlotCounts& all = workers_[0].counts;
    for (const Worker& worker : workers_) all.MakeRoomFor(worker.counts.slots());
    ForEachInTurn(all.slots(), workers_.size() - 1, 1, [&](size_t slot) {
      for (size_t i = 1; i < workers_.size(); ++i) {
        all.AddSlot(static_cast<uint32_t>(slot), workers_[i].counts);
      }
    });
  }

  void Summarise() {
    std::vector<BandwidthCounts*> counts;
    workers_[0].counts.ForEach([&](const SlotBin& at, BandwidthCounts& found) {
      rated_.push_back(at);
      counts.push_back(&found);
    });
    summaries_.resize(counts.size());
    ForEachInTurn(counts.size(), workers_.size() - 1, 1,
                  [&](size_t i) { summaries_[i] = counts[i]->Summarise(); });
  }

  Status WriteTable() {
    TELLTALE_TRY(connection_.Run(
        "CREATE OR REPLACE TEMP TABLE rated_row (slot UINTEGER, bin BIGINT, n UBIGINT, "
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
    TELLTALE_ASSIGN(const auto insert, BulkInsert::Create(connection_, "rated_row", kColumns));
    size_t next = 0;
    TELLTALE_TRY(insert->Insert([&](std::span<void* const> columns, size_t capacity) {
      size_t row = 0;
      for (; row < capacity && next < summaries_.size(); ++next) {
        const BandwidthSummary& summary = summaries_[next];
        const auto put = [&](size_t column, double value) {
          static_cast<double*>(columns[column])[row] = value;
        };
        static_cast<uint32_t*>(columns[0])[row] = rated_[next].slot;
        static_cast<int64_t*>(columns[1])[row] = rated_[next].bin;
        static_cast<uint64_t*>(columns[2])[row] = summary.n;
        for (size_t i = 0; i < summary.quantiles.size(); ++i) put(3 + i, summary.quantiles[i]);
        put(10, summary.mean);
        put(11, summary.stddev ? *summary.stddev / summary.mean : -1);
        ++row;
      }
      return row;
    }));
    // The insert has no NULL.
    return connection_.Run(
        "CREATE OR REPLACE TEMP VIEW rated AS "
        "SELECT * REPLACE (CASE WHEN n > 1 THEN variation END AS variation) FROM rated_row");
  }

  Store& store_;
  Connection& connection_;
  Bins bins_;
  BlocksToCome blocks_;
  TimeFilter filter_;
  std::vector<SlotOfSeries> series_;  // by number
  ChosenSeries chosen_;               // whose records are to be read
  ChosenSeries whole_;                // whose rollup says all
  bool by_series_ = false;            // whether series are counted one by one
  std::optional<SeriesCounts> counts_;
  std::vector<Worker> workers_;
  std::vector<SlotBin> rated_;
  std::vector<BandwidthSummary> summaries_;  // of rated_
};

}  // namespace

Status RateSlots(Store& store, Connection& connection, Bins bins, BlocksToCome blocks) {
  return Rater(store, connection, bins, std::move(blocks)).Rate();
}

}  // namespace telltale::collectives
