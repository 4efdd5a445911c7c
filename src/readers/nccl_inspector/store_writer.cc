#include "readers/nccl_inspector/store_writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "readers/nccl_inspector/loss_kinds.h"
#include "store/time_counts.h"

namespace telltale::nccl_inspector {
namespace {

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
    operations += sorted.size();
    first_sequence = std::min<uint64_t>(first_sequence, sorted.front().sequence);
    last_sequence = std::max<uint64_t>(last_sequence, sorted.back().sequence);
    const Record* previous = nullptr;
    for (const Record& record : sorted) {
      exec_time_us_sum += record.exec_time_us;
      exec_time_us_min = std::min<uint64_t>(exec_time_us_min, record.exec_time_us);
      exec_time_us_max = std::max<uint64_t>(exec_time_us_max, record.exec_time_us);
      first_timestamp_us = std::min(first_timestamp_us, record.dump_timestamp_us);
      last_timestamp_us = std::max(last_timestamp_us, record.dump_timestamp_us);
      zero_times += record.exec_time_us == 0 ? 1 : 0;
      if (previous != nullptr && previous->sequence == record.sequence) ++duplicates;
      previous = &record;
    }
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
  // Cuts the sorted records of a series into blocks, and appends them to `out`.
  void Add(const std::vector<Record>& records, SeriesState& series,
           std::vector<BlockRecords>& out) {
    const Record* begin = records.data();
    const Record* const end = begin + records.size();
    const Record* start = begin;
    for (const Record* record = begin + 1; record < end; ++record) {
      const bool split = IsJump(record[-1], record[0]) && MaySplit(record - start, series);
      if (!split && KeysFit(*start, *record)) continue;
      Emit(start, record, series, out);
      start = record;
    }
    Emit(start, end, series, out);
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
           series.blocks < kMaxBlocksOfSeries - 1;
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

template <typename T>
Cell ToCell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
Cell Number(int64_t value) { return value; }
Cell Unsigned(uint64_t value) { return value; }
Cell TextOrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }

const char* KindName(OperationKind kind) {
  return kind == OperationKind::kP2p ? "p2p" : "collective";
}

// By sequence number, as the plugin writes them nearly always; lines decide between equal ones.
void SortRecords(std::vector<Record>& records) {
  const auto before = [](const Record& a, const Record& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.line < b.line;
  };
  if (!std::is_sorted(records.begin(), records.end(), before)) {
    std::sort(records.begin(), records.end(), before);
  }
}

// NCCL before 2.30: no names, and the last operation of each dump only.
bool IsSampledProducer(const SourceData& data) {
  const bool names = std::any_of(data.communicator_ranks.begin(), data.communicator_ranks.end(),
                                 [](const auto& rank) { return rank.name.has_value(); });
  const bool all_v40 = std::all_of(data.processes.begin(), data.processes.end(),
                                   [](const auto& p) { return p.format_version == "v4.0"; });
  return !names && all_v40 && !data.processes.empty();
}

}  // namespace

struct StoreWriter::Source {
  SourceRow row;
  SourceData data;
  int64_t id = -1;
  std::vector<int64_t> process_ids;
  std::vector<int64_t> rank_ids;
  std::vector<SeriesState> series;
  KeyLayout layout;
};

StoreWriter::StoreWriter(Store& store, std::unique_ptr<Connection> connection,
                         uint64_t max_pending_records)
    : store_(store),
      connection_(std::move(connection)),
      max_pending_records_(max_pending_records) {}
StoreWriter::~StoreWriter() = default;

Result<std::unique_ptr<StoreWriter>> StoreWriter::Create(Store& store,
                                                         uint64_t max_pending_records) {
  TELLTALE_ASSIGN(std::unique_ptr<Connection> connection, store.Connect());
  std::unique_ptr<StoreWriter> writer(
      new StoreWriter(store, std::move(connection), max_pending_records));
  constexpr std::array kColumns = {ColumnType::kInt64, ColumnType::kUInt32, ColumnType::kUInt32,
                                   ColumnType::kUInt32, ColumnType::kUInt32};
  constexpr std::array kRunColumns = {ColumnType::kUInt32, ColumnType::kUInt64, ColumnType::kUInt64,
                                      ColumnType::kUInt32};
  constexpr std::array kCountColumns = {ColumnType::kUInt32, ColumnType::kUInt32,
                                        ColumnType::kUInt32};
  constexpr std::array kBlockColumns = {ColumnType::kInt64, ColumnType::kUInt32, ColumnType::kInt64,
                                        ColumnType::kInt64, ColumnType::kInt64};
  TELLTALE_ASSIGN(writer->record_insert_,
                  BulkInsert::Create(*writer->connection_, "operation_record", kColumns));
  TELLTALE_ASSIGN(writer->block_insert_,
                  BulkInsert::Create(*writer->connection_, "operation_block", kBlockColumns));
  TELLTALE_ASSIGN(writer->histogram_insert_,
                  BulkInsert::Create(*writer->connection_, "operation_histogram", kCountColumns));
  TELLTALE_ASSIGN(writer->run_insert_,
                  BulkInsert::Create(*writer->connection_, "sequence_run", kRunColumns));
  return writer;
}

uint64_t StoreWriter::PendingRows(const SourceData& data) {
  return data.pending_records + 2 * data.irregular.size() + 16 * data.events.size() +
         8 * data.dump_stats.size() + 16 * data.proxy_ops.size() + 16 * data.proxy_steps.size();
}

Status StoreWriter::Add(SourceRow row, SourceData data) {
  pending_rows_ += PendingRows(data) + 1024;
  auto source = std::make_unique<Source>();
  source->row = std::move(row);
  source->data = std::move(data);
  waiting_.push_back(std::move(source));
  // Inserts of this size keep DuckDB's vectors full and let all threads end at the same time.
  constexpr uint64_t kRowsPerInsert = uint64_t{1} << 18;
  if (pending_rows_ >= std::min(kRowsPerInsert, max_pending_records_)) TELLTALE_TRY(Flush());
  constexpr uint64_t kRowsPerTransaction = uint64_t{4} << 20;
  if (uncommitted_rows_ >= kRowsPerTransaction) return Commit();
  return {};
}

Status StoreWriter::Flush() {
  if (waiting_.empty()) return {};
  std::vector<Source*> sources;
  for (const auto& source : waiting_) {
    AllocateIds(*source);
    sources.push_back(source.get());
  }
  const auto write = [&]() -> Status {
    if (!in_transaction_) TELLTALE_TRY(connection_->Run("BEGIN"));
    in_transaction_ = true;
    for (const Source* source : sources) TELLTALE_TRY(RemoveReplaced(source->row));
    TELLTALE_TRY(WriteRecords(sources));
    TELLTALE_TRY(WriteOtherRows(sources));
    return WriteDimensions(sources);
  };
  const Status status = write();
  uncommitted_rows_ += pending_rows_;
  waiting_.clear();
  pending_rows_ = 0;
  return status ? status : Rollback(status);
}

Status StoreWriter::Rollback(Status failure) {
  (void)connection_->Run("ROLLBACK");
  in_transaction_ = false;
  uncommitted_rows_ = 0;
  return failure;
}

Status StoreWriter::Commit() {
  TELLTALE_TRY(Flush());
  if (!in_transaction_) return {};
  const Status status = connection_->Run("COMMIT");
  if (!status) return Rollback(status);
  in_transaction_ = false;
  uncommitted_rows_ = 0;
  return {};
}

Status StoreWriter::Begin() {
  TELLTALE_TRY(Commit());
  large_ = std::make_unique<Source>();
  return connection_->Run("BEGIN");
}

Status StoreWriter::WritePart(SourceData& data) {
  large_->data = std::move(data);
  AllocateIds(*large_);
  Source* const source = large_.get();
  Status status = WriteRecords(std::span(&source, 1));
  if (status) status = WriteOtherRows(std::span(&source, 1));
  SourceData& kept = large_->data;
  for (Series& series : kept.series) series.records = {};
  kept.irregular = {};
  kept.events = {};
  kept.dump_stats = {};
  kept.proxy_ops = {};
  kept.proxy_steps = {};
  kept.pending_records = 0;
  data = std::move(kept);
  return status;
}

Status StoreWriter::End(SourceRow row, SourceData& data) {
  Status status = WritePart(data);
  if (status) status = RemoveReplaced(row);
  if (status) {
    large_->row = std::move(row);
    large_->data = std::move(data);
    Source* const source = large_.get();
    status = WriteDimensions(std::span(&source, 1));
  }
  if (status) status = connection_->Run("COMMIT");
  if (!status) (void)connection_->Run("ROLLBACK");
  large_.reset();
  return status;
}

void StoreWriter::Abandon() {
  if (large_ == nullptr) return;
  (void)connection_->Run("ROLLBACK");
  large_.reset();
}

// Ids for whatever of the source has none yet.
void StoreWriter::AllocateIds(Source& source) {
  if (source.id < 0) source.id = store_.NextId(Store::kSource);
  while (source.process_ids.size() < source.data.processes.size()) {
    source.process_ids.push_back(store_.NextId(Store::kProcess));
  }
  while (source.rank_ids.size() < source.data.communicator_ranks.size()) {
    source.rank_ids.push_back(store_.NextId(Store::kCommunicatorRank));
  }
  while (source.series.size() < source.data.series.size()) {
    source.series.emplace_back().id = store_.NextId(Store::kSeries);
  }
}

// Series lie in the order (communicator rank, kind, operation, size …), each by sequence number.
Status StoreWriter::WriteRecords(std::span<Source* const> sources) {
  std::vector<BlockRecords> blocks;
  std::vector<TimeCount> counts;
  TimeCounter counter;
  for (Source* source : sources) {
    std::vector<size_t> order(source->data.series.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const SeriesKey& left = source->data.series[a].key;
      const SeriesKey& right = source->data.series[b].key;
      return std::tie(left.communicator_rank, left.kind, left.operation, left.message_bytes, a) <
             std::tie(right.communicator_rank, right.kind, right.operation, right.message_bytes, b);
    });
    source->layout.Allow(source->data.pending_records);
    for (const size_t i : order) {
      std::vector<Record>& records = source->data.series[i].records;
      if (records.empty()) continue;
      SeriesState& state = source->series[i];
      SortRecords(records);
      state.totals.Add(records);
      counter.Append(static_cast<uint32_t>(state.id), records, &Record::exec_time_us, counts);
      source->layout.Add(records, state, blocks);
    }
  }
  if (blocks.empty()) return {};
  TELLTALE_TRY(InsertTimeCounts(*histogram_insert_, counts));

  size_t current = 0;
  const Record* next = blocks[0].begin;
  TELLTALE_TRY(record_insert_->Insert([&](std::span<void* const> columns, size_t capacity) {
    auto* block = static_cast<int64_t*>(columns[0]);
    auto* exec_time_us = static_cast<uint32_t*>(columns[1]);
    auto* sequence_key = static_cast<uint32_t*>(columns[2]);
    auto* timestamp_key = static_cast<uint32_t*>(columns[3]);
    auto* line_key = static_cast<uint32_t*>(columns[4]);
    size_t rows = 0;
    while (rows < capacity && current < blocks.size()) {
      const BlockRecords& from = blocks[current];
      const size_t count = std::min(capacity - rows, static_cast<size_t>(from.end - next));
      for (size_t i = rows; i < rows + count; ++i, ++next) {
        block[i] = from.block.block;
        exec_time_us[i] = next->exec_time_us;
        sequence_key[i] = static_cast<uint32_t>(next->sequence - from.block.sequence_offset);
        timestamp_key[i] =
            static_cast<uint32_t>(next->dump_timestamp_us - from.block.timestamp_offset_us);
        line_key[i] = static_cast<uint32_t>(next->line - from.block.line_offset);
      }
      rows += count;
      if (next == from.end && ++current < blocks.size()) next = blocks[current].begin;
    }
    return rows;
  }));
  return block_insert_->InsertRows(
      blocks.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
        const Block& block = blocks[i].block;
        static_cast<int64_t*>(columns[0])[at] = block.block;
        static_cast<uint32_t*>(columns[1])[at] = static_cast<uint32_t>(block.series);
        static_cast<int64_t*>(columns[2])[at] = block.sequence_offset;
        static_cast<int64_t*>(columns[3])[at] = block.timestamp_offset_us;
        static_cast<int64_t*>(columns[4])[at] = block.line_offset;
      });
}

namespace {

template <typename Values>
void AddCells(std::vector<Cell>& row, const Values& values) {
  for (const auto& value : values) row.push_back(ToCell(value));
}

}  // namespace

Status StoreWriter::WriteOtherRows(std::span<Source* const> sources) {
  LazyAppender irregular(*connection_, "operation_record_irregular");
  LazyAppender operation_event(*connection_, "operation_event");
  LazyAppender kernel_event(*connection_, "kernel_event");
  LazyAppender dump_stats(*connection_, "dump_stats");
  LazyAppender proxy_op(*connection_, "proxy_op");
  LazyAppender proxy_step(*connection_, "proxy_step");
  std::vector<Cell> row;
  for (Source* source : sources) {
    for (const IrregularRecord& record : source->data.irregular) {
      SeriesTotals& totals = source->series[record.series].totals;
      ++totals.irregular;
      totals.zero_times += record.exec_time_us == 0 ? 1 : 0;
      TELLTALE_TRY(
          irregular.Append({Number(source->series[record.series].id), ToCell(record.sequence),
                            ToCell(record.message_bytes), ToCell(record.exec_time_us),
                            ToCell(record.dump_timestamp_us), Unsigned(record.line),
                            ToCell(record.algobw_gbs), ToCell(record.busbw_gbs)}));
    }
    for (const OperationEvents& events : source->data.events) {
      const Cell series = Number(source->series[events.series].id);
      TELLTALE_TRY(operation_event.Append({series, ToCell(events.sequence), Unsigned(events.line),
                                           ToCell(events.start_sn), ToCell(events.stop_sn),
                                           ToCell(events.start_us), ToCell(events.stop_us)}));
      for (size_t i = 0; i < events.kernels.size(); ++i) {
        const KernelEvent& kernel = events.kernels[i];
        TELLTALE_TRY(kernel_event.Append({series, ToCell(events.sequence), Unsigned(events.line),
                                          Unsigned(i), ToCell(kernel.channel),
                                          ToCell(kernel.start_sn), ToCell(kernel.stop_sn),
                                          ToCell(kernel.record_sn), ToCell(kernel.start_us),
                                          ToCell(kernel.stop_us), ToCell(kernel.record_us)}));
      }
    }
    for (const DumpStats& stats : source->data.dump_stats) {
      row = {Number(source->id), Number(source->rank_ids[stats.communicator_rank]),
             Unsigned(stats.line), ToCell(stats.dump_timestamp_us)};
      AddCells(row, stats.counters);
      row.push_back(ToCell(stats.proxy_output_mode));
      TELLTALE_TRY(dump_stats.Append(row));
    }
    for (const ProxyOp& op : source->data.proxy_ops) {
      row = {Number(source->id),   Number(source->rank_ids[op.communicator_rank]),
             Unsigned(op.line),    ToCell(op.dump_timestamp_us),
             op.record_type,       ToCell(op.parent_type),
             ToCell(op.direction), ToCell(op.timing_source),
             ToCell(op.is_final),  ToCell(op.op_bw_gbs)};
      AddCells(row, op.numbers);
      AddCells(row, op.sn);
      AddCells(row, op.us);
      TELLTALE_TRY(proxy_op.Append(row));
    }
    for (const ProxyStep& step : source->data.proxy_steps) {
      row = {Number(source->id),       Number(source->rank_ids[step.communicator_rank]),
             Unsigned(step.line),      Unsigned(step.position),
             ToCell(step.proxy_op_sn), ToCell(step.direction),
             ToCell(step.peer),        ToCell(step.channel)};
      AddCells(row, step.numbers);
      AddCells(row, step.sn);
      AddCells(row, step.us);
      TELLTALE_TRY(proxy_step.Append(row));
    }
  }
  for (LazyAppender* appender :
       {&irregular, &operation_event, &kernel_event, &dump_stats, &proxy_op, &proxy_step}) {
    TELLTALE_TRY(appender->Close());
  }
  return {};
}

namespace {

// Oddities that show only once the totals of a series are known.
struct SeriesNote {
  const LossKind* kind;
  uint64_t count;
};
std::vector<SeriesNote> NotesOf(const SeriesKey& key, uint64_t operations, uint64_t zero_times,
                                uint64_t duplicates) {
  std::vector<SeriesNote> notes;
  constexpr uint64_t kNoSize = uint64_t{1} << 63;
  if (key.operation == "Invalid") notes.push_back({&kInvalidOperation, operations});
  if (key.message_bytes && *key.message_bytes >= kNoSize) {
    notes.push_back({&kUnknownDataType, operations});
  }
  if (zero_times > 0) notes.push_back({&kZeroTime, zero_times});
  if (duplicates > 0) notes.push_back({&kDuplicateRecord, duplicates});
  return notes;
}

}  // namespace

namespace {

Status WriteRuns(BulkInsert& insert, const std::vector<std::pair<uint32_t, SequenceRun>>& runs) {
  return insert.InsertRows(runs.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
    static_cast<uint32_t*>(columns[0])[at] = runs[i].first;
    static_cast<uint64_t*>(columns[1])[at] = runs[i].second.first;
    static_cast<uint64_t*>(columns[2])[at] = runs[i].second.last;
    static_cast<uint32_t*>(columns[3])[at] = runs[i].second.after_full_ring ? 1 : 0;
  });
}

}  // namespace

Status StoreWriter::WriteDimensions(std::span<Source* const> sources) {
  LazyAppender source_table(*connection_, "source");
  LazyAppender process_table(*connection_, "process");
  LazyAppender rank_table(*connection_, "communicator_rank");
  LazyAppender series_table(*connection_, "operation_series");
  LazyAppender counter_table(*connection_, "operation_counter");
  std::vector<std::pair<uint32_t, SequenceRun>> runs;  // with their counters
  LazyAppender loss_table(*connection_, "ingest_loss");
  for (Source* source : sources) {
    const SourceData& data = source->data;
    const Cell id = Number(source->id);
    int64_t first_us = std::numeric_limits<int64_t>::max();
    int64_t last_us = std::numeric_limits<int64_t>::min();

    const auto add_loss = [&](const LossKind& kind, uint64_t count, uint64_t first,
                              const Cell& rank, const std::string& operation,
                              const std::string& detail) {
      return loss_table.Append({Number(source->row.run), id, rank, Cell(), TextOrNull(operation),
                                std::string(LossClassName(kind.loss_class)), std::string(kind.name),
                                Unsigned(count), Unsigned(first), TextOrNull(detail), false});
    };
    for (const Loss& loss : data.losses) {
      const Cell rank =
          loss.communicator_rank ? Number(source->rank_ids[*loss.communicator_rank]) : Cell();
      TELLTALE_TRY(add_loss(*loss.kind, loss.count, loss.first_position, rank, "", loss.detail));
    }
    for (size_t i = 0; i < data.processes.size(); ++i) {
      const ProcessKey& process = data.processes[i];
      TELLTALE_TRY(
          process_table.Append({Number(source->process_ids[i]), id, ToCell(process.host),
                                ToCell(process.pid), ToCell(process.git_rev),
                                ToCell(process.rec_mechanism), ToCell(process.format_version)}));
    }
    for (size_t i = 0; i < data.communicator_ranks.size(); ++i) {
      const CommunicatorRankKey& rank = data.communicator_ranks[i];
      TELLTALE_TRY(rank_table.Append({Number(source->rank_ids[i]), id,
                                      Number(source->process_ids[rank.process]), Cell(), rank.id,
                                      ToCell(rank.name), Number(rank.rank), Number(rank.n_ranks),
                                      ToCell(rank.nnodes)}));
    }
    for (size_t i = 0; i < data.series.size(); ++i) {
      const SeriesKey& key = data.series[i].key;
      const SeriesState& state = source->series[i];
      const SeriesTotals& totals = state.totals;
      const bool any = totals.operations > 0;
      const auto if_any = [&](Cell cell) { return any ? std::move(cell) : Cell(); };
      if (any) {
        first_us = std::min(first_us, totals.first_timestamp_us);
        last_us = std::max(last_us, totals.last_timestamp_us);
      }
      const Cell rank = Number(source->rank_ids[key.communicator_rank]);
      TELLTALE_TRY(series_table.Append({Number(state.id),
                                        id,
                                        rank,
                                        std::string(KindName(key.kind)),
                                        key.operation,
                                        ToCell(key.peer),
                                        ToCell(key.message_bytes),
                                        ToCell(key.algorithm),
                                        ToCell(key.protocol),
                                        ToCell(key.timing_source),
                                        data.series[i].traffic_bytes,
                                        data.series[i].bus_factor,
                                        Unsigned(totals.operations),
                                        Unsigned(totals.exec_time_us_sum),
                                        if_any(totals.exec_time_us_min),
                                        if_any(totals.exec_time_us_max),
                                        if_any(totals.first_sequence),
                                        if_any(totals.last_sequence),
                                        if_any(totals.first_timestamp_us),
                                        if_any(totals.last_timestamp_us)}));
      for (const SeriesNote& note : NotesOf(key, totals.operations + totals.irregular,
                                            totals.zero_times, totals.duplicates)) {
        TELLTALE_TRY(add_loss(*note.kind, note.count, any ? totals.first_sequence : 0, rank,
                              key.operation, ""));
      }
    }
    const bool sampled = IsSampledProducer(data);
    for (const SequenceTracker& tracker : data.trackers) {
      if (tracker.records == 0) continue;
      const Cell rank = Number(source->rank_ids[tracker.communicator_rank]);
      const Cell kind = std::string(KindName(tracker.kind));
      const bool runs_known = !sampled && !tracker.too_many_runs;
      const int64_t counter = store_.NextId(Store::kCounter);
      TELLTALE_TRY(counter_table.Append({Number(counter), id, rank, kind,
                                         TextOrNull(tracker.operation), Unsigned(tracker.records),
                                         Unsigned(tracker.Highest()), runs_known}));
      if (!runs_known) continue;
      for (const SequenceRun& run : tracker.runs) {
        runs.emplace_back(static_cast<uint32_t>(counter), run);
      }
    }
    const SourceRow& row = source->row;
    TELLTALE_TRY(source_table.Append(
        {id, Number(row.run), row.path, std::string("nccl_inspector"),
         TextOrNull(row.format_version), row.compression, Unsigned(row.size_bytes),
         Unsigned(row.expanded_bytes), row.fingerprint, Unsigned(data.lines), Unsigned(data.rows),
         first_us > last_us ? Cell() : Number(first_us),
         first_us > last_us ? Cell() : Number(last_us), TextOrNull(row.damage), Cell()}));
  }
  for (LazyAppender* appender :
       {&source_table, &process_table, &rank_table, &series_table, &counter_table, &loss_table}) {
    TELLTALE_TRY(appender->Close());
  }
  TELLTALE_TRY(WriteRuns(*run_insert_, runs));
  return connection_->Run(
      "UPDATE source SET ingested_at = now()::TIMESTAMP WHERE ingested_at IS NULL");
}

Status StoreWriter::RemoveReplaced(const SourceRow& row) {
  if (row.replaces < 0) return {};
  const std::array<Cell, 1> source = {Number(row.replaces)};
  TELLTALE_TRY(
      connection_->Run("DELETE FROM operation_record WHERE block >> 16 IN "
                       "(SELECT series FROM operation_series WHERE source = $1)",
                       source));
  for (const char* table : {"operation_block", "operation_histogram", "operation_record_irregular",
                            "operation_event", "kernel_event"}) {
    TELLTALE_TRY(connection_->Run(fmt::format("DELETE FROM {} WHERE series IN (SELECT series FROM "
                                              "operation_series WHERE source = $1)",
                                              table),
                                  source));
  }
  TELLTALE_TRY(
      connection_->Run("DELETE FROM sequence_run WHERE counter IN "
                       "(SELECT counter FROM operation_counter WHERE source = $1)",
                       source));
  for (const char* table :
       {"dump_stats", "proxy_op", "proxy_step", "operation_series", "operation_counter",
        "communicator_rank", "process", "ingest_loss", "source"}) {
    TELLTALE_TRY(connection_->Run(fmt::format("DELETE FROM {} WHERE source = $1", table), source));
  }
  return {};
}

}  // namespace telltale::nccl_inspector
