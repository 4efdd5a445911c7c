#include "readers/nccl_inspector/record_writer.h"

#include <gtest/gtest.h>

#include "readers/nccl_inspector/record_pool.h"
#include "tests/support/inspector_support.h"

namespace telltale::nccl_inspector {
namespace {

using Strings = std::vector<std::string>;

// A source with series of so many records each, numbered from `first_id`.
struct MadeSource {
  SourceData data;
  std::vector<SeriesState> states;
  KeyLayout layout;

  MadeSource(int64_t first_id, const std::vector<size_t>& records_of_series) {
    uint32_t line = 0;
    for (const size_t records : records_of_series) {
      Series& series = data.series.emplace_back();
      states.emplace_back().id = first_id + static_cast<int64_t>(states.size());
      for (uint32_t i = 0; i < records; ++i) {
        // Now and then a gap, so that there are several blocks.
        const uint32_t sequence = i + i / 100 * 50;
        series.records.push_back(
            {.sequence = sequence,
             .exec_time_us = 10 + i % 7,
             .line = ++line,
             .dump_timestamp_us = 1'700'000'000'000'000 + int64_t{3} * sequence});
      }
      data.pending_records += records;
    }
  }

  // What the store has to give back, as Stored() says it.
  Strings Expected() const {
    Strings rows;
    for (size_t i = 0; i < data.series.size(); ++i) {
      for (const Record& record : data.series[i].records) {
        rows.push_back(fmt::format("{}|{}|{}|{}|{}", states[i].id, record.sequence,
                                   record.exec_time_us, record.dump_timestamp_us, record.line));
      }
    }
    return rows;
  }
};

class RecordWriterTest : public testing::Test {
 protected:
  RecordWriterTest() {
    connection_ = *store_.store().Connect();
    writer_ = *RecordWriter::Create(*connection_);
    Run("BEGIN");
  }
  void Run(const std::string& sql) { ASSERT_TRUE(connection_->Run(sql)); }
  int64_t Records() { return *connection_->QueryInteger("SELECT count(*) FROM operation_record"); }
  // Adds a source, after which nothing of its records may be needed any more.
  Strings Write(int64_t first_id, const std::vector<size_t>& records_of_series) {
    auto source = std::make_unique<MadeSource>(first_id, records_of_series);
    Strings expected = source->Expected();
    writer_->Add({source->data, source->states, source->layout});
    EXPECT_TRUE(writer_->Insert());
    for (Series& series : source->data.series) {
      for (Record& record : series.records) record = {};
    }
    return expected;
  }
  Strings Stored() {
    const auto table = connection_->Query(
        "SELECT b.series, r.record.sequence_key + b.sequence_offset AS sequence, "
        "r.record.exec_time_us, r.record.timestamp_key + b.timestamp_offset_us, "
        "r.record.line_key + b.line_offset "
        "FROM operation_record r JOIN operation_block b USING (block) ORDER BY series, sequence");
    Strings rows;
    for (const auto& row : table->rows) {
      std::string& text = rows.emplace_back();
      for (const Cell& cell : row) text += (text.empty() ? "" : "|") + CellText(cell);
    }
    return rows;
  }

  test::TestStore store_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<RecordWriter> writer_;
};

TEST_F(RecordWriterTest, OnlyWholeVectorsGoInWhileMoreMayCome) {
  const auto vector_rows = static_cast<int64_t>(BulkInsert::VectorRows());
  Strings expected;
  const std::vector<std::vector<size_t>> sources = {
      {1}, {}, {100, 3000, 5}, {2048}, {1, 1, 1}, {2047 - 108, 1}, {7000, 7000}};
  int64_t id = 0;
  int64_t records = 0;
  for (const std::vector<size_t>& source : sources) {
    const Strings rows = Write(id, source);
    expected.insert(expected.end(), rows.begin(), rows.end());
    id += static_cast<int64_t>(source.size());
    records += static_cast<int64_t>(rows.size());
    EXPECT_EQ(Records(), records / vector_rows * vector_rows);
  }
  ASSERT_TRUE(writer_->Finish());
  EXPECT_EQ(Stored(), expected);
  EXPECT_EQ(*connection_->QueryInteger("SELECT sum(operations)::BIGINT FROM operation_histogram"),
            records);
  ASSERT_TRUE(writer_->Finish());  // nothing twice
  EXPECT_EQ(Records(), records);
}

TEST_F(RecordWriterTest, NothingIsLeftOfATransactionThatWasRolledBack) {
  (void)Write(0, {5000, 30});
  Run("ROLLBACK");
  writer_->Discard();
  Run("BEGIN");
  const Strings expected = Write(9, {40, 50});
  ASSERT_TRUE(writer_->Finish());
  EXPECT_EQ(Stored(), expected);
  EXPECT_EQ(*connection_->QueryInteger("SELECT sum(operations)::BIGINT FROM operation_histogram"),
            90);
}

TEST(RecordPool, GivesBackRoomButNoRecords) {
  RecordPool pool;
  EXPECT_EQ(pool.Take().capacity(), 0U);
  std::vector<Record> records(100);
  const Record* const place = records.data();
  pool.Put(std::move(records));
  const std::vector<Record> again = pool.Take();
  EXPECT_TRUE(again.empty());
  EXPECT_EQ(again.data(), place);
  // A single huge series is not worth its memory for ever.
  pool.Put(std::vector<Record>(size_t{4} << 20));
  EXPECT_EQ(pool.Take().capacity(), 0U);
}

}  // namespace
}  // namespace telltale::nccl_inspector
