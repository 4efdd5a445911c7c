#pragma once

// Collects the rows and losses of one source. Things that are said once (processes, ranks, series)
// are interned to indices; records go below their series.

#include <string>
#include <unordered_map>

#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/nccl_inspector/record_pool.h"
#include "readers/nccl_inspector/records.h"

namespace telltale::nccl_inspector {

// The values of an operation record before it is decided whether it is regular.
struct OperationValues {
  std::optional<uint64_t> sequence, exec_time_us, dump_timestamp_us, message_bytes;
  std::optional<double> algobw_gbs, busbw_gbs;
};

// A record with all its values, for where the keys of a store have no room for it.
IrregularRecord StoredWhole(uint32_t series_index, const Series& series, const Record& record,
                            uint64_t line);

class SourceBuilder {
 public:
  // `pool`, if any, must outlive it.
  explicit SourceBuilder(RecordPool* pool = nullptr) : pool_(pool) {}

  // A rank's operation may have this many sizes; more of them share one series without a size, and
  // their records are stored whole (message sizes of expert parallelism differ every time).
  static constexpr size_t kMaxSizes = 512;

  uint32_t Process(const ProcessKey& key);
  uint32_t CommunicatorRank(const CommunicatorRankKey& key);
  uint32_t SeriesOf(const SeriesKey& key);

  // Adds a record to a series: regular when the views can give every value back from size and time.
  void AddOperation(uint32_t series, uint64_t line, const OperationValues& values);
  void AddRecord(uint32_t series_index, const Record& record) {
    Series& series = data_.series[series_index];
    series.records.push_back(record);
    ++data_.pending_records;
    Track(series, record.sequence, record.line, record.dump_timestamp_us);
  }

  // Lines of one dump follow each other within this time; anything longer may be another dump.
  static constexpr int64_t kSameDumpUs = 200;
  static bool IsSameDump(int64_t from_us, int64_t to_us) {
    return static_cast<uint64_t>(to_us - from_us) <= static_cast<uint64_t>(kSameDumpUs);
  }

  void AddLoss(const LossKind& kind, uint64_t count, uint64_t first_position,
               std::optional<uint32_t> communicator_rank = {}, const std::string& detail = {});

  SourceData& data() { return data_; }
  const SourceData& data() const { return data_; }

  // After the last record of the source: decides which gaps stand in front of a full ring.
  void EndDumps();

  // Adds what another builder collected from the lines behind this one's, `other` being left empty;
  // neither may have ended its dumps.
  void Append(SourceBuilder&& other);

 private:
  void Track(const Series& series, uint64_t sequence, uint64_t line, int64_t timestamp_us) {
    RingState& ring = data_.rings[series.ring];
    SequenceTracker& tracker = data_.trackers[series.tracker];
    const bool same_dump =
        line == ring.last_line + 1 && IsSameDump(ring.last_timestamp_us, timestamp_us);
    ring.last_line = line;
    ring.last_timestamp_us = timestamp_us;
    if (same_dump) {
      ++ring.dump_records;
    } else {
      StartDump(ring);
    }
    // Other operations of the dump may stand in front, so it is the counter that begins the dump.
    const bool first_in_dump = tracker.dump != ring.dump;
    tracker.dump = ring.dump;
    ++tracker.records;
    if (sequence == tracker.next && !tracker.runs.empty()) {
      tracker.runs.back().last = sequence;
      ++tracker.next;
    } else {
      StartRun(series, sequence, first_in_dump);
    }
  }
  void StartRun(const Series& series, uint64_t sequence, bool first_in_dump);
  static void StartDump(RingState& ring);
  static void EndDump(RingState& ring);
  static void CountDump(RingState& ring, uint32_t records, uint32_t dumps);
  // Returns what turns numbers of dumps of `more` into those of `ring`.
  uint32_t AppendRing(RingState& ring, const RingState& more, uint64_t line_offset);
  static void AddRun(SequenceTracker& tracker, const SequenceRun& run);
  void Place(Series& series);

  RecordPool* pool_;
  SourceData data_;
  std::unordered_map<std::string, uint32_t> process_index_;
  std::unordered_map<std::string, uint32_t> communicator_rank_index_;
  std::unordered_map<std::string, uint32_t> series_index_;
  std::unordered_map<std::string, size_t> sizes_of_operation_;
  std::unordered_map<std::string, uint32_t> tracker_index_;
  std::unordered_map<std::string, uint32_t> ring_index_;
  std::unordered_map<std::string, size_t> loss_index_;
};

}  // namespace telltale::nccl_inspector
