#include "readers/nccl_inspector/source_builder.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "readers/nccl_inspector/bandwidth.h"
#include "readers/nccl_inspector/sequence_set.h"

namespace telltale::nccl_inspector {
namespace {

constexpr uint64_t kMaxTimestampUs = std::numeric_limits<int64_t>::max() / 1000;

// Keys of the interning maps: every part with its length in front, so that no two keys run
// together.
class KeyText {
 public:
  KeyText& Add(const std::string& text) {
    text_ += std::to_string(text.size()) + ':' + text;
    return *this;
  }
  KeyText& Add(const std::optional<std::string>& text) {
    if (!text) {
      text_ += '-';
      return *this;
    }
    return Add(*text);
  }
  template <typename Integer>
  KeyText& AddNumber(Integer number) {
    text_ += std::to_string(number) + ';';
    return *this;
  }
  template <typename Integer>
  KeyText& AddNumber(const std::optional<Integer>& number) {
    text_ += number ? std::to_string(*number) + ';' : "-;";
    return *this;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

template <typename Item, typename Key>
uint32_t Intern(std::unordered_map<std::string, uint32_t>& index, std::string key,
                std::vector<Item>& items, const Key& value) {
  const auto [place, added] =
      index.try_emplace(std::move(key), static_cast<uint32_t>(items.size()));
  if (added) items.push_back(value);
  return place->second;
}

bool Follows(double value, double written) { return RoundToMicro(value) == written; }

std::optional<Record> RegularRecord(const Series& series, uint64_t line,
                                    const OperationValues& values) {
  constexpr uint64_t kMax32 = std::numeric_limits<uint32_t>::max();
  if (!values.sequence || *values.sequence > kMax32 || !values.exec_time_us ||
      *values.exec_time_us > kMax32 || !values.dump_timestamp_us ||
      *values.dump_timestamp_us > kMaxTimestampUs || line > kMax32 || !series.key.message_bytes ||
      !values.algobw_gbs || !values.busbw_gbs) {
    return std::nullopt;
  }
  const Bandwidths bandwidths =
      BandwidthsOf(series.traffic_bytes / 1e9, series.bus_factor, *values.exec_time_us);
  if (!Follows(bandwidths.algorithm, *values.algobw_gbs) ||
      !Follows(bandwidths.bus, *values.busbw_gbs)) {
    return std::nullopt;
  }
  Record record;
  record.sequence = static_cast<uint32_t>(*values.sequence);
  record.exec_time_us = static_cast<uint32_t>(*values.exec_time_us);
  record.line = static_cast<uint32_t>(line);
  record.dump_timestamp_us = static_cast<int64_t>(*values.dump_timestamp_us);
  return record;
}

}  // namespace

IrregularRecord StoredWhole(uint32_t series_index, const Series& series, const Record& record,
                            uint64_t line) {
  const Bandwidths bandwidths =
      BandwidthsOf(series.traffic_bytes / 1e9, series.bus_factor, record.exec_time_us);
  return {series_index,
          record.sequence,
          series.key.message_bytes,
          record.exec_time_us,
          static_cast<uint64_t>(record.dump_timestamp_us),
          line,
          RoundToMicro(bandwidths.algorithm),
          RoundToMicro(bandwidths.bus)};
}

uint32_t SourceBuilder::Process(const ProcessKey& key) {
  std::string text = KeyText()
                         .Add(key.host)
                         .AddNumber(key.pid)
                         .Add(key.git_rev)
                         .Add(key.rec_mechanism)
                         .Add(key.format_version)
                         .Take();
  return Intern(process_index_, std::move(text), data_.processes, key);
}

uint32_t SourceBuilder::CommunicatorRank(const CommunicatorRankKey& key) {
  std::string text = KeyText()
                         .Add(key.id)
                         .Add(key.name)
                         .AddNumber(key.rank)
                         .AddNumber(key.n_ranks)
                         .AddNumber(key.nnodes)
                         .AddNumber(key.process)
                         .Take();
  return Intern(communicator_rank_index_, std::move(text), data_.communicator_ranks, key);
}

uint32_t SourceBuilder::SeriesOf(const SeriesKey& key) {
  const std::string without_size = KeyText()
                                       .AddNumber(key.communicator_rank)
                                       .AddNumber(static_cast<int>(key.kind))
                                       .Add(key.operation)
                                       .AddNumber(key.peer)
                                       .Add(key.algorithm)
                                       .Add(key.protocol)
                                       .Add(key.timing_source)
                                       .Take();
  std::string text = KeyText().AddNumber(key.message_bytes).Take() + without_size;
  if (const auto known = series_index_.find(text); known != series_index_.end())
    return known->second;

  Series series;
  series.key = key;
  if (key.message_bytes && ++sizes_of_operation_[without_size] > kMaxSizes) {
    series.key.message_bytes.reset();
    return SeriesOf(series.key);
  }
  if (key.message_bytes) {
    const int64_t n_ranks = data_.communicator_ranks[key.communicator_rank].n_ranks;
    const BandwidthFormula formula = FormulaFor(key.operation, *key.message_bytes, n_ranks);
    series.traffic_bytes = formula.traffic_bytes;
    series.bus_factor = formula.bus_factor;
  }
  Place(series);
  const uint32_t index = Intern(series_index_, std::move(text), data_.series, series);
  if (pool_ != nullptr) data_.series[index].records = pool_->Take();
  return index;
}

// Finds the sequence counter and the ring of a new series.
void SourceBuilder::Place(Series& series) {
  const SeriesKey& key = series.key;
  SequenceTracker tracker;
  tracker.communicator_rank = key.communicator_rank;
  tracker.kind = key.kind;
  if (key.kind == OperationKind::kCollective) tracker.operation = key.operation;
  const std::string ring =
      KeyText().AddNumber(key.communicator_rank).AddNumber(static_cast<int>(key.kind)).Take();
  series.tracker = Intern(tracker_index_, ring + tracker.operation, data_.trackers, tracker);
  series.ring = Intern(ring_index_, ring, data_.rings, RingState());
}

void SourceBuilder::StartRun(const Series& series, uint64_t sequence, bool first_in_dump) {
  SequenceTracker& tracker = data_.trackers[series.tracker];
  AddRun(tracker, {sequence, sequence, false});
  if (!first_in_dump || tracker.too_many_runs) return;
  RingState& ring = data_.rings[series.ring];
  ring.dump_starts.push_back({series.tracker, ring.dump, 0, sequence});
}

void SourceBuilder::StartDump(RingState& ring) {
  if (ring.first_line == 0) {
    ring.first_line = ring.last_line;
    ring.first_timestamp_us = ring.last_timestamp_us;
  }
  EndDump(ring);
  ++ring.dump;
  ring.dump_records = 1;
}

void SourceBuilder::EndDump(RingState& ring) {
  if (ring.dump_records == 0) return;
  // Runs started in this dump are at the end of the list, still without a size.
  for (auto start = ring.dump_starts.rbegin();
       start != ring.dump_starts.rend() && start->dump_records == 0; ++start) {
    start->dump_records = ring.dump_records;
  }
  if (ring.first_dump_records) {
    CountDump(ring, ring.dump_records, 1);
  } else {
    ring.first_dump_records = ring.dump_records;
  }
  ring.dump_records = 0;
}

void SourceBuilder::CountDump(RingState& ring, uint32_t records, uint32_t dumps) {
  if (records > ring.largest_dump) {
    ring.largest_dump = records;
    ring.largest_dumps = 0;
  }
  if (records == ring.largest_dump) ring.largest_dumps += dumps;
}

void SourceBuilder::EndDumps() {
  for (SequenceTracker& tracker : data_.trackers) MergeRuns(tracker.runs);
  // A full ring shows as a size that no dump exceeds and that comes again, or that rings have.
  constexpr uint32_t kSmallestUsualRing = 16;
  // Dumps of a few records are alike because little happens between two of them.
  constexpr uint32_t kSmallestRing = 8;
  for (RingState& ring : data_.rings) {
    EndDump(ring);
    if (ring.first_dump_records) CountDump(ring, *ring.first_dump_records, 1);
    ring.first_dump_records.reset();
  }
  // All communicators of a process have rings of the same size, so that what one of them dumps at
  // once another cannot have overflowed with less. Steps repeat: a communicator that is used 55
  // times between two dumps has many dumps of 55 records, none of them full.
  std::map<OperationKind, uint32_t> largest;
  std::vector<OperationKind> kinds(data_.rings.size(), OperationKind::kCollective);
  for (const Series& series : data_.series) kinds[series.ring] = series.key.kind;
  for (size_t i = 0; i < data_.rings.size(); ++i) {
    largest[kinds[i]] = std::max(largest[kinds[i]], data_.rings[i].largest_dump);
  }
  for (size_t i = 0; i < data_.rings.size(); ++i) {
    RingState& ring = data_.rings[i];
    const bool usual_size =
        ring.largest_dump >= kSmallestUsualRing && std::has_single_bit(ring.largest_dump);
    const bool comes_again = ring.largest_dump >= kSmallestRing && ring.largest_dumps >= 2;
    const bool is_ring_size = ring.largest_dump == largest[kinds[i]] && (comes_again || usual_size);
    for (const RingState::DumpStart& start : ring.dump_starts) {
      if (!is_ring_size || start.dump_records != ring.largest_dump) continue;
      std::vector<SequenceRun>& runs = data_.trackers[start.tracker].runs;
      const auto run = std::lower_bound(
          runs.begin(), runs.end(), start.sequence,
          [](const SequenceRun& candidate, uint64_t first) { return candidate.first < first; });
      if (run != runs.end() && run->first == start.sequence) run->after_full_ring = true;
    }
    ring.dump_starts.clear();
  }
}

void SourceBuilder::AddRun(SequenceTracker& tracker, const SequenceRun& run) {
  tracker.next = run.last + 1;
  if (tracker.too_many_runs) {
    tracker.highest_closed = tracker.Highest();
    tracker.runs.assign(1, run);
    return;
  }
  tracker.runs.push_back(run);
  if (tracker.runs.size() < tracker.merge_at) return;
  // Numbers out of order (sends and receives overtake each other) leave no gap in the end. The last
  // run stays the one that is being continued.
  const uint64_t last = run.last;
  MergeRuns(tracker.runs);
  const auto continued =
      std::find_if(tracker.runs.begin(), tracker.runs.end(),
                   [&](const SequenceRun& merged) { return merged.last == last; });
  if (continued == tracker.runs.end()) {
    tracker.runs.push_back({last, last, false});
  } else {
    std::rotate(continued, continued + 1, tracker.runs.end());
  }
  tracker.merge_at = 2 * tracker.runs.size() + 64;
  tracker.too_many_runs = tracker.runs.size() > SequenceTracker::kMaxRuns;
}

void SourceBuilder::AddOperation(uint32_t series_index, uint64_t line,
                                 const OperationValues& values) {
  const Series& series = data_.series[series_index];
  if (const std::optional<Record> record = RegularRecord(series, line, values)) {
    AddRecord(series_index, *record);
    return;
  }
  if (!series.key.message_bytes && values.message_bytes) {
    AddLoss(kManySizes, 1, line, series.key.communicator_rank, series.key.operation);
  }
  data_.irregular.push_back({series_index, values.sequence, values.message_bytes,
                             values.exec_time_us, values.dump_timestamp_us, line, values.algobw_gbs,
                             values.busbw_gbs});
  if (values.sequence) {
    Track(series, *values.sequence, line,
          static_cast<int64_t>(std::min(values.dump_timestamp_us.value_or(0), kMaxTimestampUs)));
  }
}

void SourceBuilder::AddLoss(const LossKind& kind, uint64_t count, uint64_t first_position,
                            std::optional<uint32_t> communicator_rank, const std::string& detail) {
  std::string key =
      KeyText().Add(std::string(kind.name)).AddNumber(communicator_rank).Add(detail).Take();
  const auto [place, added] = loss_index_.try_emplace(std::move(key), data_.losses.size());
  if (added) {
    Loss loss;
    loss.kind = &kind;
    loss.first_position = first_position;
    loss.communicator_rank = communicator_rank;
    loss.detail = detail;
    data_.losses.push_back(std::move(loss));
  }
  Loss& loss = data_.losses[place->second];
  loss.count += count;
  loss.first_position = std::min(loss.first_position, first_position);
}

// Continues a ring with what a later part of the file says of it.
uint32_t SourceBuilder::AppendRing(RingState& ring, const RingState& more, uint64_t line_offset) {
  if (more.first_line == 0) return 0;
  const uint64_t first_line = more.first_line + line_offset;
  const bool goes_on = ring.first_line > 0 && first_line == ring.last_line + 1 &&
                       IsSameDump(ring.last_timestamp_us, more.first_timestamp_us);
  if (!goes_on) EndDump(ring);
  if (ring.first_line == 0) {
    ring.first_line = first_line;
    ring.first_timestamp_us = more.first_timestamp_us;
  }
  const uint32_t dump_offset = ring.dump - (goes_on ? 1 : 0);
  std::vector<RingState::DumpStart> starts = more.dump_starts;
  for (RingState::DumpStart& start : starts) start.dump += dump_offset;
  // Where a dump goes on, a counter that was in it already has its gap inside the dump.
  std::erase_if(starts, [&](const RingState::DumpStart& start) {
    return goes_on && start.dump == ring.dump && data_.trackers[start.tracker].dump == ring.dump;
  });
  const auto of_first_dump =
      std::find_if(starts.begin(), starts.end(),
                   [&](const RingState::DumpStart& start) { return start.dump > dump_offset + 1; });
  if (more.first_dump_records) {
    ring.dump_records += *more.first_dump_records;
    for (auto start = starts.begin(); start != of_first_dump; ++start) start->dump_records = 0;
    ring.dump_starts.insert(ring.dump_starts.end(), starts.begin(), of_first_dump);
    EndDump(ring);
    if (more.largest_dump > 0) CountDump(ring, more.largest_dump, more.largest_dumps);
    ring.dump_starts.insert(ring.dump_starts.end(), of_first_dump, starts.end());
  } else {
    ring.dump_starts.insert(ring.dump_starts.end(), starts.begin(), starts.end());
  }
  ring.dump = dump_offset + more.dump;
  ring.dump_records += more.dump_records;
  ring.last_line = more.last_line + line_offset;
  ring.last_timestamp_us = more.last_timestamp_us;
  return dump_offset;
}

void SourceBuilder::Append(SourceBuilder&& other) {
  SourceData& more = other.data_;
  const uint64_t line_offset = data_.lines;
  std::vector<uint32_t> processes, ranks, series;
  for (const ProcessKey& key : more.processes) processes.push_back(Process(key));
  for (CommunicatorRankKey& key : more.communicator_ranks) {
    key.process = processes[key.process];
    ranks.push_back(CommunicatorRank(key));
  }
  for (Series& part : more.series) {
    part.key.communicator_rank = ranks[part.key.communicator_rank];
    const uint32_t index = SeriesOf(part.key);
    series.push_back(index);
    Series& whole = data_.series[index];
    for (Record& record : part.records) {
      const uint64_t line = record.line + line_offset;
      if (line <= std::numeric_limits<uint32_t>::max() && whole.key.message_bytes) {
        record.line = static_cast<uint32_t>(line);
        whole.records.push_back(record);
        ++data_.pending_records;
        continue;
      }
      // What no longer fits a record of this source is stored whole.
      if (!whole.key.message_bytes) {
        AddLoss(kManySizes, 1, line, whole.key.communicator_rank, whole.key.operation);
      }
      data_.irregular.push_back(StoredWhole(index, part, record, line));
    }
  }
  std::vector<uint32_t> trackers(more.trackers.size());
  for (size_t i = 0; i < more.series.size(); ++i) {
    trackers[more.series[i].tracker] = data_.series[series[i]].tracker;
  }
  std::vector<bool> ring_done(more.rings.size());
  std::vector<uint32_t> dump_offset(more.rings.size());
  std::vector<uint32_t> ring_of_tracker(more.trackers.size());
  for (size_t i = 0; i < more.series.size(); ++i) {
    const uint32_t index = more.series[i].ring;
    if (ring_done[index]) continue;
    ring_done[index] = true;
    RingState& ring = more.rings[index];
    for (RingState::DumpStart& start : ring.dump_starts) start.tracker = trackers[start.tracker];
    dump_offset[index] = AppendRing(data_.rings[data_.series[series[i]].ring], ring, line_offset);
  }
  for (const Series& part : more.series) ring_of_tracker[part.tracker] = part.ring;
  // Series are whole here, but the order of the file is only in the runs.
  for (size_t i = 0; i < more.trackers.size(); ++i) {
    SequenceTracker& from = more.trackers[i];
    SequenceTracker& to = data_.trackers[trackers[i]];
    for (const SequenceRun& run : from.runs) {
      if (!to.runs.empty() && run.first == to.next) {
        to.runs.back().last = run.last;
        to.next = run.last + 1;
      } else {
        AddRun(to, run);
      }
    }
    to.highest_closed = std::max(to.highest_closed, from.highest_closed);
    if (from.dump > 0) to.dump = from.dump + dump_offset[ring_of_tracker[i]];
    to.records += from.records;
    to.too_many_runs = to.too_many_runs || from.too_many_runs;
  }
  const auto move_rows = [&](auto& from, auto& to, auto&& change) {
    for (auto& row : from) {
      row.line += line_offset;
      change(row);
      to.push_back(std::move(row));
    }
  };
  const auto of_series = [&](auto& row) { row.series = series[row.series]; };
  const auto of_rank = [&](auto& row) { row.communicator_rank = ranks[row.communicator_rank]; };
  move_rows(more.irregular, data_.irregular, of_series);
  move_rows(more.events, data_.events, of_series);
  move_rows(more.dump_stats, data_.dump_stats, of_rank);
  move_rows(more.proxy_ops, data_.proxy_ops, of_rank);
  move_rows(more.proxy_steps, data_.proxy_steps, of_rank);
  for (const Loss& loss : more.losses) {
    std::optional<uint32_t> rank = loss.communicator_rank;
    if (rank) rank = ranks[*rank];
    AddLoss(*loss.kind, loss.count, loss.first_position + line_offset, rank, loss.detail);
  }
  data_.lines += more.lines;
  data_.rows += more.rows;
  other = SourceBuilder();
}

}  // namespace telltale::nccl_inspector
