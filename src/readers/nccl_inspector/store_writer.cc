#include "readers/nccl_inspector/store_writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/source_writer.h"
#include "store/transaction.h"

namespace telltale::nccl_inspector {
namespace {

template <typename T>
Cell ToCell(const std::optional<T>& value) {
  return value ? Cell(*value) : Cell();
}
Cell Number(int64_t value) { return value; }
Cell Unsigned(uint64_t value) { return value; }

const char* KindName(OperationKind kind) {
  return kind == OperationKind::kP2p ? "p2p" : "collective";
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
  constexpr std::array kRunColumns = {ColumnType::kUInt32, ColumnType::kUInt64, ColumnType::kUInt64,
                                      ColumnType::kUInt32};
  TELLTALE_ASSIGN(writer->records_, RecordWriter::Create(*writer->connection_));
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
  constexpr uint64_t kRowsPerInsert = uint64_t{1} << 17;
  if (pending_rows_ >= std::min(kRowsPerInsert, max_pending_records_)) TELLTALE_TRY(Flush());
  constexpr uint64_t kRowsPerTransaction = uint64_t{4} << 20;
  if (uncommitted_rows_ >= kRowsPerTransaction) return Commit();
  return {};
}

Status StoreWriter::Flush() {
  if (waiting_.empty()) return {};
  const Status status = WriteWaiting();
  uncommitted_rows_ += pending_rows_;
  pending_rows_ = 0;
  if (!status) return Rollback(status);
  for (std::unique_ptr<Source>& source : waiting_) {
    DropRows(source->data);
    written_dimensions_ += Dimensions(source->data);
    written_.push_back(std::move(source));
  }
  waiting_.clear();
  // What is said once waits for the end of the transaction, unless there is much of it.
  constexpr uint64_t kMostDimensions = uint64_t{1} << 17;
  if (written_dimensions_ < kMostDimensions) return {};
  const Status dimensions = WriteWritten();
  return dimensions ? dimensions : Rollback(dimensions);
}

Status StoreWriter::OpenTransaction() {
  if (in_transaction_) return {};
  TELLTALE_TRY(connection_->Run("BEGIN"));
  in_transaction_ = true;
  return {};
}

Status StoreWriter::WriteWaiting() {
  TELLTALE_TRY(OpenTransaction());
  for (const auto& source : waiting_) {
    AllocateIds(*source);
    TELLTALE_TRY(RemoveReplaced(source->row));
    AddRecords(*source);
  }
  TELLTALE_TRY(records_->Insert());
  return WriteOtherRows(waiting_);
}

// Dimensions of all sources whose rows are written.
Status StoreWriter::WriteWritten() {
  written_dimensions_ = 0;
  if (written_.empty()) return {};
  Status status = WriteDimensions(written_);
  written_.clear();
  return status;
}

Status StoreWriter::Rollback(Status failure) {
  (void)connection_->Run("ROLLBACK");
  in_transaction_ = false;
  uncommitted_rows_ = 0;
  records_->Discard();
  waiting_.clear();
  written_.clear();
  written_dimensions_ = 0;
  return failure;
}

Status StoreWriter::Commit() {
  TELLTALE_TRY(Flush());
  if (!in_transaction_) return {};
  Status status = records_->Finish();
  if (status) status = WriteWritten();
  if (status) status = connection_->Run("COMMIT");
  if (!status) return Rollback(status);
  in_transaction_ = false;
  uncommitted_rows_ = 0;
  return {};
}

Status StoreWriter::Begin() {
  TELLTALE_TRY(Commit());
  large_ = std::make_unique<Source>();
  return OpenTransaction();
}

Status StoreWriter::WritePart(SourceData& data) {
  large_->data = std::move(data);
  AllocateIds(*large_);
  AddRecords(*large_);
  Status status = records_->Insert();
  if (status) status = WriteOtherRows(std::span(&large_, 1));
  DropRows(large_->data);
  data = std::move(large_->data);
  return status;
}

Status StoreWriter::End(SourceRow row, SourceData& data) {
  Status status = WritePart(data);
  if (status) status = RemoveReplaced(row);
  if (!status) {
    Abandon();
    return status;
  }
  large_->row = std::move(row);
  large_->data = std::move(data);
  written_.push_back(std::move(large_));
  return Commit();
}

void StoreWriter::Abandon() {
  if (large_ == nullptr) return;
  (void)Rollback({});
  large_.reset();
}

// Leaves what is said once.
void StoreWriter::DropRows(SourceData& data) {
  for (Series& series : data.series) pool_.Put(std::exchange(series.records, {}));
  data.irregular = {};
  data.events = {};
  data.dump_stats = {};
  data.proxy_ops = {};
  data.proxy_steps = {};
  data.pending_records = 0;
}

// How much of it there is.
uint64_t StoreWriter::Dimensions(const SourceData& data) {
  uint64_t count = 1 + data.processes.size() + data.communicator_ranks.size() +
                   8 * data.series.size() + data.losses.size();
  for (const SequenceTracker& tracker : data.trackers) count += 1 + tracker.runs.size();
  return count;
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

void StoreWriter::AddRecords(Source& source) {
  records_->Add({source.data, source.series, source.layout});
}

namespace {

template <typename Values>
void AddCells(std::vector<Cell>& row, const Values& values) {
  for (const auto& value : values) row.push_back(ToCell(value));
}

}  // namespace

Status StoreWriter::WriteOtherRows(std::span<const std::unique_ptr<Source>> sources) {
  LazyAppender irregular(*connection_, "operation_record_irregular");
  LazyAppender operation_event(*connection_, "operation_event");
  LazyAppender kernel_event(*connection_, "kernel_event");
  LazyAppender dump_stats(*connection_, "dump_stats");
  LazyAppender proxy_op(*connection_, "proxy_op");
  LazyAppender proxy_step(*connection_, "proxy_step");
  std::vector<Cell> row;
  for (const std::unique_ptr<Source>& source : sources) {
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

Status StoreWriter::WriteDimensions(std::span<const std::unique_ptr<Source>> sources) {
  LazyAppender source_table(*connection_, "source");
  LazyAppender process_table(*connection_, "process");
  LazyAppender rank_table(*connection_, "communicator_rank");
  LazyAppender series_table(*connection_, "operation_series");
  LazyAppender counter_table(*connection_, "operation_counter");
  std::vector<std::pair<uint32_t, SequenceRun>> runs;  // with their counters
  LazyAppender loss_table(*connection_, "ingest_loss");
  for (const std::unique_ptr<Source>& source : sources) {
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

Status StoreWriter::Remove(int64_t source) {
  TELLTALE_TRY(Commit());
  return InTransaction(*connection_, [&] { return RemoveRows(source); });
}

Status StoreWriter::RemoveReplaced(const SourceRow& row) {
  return row.replaces < 0 ? Status() : RemoveRows(row.replaces);
}

Status StoreWriter::RemoveRows(int64_t removed) {
  const std::array<Cell, 1> source = {Number(removed)};
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
