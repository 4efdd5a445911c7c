#include "readers/nccl_inspector/store_writer.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "readers/nccl_inspector/loss_kinds.h"

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

  void Add(const Record& record) {
    ++operations;
    exec_time_us_sum += record.exec_time_us;
    exec_time_us_min = std::min<uint64_t>(exec_time_us_min, record.exec_time_us);
    exec_time_us_max = std::max<uint64_t>(exec_time_us_max, record.exec_time_us);
    first_sequence = std::min<uint64_t>(first_sequence, record.sequence);
    last_sequence = std::max<uint64_t>(last_sequence, record.sequence);
    first_timestamp_us = std::min(first_timestamp_us, record.dump_timestamp_us);
    last_timestamp_us = std::max(last_timestamp_us, record.dump_timestamp_us);
    zero_times += record.exec_time_us == 0 ? 1 : 0;
  }
};

struct SeriesState {
  int64_t id = -1;
  int64_t ordinal_base = 0;
  bool has_base = false;
  SeriesTotals totals;
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
  const bool all_v40 = std::all_of(data.processes.begin(), data.processes.end(), [](const auto& p) {
    return p.format_version == "v4.0";
  });
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
  int64_t next_ordinal = 0;
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
  constexpr std::array kColumns = {ColumnType::kUInt32, ColumnType::kInt64, ColumnType::kUInt32,
                                   ColumnType::kInt64, ColumnType::kUInt32};
  TELLTALE_ASSIGN(writer->bulk_,
                  BulkInsert::Create(*writer->connection_, "operation_record", kColumns));
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
  if (pending_rows_ >= max_pending_records_) return Commit();
  return {};
}

Status StoreWriter::Commit() {
  if (waiting_.empty()) return {};
  std::vector<Source*> sources;
  for (const auto& source : waiting_) {
    AllocateIds(*source);
    sources.push_back(source.get());
  }
  const auto write = [&]() -> Status {
    TELLTALE_TRY(connection_->Run("BEGIN"));
    for (const Source* source : sources) TELLTALE_TRY(RemoveReplaced(source->row));
    TELLTALE_TRY(WriteRecords(sources));
    TELLTALE_TRY(WriteOtherRows(sources));
    TELLTALE_TRY(WriteDimensions(sources));
    return connection_->Run("COMMIT");
  };
  Status status = write();
  if (!status) (void)connection_->Run("ROLLBACK");
  waiting_.clear();
  pending_rows_ = 0;
  return status;
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

// Series lie in the order (communicator rank, kind, operation, size …), each by sequence number. The
// ordinal base of each continues where the one before ended, so that ordinals rise by 1 throughout and
// DuckDB stores them in next to nothing.
Status StoreWriter::WriteRecords(std::span<Source* const> sources) {
  struct Run {
    const std::vector<Record>* records;
    int64_t ordinal_base;
    uint32_t series;
  };
  std::vector<Run> runs;
  for (Source* source : sources) {
    std::vector<size_t> order(source->data.series.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const SeriesKey& left = source->data.series[a].key;
      const SeriesKey& right = source->data.series[b].key;
      return std::tie(left.communicator_rank, left.kind, left.operation, left.message_bytes, a) <
             std::tie(right.communicator_rank, right.kind, right.operation, right.message_bytes, b);
    });
    for (const size_t i : order) {
      Series& series = source->data.series[i];
      SeriesState& state = source->series[i];
      if (series.records.empty()) continue;
      SortRecords(series.records);
      for (size_t k = 0; k < series.records.size(); ++k) {
        state.totals.Add(series.records[k]);
        if (k > 0 && series.records[k].sequence == series.records[k - 1].sequence) {
          ++state.totals.duplicates;
        }
      }
      if (!state.has_base) {
        state.ordinal_base = source->next_ordinal - series.records.front().sequence;
        state.has_base = true;
      }
      source->next_ordinal = std::max(
          source->next_ordinal, state.ordinal_base + series.records.back().sequence + 1);
      runs.push_back({&series.records, state.ordinal_base, static_cast<uint32_t>(state.id)});
    }
  }
  if (runs.empty()) return {};

  size_t run = 0;
  size_t position = 0;
  return bulk_->Insert([&](std::span<void* const> columns, size_t capacity) {
    auto* series = static_cast<uint32_t*>(columns[0]);
    auto* ordinal = static_cast<int64_t*>(columns[1]);
    auto* exec_time_us = static_cast<uint32_t*>(columns[2]);
    auto* dump_timestamp_us = static_cast<int64_t*>(columns[3]);
    auto* line = static_cast<uint32_t*>(columns[4]);
    size_t rows = 0;
    while (rows < capacity && run < runs.size()) {
      const Run& from = runs[run];
      const size_t count = std::min(capacity - rows, from.records->size() - position);
      const Record* record = from.records->data() + position;
      for (size_t i = 0; i < count; ++i, ++record) {
        series[rows + i] = from.series;
        ordinal[rows + i] = from.ordinal_base + record->sequence;
        exec_time_us[rows + i] = record->exec_time_us;
        dump_timestamp_us[rows + i] = record->dump_timestamp_us;
        line[rows + i] = record->line;
      }
      rows += count;
      position += count;
      if (position == from.records->size()) {
        ++run;
        position = 0;
      }
    }
    return rows;
  });
}

namespace {

// Opens the appender of a table at its first row.
class LazyAppender {
 public:
  LazyAppender(Connection& connection, const char* table) : connection_(connection), table_(table) {}
  Status Append(std::span<const Cell> row) {
    if (appender_ == nullptr) {
      TELLTALE_ASSIGN(appender_, RowAppender::Create(connection_, table_));
    }
    return appender_->Append(row);
  }
  Status Append(std::initializer_list<Cell> row) {
    return Append(std::span<const Cell>(row.begin(), row.size()));
  }
  Status Close() {
    if (appender_ == nullptr) return {};
    const Status status = appender_->Close();
    if (!status) return tl::unexpected(status.error().Within(table_));
    return {};
  }

 private:
  Connection& connection_;
  const char* table_;
  std::unique_ptr<RowAppender> appender_;
};

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
      TELLTALE_TRY(irregular.Append(
          {Number(source->series[record.series].id), ToCell(record.sequence),
           ToCell(record.message_bytes), ToCell(record.exec_time_us),
           ToCell(record.dump_timestamp_us), Unsigned(record.line), ToCell(record.algobw_gbs),
           ToCell(record.busbw_gbs)}));
    }
    for (const OperationEvents& events : source->data.events) {
      const Cell series = Number(source->series[events.series].id);
      TELLTALE_TRY(operation_event.Append({series, ToCell(events.sequence), Unsigned(events.line),
                                           ToCell(events.start_sn), ToCell(events.stop_sn),
                                           ToCell(events.start_us), ToCell(events.stop_us)}));
      for (size_t i = 0; i < events.kernels.size(); ++i) {
        const KernelEvent& kernel = events.kernels[i];
        TELLTALE_TRY(kernel_event.Append(
            {series, ToCell(events.sequence), Unsigned(events.line), Unsigned(i),
             ToCell(kernel.channel), ToCell(kernel.start_sn), ToCell(kernel.stop_sn),
             ToCell(kernel.record_sn), ToCell(kernel.start_us), ToCell(kernel.stop_us),
             ToCell(kernel.record_us)}));
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
      row = {Number(source->id),           Number(source->rank_ids[op.communicator_rank]),
             Unsigned(op.line),            ToCell(op.dump_timestamp_us),
             op.record_type,               ToCell(op.parent_type),
             ToCell(op.direction),         ToCell(op.timing_source),
             ToCell(op.is_final),          ToCell(op.op_bw_gbs)};
      AddCells(row, op.numbers);
      AddCells(row, op.sn);
      AddCells(row, op.us);
      TELLTALE_TRY(proxy_op.Append(row));
    }
    for (const ProxyStep& step : source->data.proxy_steps) {
      row = {Number(source->id),         Number(source->rank_ids[step.communicator_rank]),
             Unsigned(step.line),        Unsigned(step.position),
             ToCell(step.proxy_op_sn),   ToCell(step.direction),
             ToCell(step.peer),          ToCell(step.channel)};
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

Status StoreWriter::WriteDimensions(std::span<Source* const> sources) {
  LazyAppender source_table(*connection_, "source");
  LazyAppender process_table(*connection_, "process");
  LazyAppender rank_table(*connection_, "communicator_rank");
  LazyAppender series_table(*connection_, "operation_series");
  LazyAppender counter_table(*connection_, "operation_counter");
  LazyAppender run_table(*connection_, "sequence_run");
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
      const Cell rank = loss.communicator_rank
                            ? Number(source->rank_ids[*loss.communicator_rank])
                            : Cell();
      TELLTALE_TRY(add_loss(*loss.kind, loss.count, loss.first_position, rank, "", loss.detail));
    }
    for (size_t i = 0; i < data.processes.size(); ++i) {
      const ProcessKey& process = data.processes[i];
      TELLTALE_TRY(process_table.Append({Number(source->process_ids[i]), id, ToCell(process.host),
                                         ToCell(process.pid), ToCell(process.git_rev),
                                         ToCell(process.rec_mechanism),
                                         ToCell(process.format_version)}));
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
      TELLTALE_TRY(series_table.Append(
          {Number(state.id), id, rank, std::string(KindName(key.kind)), key.operation,
           ToCell(key.peer), ToCell(key.message_bytes), ToCell(key.algorithm),
           ToCell(key.protocol), ToCell(key.timing_source), data.series[i].traffic_bytes,
           data.series[i].bus_factor, Number(state.ordinal_base), Unsigned(totals.operations),
           Unsigned(totals.exec_time_us_sum), if_any(totals.exec_time_us_min),
           if_any(totals.exec_time_us_max), if_any(totals.first_sequence),
           if_any(totals.last_sequence), if_any(totals.first_timestamp_us),
           if_any(totals.last_timestamp_us)}));
      for (const SeriesNote& note :
           NotesOf(key, totals.operations + totals.irregular, totals.zero_times,
                   totals.duplicates)) {
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
      TELLTALE_TRY(counter_table.Append({id, rank, kind, TextOrNull(tracker.operation),
                                         Unsigned(tracker.records), Unsigned(tracker.Highest()),
                                         runs_known}));
      if (!runs_known) continue;
      for (const SequenceRun& run : tracker.runs) {
        TELLTALE_TRY(run_table.Append({id, rank, kind, TextOrNull(tracker.operation),
                                       Unsigned(run.first), Unsigned(run.last), run.starts_dump}));
      }
    }
    const SourceRow& row = source->row;
    TELLTALE_TRY(source_table.Append(
        {id, Number(row.run), row.path, std::string("nccl_inspector"), TextOrNull(row.format_version),
         row.compression, Unsigned(row.size_bytes), Unsigned(row.expanded_bytes), row.fingerprint,
         Unsigned(data.lines), Unsigned(data.rows), first_us > last_us ? Cell() : Number(first_us),
         first_us > last_us ? Cell() : Number(last_us), TextOrNull(row.damage), Cell()}));
  }
  for (LazyAppender* appender : {&source_table, &process_table, &rank_table, &series_table,
                                 &counter_table, &run_table, &loss_table}) {
    TELLTALE_TRY(appender->Close());
  }
  return connection_->Run(
      "UPDATE source SET ingested_at = now()::TIMESTAMP WHERE ingested_at IS NULL");
}

Status StoreWriter::RemoveReplaced(const SourceRow& row) {
  if (row.replaces < 0) return {};
  const std::array<Cell, 1> source = {Number(row.replaces)};
  for (const char* table : {"operation_record", "operation_record_irregular", "operation_event",
                            "kernel_event"}) {
    TELLTALE_TRY(connection_->Run(
        fmt::format("DELETE FROM {} WHERE series IN (SELECT series FROM operation_series WHERE source = $1)",
                    table),
        source));
  }
  for (const char* table : {"dump_stats", "proxy_op", "proxy_step", "operation_series",
                            "operation_counter", "sequence_run", "communicator_rank", "process",
                            "ingest_loss", "source"}) {
    TELLTALE_TRY(connection_->Run(fmt::format("DELETE FROM {} WHERE source = $1", table), source));
  }
  return {};
}

}  // namespace telltale::nccl_inspector
