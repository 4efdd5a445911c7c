#include "readers/nccl_inspector/record_writer.h"

#include <array>
#include <numeric>
#include <tuple>

#include "readers/nccl_inspector/source_builder.h"

namespace telltale::nccl_inspector {
namespace {

// By sequence number, as the plugin writes them nearly always; lines decide between equal ones.
void SortRecords(std::vector<Record>& records) {
  const auto before = [](const Record& a, const Record& b) {
    return a.sequence != b.sequence ? a.sequence < b.sequence : a.line < b.line;
  };
  if (!std::is_sorted(records.begin(), records.end(), before)) {
    std::sort(records.begin(), records.end(), before);
  }
}

std::vector<size_t> SeriesInOrder(const SourceData& data) {
  std::vector<size_t> order(data.series.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const SeriesKey& left = data.series[a].key;
    const SeriesKey& right = data.series[b].key;
    return std::tie(left.communicator_rank, left.kind, left.operation, left.message_bytes, a) <
           std::tie(right.communicator_rank, right.kind, right.operation, right.message_bytes, b);
  });
  return order;
}

// Columns of operation_record while they are put.
struct RecordColumns {
  int64_t* block;
  uint32_t* exec_time_us;
  uint32_t* sequence_key;
  uint32_t* timestamp_key;
  uint32_t* line_key;

  explicit RecordColumns(std::span<void* const> columns)
      : block(static_cast<int64_t*>(columns[0])),
        exec_time_us(static_cast<uint32_t*>(columns[1])),
        sequence_key(static_cast<uint32_t*>(columns[2])),
        timestamp_key(static_cast<uint32_t*>(columns[3])),
        line_key(static_cast<uint32_t*>(columns[4])) {}

  void Put(size_t at, const Block& of, const Record& record) const {
    block[at] = of.block;
    exec_time_us[at] = record.exec_time_us;
    sequence_key[at] = static_cast<uint32_t>(record.sequence - of.sequence_offset);
    timestamp_key[at] = static_cast<uint32_t>(record.dump_timestamp_us - of.timestamp_offset_us);
    line_key[at] = static_cast<uint32_t>(record.line - of.line_offset);
  }
};

}  // namespace

Result<std::unique_ptr<RecordWriter>> RecordWriter::Create(Connection& connection) {
  constexpr std::array kRecordColumns = {ColumnType::kInt64, ColumnType::kUInt32,
                                         ColumnType::kUInt32, ColumnType::kUInt32,
                                         ColumnType::kUInt32};
  constexpr std::array kBlockColumns = {ColumnType::kInt64, ColumnType::kUInt32, ColumnType::kInt64,
                                        ColumnType::kInt64, ColumnType::kInt64};
  constexpr std::array kCountColumns = {ColumnType::kUInt32, ColumnType::kUInt32,
                                        ColumnType::kUInt32};
  std::unique_ptr<RecordWriter> writer(new RecordWriter());
  TELLTALE_ASSIGN(writer->record_insert_,
                  BulkInsert::Create(connection, "operation_record", kRecordColumns,
                                     "c0, {'exec_time_us': c1, 'sequence_key': c2, "
                                     "'timestamp_key': c3, 'line_key': c4}"));
  TELLTALE_ASSIGN(writer->block_insert_,
                  BulkInsert::Create(connection, "operation_block", kBlockColumns));
  TELLTALE_ASSIGN(writer->histogram_insert_,
                  BulkInsert::Create(connection, "operation_histogram", kCountColumns));
  return writer;
}

void RecordWriter::Add(SourceRecords source) {
  source.layout.Allow(source.data.pending_records);
  for (const size_t i : SeriesInOrder(source.data)) {
    std::vector<Record>& records = source.data.series[i].records;
    if (records.empty()) continue;
    SeriesState& state = source.series[i];
    SortRecords(records);
    const size_t first_block = waiting_.size();
    const size_t fitting = source.layout.Add(records, state, waiting_);
    for (size_t k = fitting; k < records.size(); ++k) {
      source.data.irregular.push_back(StoredWhole(static_cast<uint32_t>(i), source.data.series[i],
                                                  records[k], records[k].line));
    }
    records.resize(fitting);
    if (records.empty()) continue;
    state.totals.Add(records);
    counter_.Append(static_cast<uint32_t>(state.id), records, &Record::exec_time_us, counts_);
    for (size_t k = first_block; k < waiting_.size(); ++k) blocks_.push_back(waiting_[k].block);
    waiting_rows_ += records.size();
  }
}

Status RecordWriter::Insert() {
  const size_t vector_rows = BulkInsert::VectorRows();
  TELLTALE_TRY(InsertRecords(waiting_rows_ / vector_rows * vector_rows));
  // Rows of their own are inserted when there are enough for a statement to be worth it.
  constexpr size_t kRowsPerInsert = size_t{1} << 17;
  if (blocks_.size() + counts_.size() < kRowsPerInsert) return {};
  return InsertBlocks();
}

Status RecordWriter::Finish() {
  TELLTALE_TRY(InsertRecords(waiting_rows_));
  return InsertBlocks();
}

void RecordWriter::Discard() {
  counts_.clear();
  blocks_.clear();
  waiting_.clear();
  kept_.clear();
  waiting_rows_ = 0;
}

// The first `rows` of those that wait; the others are kept without their source.
Status RecordWriter::InsertRecords(size_t rows) {
  if (waiting_.empty()) return {};
  size_t current = 0;
  const Record* next = waiting_[0].begin;
  size_t left = rows;
  if (rows > 0) {
    TELLTALE_TRY(record_insert_->Insert([&](std::span<void* const> columns, size_t capacity) {
      const RecordColumns put(columns);
      const size_t most = std::min(capacity, left);
      size_t at = 0;
      while (at < most) {
        const BlockRecords& from = waiting_[current];
        const size_t count = std::min(most - at, static_cast<size_t>(from.end - next));
        for (const size_t end = at + count; at < end; ++at, ++next) put.Put(at, from.block, *next);
        if (next == from.end && ++current < waiting_.size()) next = waiting_[current].begin;
      }
      left -= at;
      return at;
    }));
  }
  KeepFrom(current, next);
  waiting_rows_ -= rows;
  return {};
}

void RecordWriter::KeepFrom(size_t block, const Record* next) {
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<ptrdiff_t>(block));
  if (!waiting_.empty()) waiting_.front().begin = next;
  std::vector<Record> kept;
  for (const BlockRecords& part : waiting_) kept.insert(kept.end(), part.begin, part.end);
  const Record* at = kept.data();
  for (BlockRecords& part : waiting_) {
    const ptrdiff_t records = part.end - part.begin;
    part.begin = at;
    part.end = at += records;
  }
  kept_ = std::move(kept);
}

Status RecordWriter::InsertBlocks() {
  TELLTALE_TRY(InsertTimeCounts(*histogram_insert_, counts_));
  counts_.clear();
  TELLTALE_TRY(block_insert_->InsertRows(
      blocks_.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
        const Block& block = blocks_[i];
        static_cast<int64_t*>(columns[0])[at] = block.block;
        static_cast<uint32_t*>(columns[1])[at] = static_cast<uint32_t>(block.series);
        static_cast<int64_t*>(columns[2])[at] = block.sequence_offset;
        static_cast<int64_t*>(columns[3])[at] = block.timestamp_offset_us;
        static_cast<int64_t*>(columns[4])[at] = block.line_offset;
      }));
  blocks_.clear();
  return {};
}

}  // namespace telltale::nccl_inspector
