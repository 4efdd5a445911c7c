#pragma once

// Passes over the records, or their times, of chosen series on all of DuckDB's threads: for
// questions that need every record, where joins of all of them in SQL would take seconds.

#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "base/zeroed_array.h"
#include "store/store.h"

namespace telltale::collectives {

// By the number of a series, whether it is chosen.
using ChosenSeries = std::vector<bool>;

// Records of one series that lie behind each other: value = key + offset, for each of `count`.
struct RecordSpan {
  uint32_t series = 0;
  size_t count = 0;
  const uint32_t* exec_time_us = nullptr;
  const uint32_t* sequence_key = nullptr;  // of the fields that were asked for
  int64_t sequence_offset = 0;
  const uint32_t* timestamp_key = nullptr;
  int64_t timestamp_offset_us = 0;

  RecordSpan Part(size_t begin, size_t end) const {
    RecordSpan part = *this;
    part.count = end - begin;
    part.exec_time_us += begin;
    if (sequence_key != nullptr) part.sequence_key += begin;
    if (timestamp_key != nullptr) part.timestamp_key += begin;
    return part;
  }

  // Whether each sequence number is the one before and one: mostly so, where none is missing.
  bool SequencesAreConsecutive() const {
    uint32_t off = 0;
    for (uint32_t i = 0; i < static_cast<uint32_t>(count); ++i) {
      off |= sequence_key[i] - sequence_key[0] - i;
    }
    return off == 0;
  }
};

struct RecordFields {
  bool sequence = false;
  bool timestamp = false;
};

// A worker is a thread; there are at most VisitWorkers() of them, which work at the same time. A
// series' records may come to several.
using OnSpan = std::function<void(size_t worker, const RecordSpan& span)>;
using OnCounts = std::function<void(size_t worker, uint32_t series, const uint32_t* exec_time_us,
                                    const uint32_t* operations, size_t count)>;

// What turns the keys of records into values: the offsets of blocks, found by series and number in
// it.
class RecordBlocks {
 public:
  struct Offsets {
    int64_t sequence = 0;
    int64_t timestamp_us = 0;
  };

  // Of the blocks that meet a condition of SQL; of all where it is empty.
  static Result<RecordBlocks> Load(Store& store, const std::string& where);

  const Offsets& Of(int64_t block) const;  // throws where there is none

 private:
  size_t Place(int64_t block) const;
  Status CountBlocks(Connection& connection, const std::string& where);

  std::vector<size_t> first_;  // place of a series' first block
  ZeroedArray<Offsets> offsets_;
};

// Loads the blocks on a thread of its own, while other work goes on; without value where they are
// so many that those of the chosen series alone should be loaded.
using BlocksToCome = std::future<Result<std::optional<RecordBlocks>>>;
BlocksToCome LoadBlocksAside(Store& store);

// Irregular records are not among them.
Status ScanRecords(Store& store, const ChosenSeries& chosen, RecordFields fields,
                   const RecordBlocks& blocks, const OnSpan& on_span);
// Waits for the blocks, and loads those of the chosen series if there are none to come.
Result<RecordBlocks> BlocksOf(Store& store, const ChosenSeries& chosen, BlocksToCome& to_come);
// Rows of operation_histogram.
Status ScanHistogram(Store& store, const ChosenSeries& chosen, const OnCounts& on_counts);

}  // namespace telltale::collectives
