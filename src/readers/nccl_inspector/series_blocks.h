#pragma once

// How the records of a source come to lie in the store: the exact totals of each series, and the
// keys and blocks from which sequence numbers, times and lines follow (tables operation_record and
// operation_block).

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "readers/nccl_inspector/records.h"

namespace telltale::nccl_inspector {

// Exact sums of a series, kept up while its records go to the store.
struct SeriesTotals {
  uint64_t operations = 0;
  uint64_t exec_time_us_sum = 0;
  uint64_t exec_time_us_min = std::numeric_limits<uint64_t>::max();
  uint64_t exec_time_us_max = 0;
  uint64_t first_sequence = std::numeric_limits<uint64_t>::max();
  uint64_t last_sequence = 0;
  int64_t first_timestamp_us = std::numeric_limits<int64_t>::max();
  int64_t last_timestamp_us = std::numeric_limits<int64_t>::min();
  uint64_t zero_times = 0;
  uint64_t duplicates = 0;
  uint64_t irregular = 0;  // records that are in operation_record_irregular instead

  void Add(const std::vector<Record>& sorted) {
    SeriesTotals sum = *this;  // in registers
    sum.operations += sorted.size();
    sum.first_sequence = std::min<uint64_t>(sum.first_sequence, sorted.front().sequence);
    sum.last_sequence = std::max<uint64_t>(sum.last_sequence, sorted.back().sequence);
    uint32_t previous = ~sorted.front().sequence;
    for (const Record& record : sorted) {
      sum.exec_time_us_sum += record.exec_time_us;
      sum.exec_time_us_min = std::min<uint64_t>(sum.exec_time_us_min, record.exec_time_us);
      sum.exec_time_us_max = std::max<uint64_t>(sum.exec_time_us_max, record.exec_time_us);
      sum.first_timestamp_us = std::min(sum.first_timestamp_us, record.dump_timestamp_us);
      sum.last_timestamp_us = std::max(sum.last_timestamp_us, record.dump_timestamp_us);
      sum.zero_times += record.exec_time_us == 0 ? 1 : 0;
      sum.duplicates += previous == record.sequence ? 1 : 0;
      previous = record.sequence;
    }
    *this = sum;
  }
};

struct SeriesState {
  int64_t id = -1;
  uint32_t blocks = 0;
  SeriesTotals totals;
};

// A row of operation_block: value = key + offset.
struct Block {
  int64_t block = 0;
  int64_t series = 0;
  int64_t sequence_offset = 0;
  int64_t timestamp_offset_us = 0;
  int64_t line_offset = 0;
};

// Consecutive records of a series that share a block.
struct BlockRecords {
  const Record* begin = nullptr;
  const Record* end = nullptr;
  Block block;
};

constexpr uint32_t kMaxBlocksOfSeries = 65536;

// The keys of one source: they continue evenly from block to block, so that neither the jump from
// one dump to the next, nor a gap in the sequence numbers, nor the next series widens what DuckDB
// stores.
class KeyLayout {
 public:
  // Cuts the sorted records of a series into blocks, and appends them to `out`. Returns how many
  // records there was room for: all, but where time or line fall all the time (a file in reverse).
  size_t Add(const std::vector<Record>& records, SeriesState& series,
             std::vector<BlockRecords>& out) {
    const Record* begin = records.data();
    const Record* const end = begin + records.size();
    const Record* start = begin;
    for (const Record* record = begin + 1; record < end; ++record) {
      const bool split = IsJump(record[-1], record[0]) && MaySplit(record - start, series);
      if (!split && KeysFit(*start, *record)) continue;
      if (series.blocks == kMaxBlocksOfSeries) break;
      Emit(start, record, series, out);
      start = record;
    }
    if (series.blocks == kMaxBlocksOfSeries) return static_cast<size_t>(start - begin);
    Emit(start, end, series, out);
    return records.size();
  }

  // Blocks are rows themselves, so there may be one for so many records, of which `records` more
  // come.
  void Allow(uint64_t records) { allowed_blocks_ += records / kMeanRecords; }

 private:
  // What widens a run of small differences: another dump, a gap.
  static bool IsJump(const Record& from, const Record& to) {
    constexpr int64_t kMostUs = 512;
    constexpr int64_t kMostLines = 64;
    constexpr int64_t kMostSequence = 16;
    const int64_t us = to.dump_timestamp_us - from.dump_timestamp_us;
    const int64_t lines = int64_t{to.line} - from.line;
    const int64_t sequence = int64_t{to.sequence} - from.sequence;
    return us < 0 || us > kMostUs || lines < 0 || lines > kMostLines || sequence > kMostSequence;
  }

  // Keys have 32 bits, of which one is kept for where the block starts.
  static bool KeysFit(const Record& first, const Record& record) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    const int64_t us = record.dump_timestamp_us - first.dump_timestamp_us;
    const int64_t lines = int64_t{record.line} - first.line;
    return us >= 0 && us < kMost && lines >= 0 && lines < kMost &&
           int64_t{record.sequence} - first.sequence < kMost;
  }

  // Where every record makes a jump (a producer that only samples), jumps cost less than blocks.
  bool MaySplit(ptrdiff_t records, const SeriesState& series) const {
    return records >= kFewestRecords && blocks_ < allowed_blocks_ &&
           series.blocks < kMaxBlocksOfSeries / 2;
  }

  static int64_t Wrapped(int64_t key) {
    return key > std::numeric_limits<int32_t>::max() ? 0 : key;
  }

  void Emit(const Record* begin, const Record* end, SeriesState& series,
            std::vector<BlockRecords>& out) {
    const Record& first = *begin;
    const Record& last = end[-1];
    BlockRecords block;
    block.begin = begin;
    block.end = end;
    block.block.series = series.id;
    block.block.block = series.id * kMaxBlocksOfSeries + series.blocks++;
    block.block.sequence_offset = int64_t{first.sequence} - next_sequence_key_;
    block.block.timestamp_offset_us = first.dump_timestamp_us - next_timestamp_key_;
    block.block.line_offset = int64_t{first.line} - next_line_key_;
    next_sequence_key_ = Wrapped(last.sequence - block.block.sequence_offset + 1);
    next_timestamp_key_ = Wrapped(last.dump_timestamp_us - block.block.timestamp_offset_us + 1);
    next_line_key_ = Wrapped(last.line - block.block.line_offset + 1);
    ++blocks_;
    out.push_back(block);
  }

  static constexpr uint64_t kMeanRecords = 16;
  static constexpr ptrdiff_t kFewestRecords = 2;

  int64_t next_sequence_key_ = 0;
  int64_t next_timestamp_key_ = 0;
  int64_t next_line_key_ = 0;
  uint64_t blocks_ = 0;
  uint64_t allowed_blocks_ = 0;
};

}  // namespace telltale::nccl_inspector
