#include "store/bulk_insert.h"

#include <array>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace telltale {
namespace {

class InsertTest : public testing::Test {
 protected:
  InsertTest() {
    DatabaseOptions options;
    options.access = Access::kReadWrite;
    database_ = *Database::Open(":memory:", options);
    connection_ = *database_->Connect();
  }
  void Run(const std::string& sql) {
    const Status status = connection_->Run(sql);
    ASSERT_TRUE(status) << status.error().message;
  }
  int64_t Integer(const std::string& sql) { return *connection_->QueryInteger(sql); }

  std::unique_ptr<Database> database_;
  std::unique_ptr<Connection> connection_;
};

// --- BulkInsert ---

constexpr std::array kPair = {ColumnType::kUInt32, ColumnType::kInt64};

// Rows (i, -i) for i from `begin` to `end`, at most `step` at a time.
Status InsertRange(BulkInsert& insert, uint32_t begin, uint32_t end, size_t step = SIZE_MAX) {
  uint32_t next = begin;
  return insert.Insert([&](std::span<void* const> columns, size_t capacity) {
    size_t rows = 0;
    for (; rows < std::min(capacity, step) && next < end; ++rows, ++next) {
      static_cast<uint32_t*>(columns[0])[rows] = next;
      static_cast<int64_t*>(columns[1])[rows] = -int64_t{next};
    }
    return rows;
  });
}

TEST_F(InsertTest, RowsComeInOnSeveralThreads) {
  Run("CREATE TABLE t (a UINTEGER, b BIGINT)");
  const auto insert = BulkInsert::Create(*connection_, "t", kPair);
  ASSERT_TRUE(insert) << insert.error().message;
  {
    ParallelInserts parallel(*connection_, 3);
    ASSERT_TRUE(parallel.Start());
    Run("BEGIN");
    const auto put = [](size_t i, std::span<void* const> columns, size_t at) {
      static_cast<uint32_t*>(columns[0])[at] = static_cast<uint32_t>(i);
      static_cast<int64_t*>(columns[1])[at] = -static_cast<int64_t>(i);
    };
    ASSERT_TRUE((*insert)->InsertRows(1'000'000, put, 3));
    Run("COMMIT");
  }
  EXPECT_EQ(Integer("SELECT count(DISTINCT a) FROM t WHERE b = -a::BIGINT"), 1'000'000);
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 1'000'000);
  EXPECT_EQ(Integer("SELECT current_setting('threads')"), 1);
}

TEST_F(InsertTest, BulkRowsComeBack) {
  Run("CREATE TABLE t (a UINTEGER, b BIGINT)");
  const auto insert = BulkInsert::Create(*connection_, "t", kPair);
  ASSERT_TRUE(insert) << insert.error().message;
  ASSERT_TRUE(InsertRange(**insert, 0, 0));
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 0);
  ASSERT_TRUE(InsertRange(**insert, 0, 1));
  ASSERT_TRUE(InsertRange(**insert, 1, 10, 3));
  ASSERT_TRUE(InsertRange(**insert, 10, 300'000));
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 300'000);
  EXPECT_EQ(Integer("SELECT count(DISTINCT a) FROM t"), 300'000);
  EXPECT_EQ(Integer("SELECT count(*) FROM t WHERE b <> -a::BIGINT"), 0);
  EXPECT_EQ(Integer("SELECT count(*) FROM (SELECT a, row_number() OVER () - 1 AS n FROM t) "
                    "WHERE a <> n"),
            0);
}

TEST_F(InsertTest, BulkTakesTheLimitsOfItsTypes) {
  Run("CREATE TABLE t (a UINTEGER, b BIGINT)");
  const auto insert = BulkInsert::Create(*connection_, "t", kPair);
  ASSERT_TRUE(insert);
  bool done = false;
  ASSERT_TRUE((*insert)->Insert([&](std::span<void* const> columns, size_t) -> size_t {
    if (done) return 0;
    done = true;
    auto* a = static_cast<uint32_t*>(columns[0]);
    auto* b = static_cast<int64_t*>(columns[1]);
    a[0] = 0;
    a[1] = std::numeric_limits<uint32_t>::max();
    b[0] = std::numeric_limits<int64_t>::min();
    b[1] = std::numeric_limits<int64_t>::max();
    return 2;
  }));
  EXPECT_EQ(Integer("SELECT max(a)::BIGINT FROM t"), std::numeric_limits<uint32_t>::max());
  EXPECT_EQ(Integer("SELECT min(b) FROM t"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(Integer("SELECT max(b) FROM t"), std::numeric_limits<int64_t>::max());
}

TEST_F(InsertTest, BulkIsPartOfTheTransaction) {
  Run("CREATE TABLE t (a UINTEGER, b BIGINT)");
  const auto insert = BulkInsert::Create(*connection_, "t", kPair);
  ASSERT_TRUE(insert);
  Run("BEGIN");
  ASSERT_TRUE(InsertRange(**insert, 0, 5000));
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 5000);
  Run("ROLLBACK");
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 0);
  Run("BEGIN");
  ASSERT_TRUE(InsertRange(**insert, 0, 5000));
  Run("COMMIT");
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 5000);
}

TEST_F(InsertTest, BulkErrorsComeBack) {
  const auto nowhere = BulkInsert::Create(*connection_, "nosuch", kPair);
  ASSERT_TRUE(nowhere);
  EXPECT_FALSE(InsertRange(**nowhere, 0, 5));
  Run("CREATE TABLE narrow (a UTINYINT, b BIGINT)");
  const auto narrow = BulkInsert::Create(*connection_, "narrow", kPair);
  ASSERT_TRUE(narrow);
  EXPECT_FALSE(InsertRange(**narrow, 0, 1000)) << "256 does not fit";
  EXPECT_EQ(Integer("SELECT count(*) FROM narrow"), 0);
  EXPECT_TRUE(InsertRange(**narrow, 0, 100));
}

TEST_F(InsertTest, BulkInsertsOfSeveralConnectionsRunBesideEachOther) {
  Run("CREATE TABLE t (a UINTEGER, b BIGINT)");
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      const auto connection = database_->Connect();
      const auto insert = BulkInsert::Create(**connection, "t", kPair);
      ASSERT_TRUE(insert) << insert.error().message;
      for (uint32_t part = 0; part < 5; ++part) {
        const uint32_t begin = (i * 5 + part) * 10'000;
        const Status status = InsertRange(**insert, begin, begin + 10'000);
        ASSERT_TRUE(status) << status.error().message;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Integer("SELECT count(DISTINCT a) FROM t"), 200'000);
}

// --- RowAppender ---

TEST_F(InsertTest, RowsComeBackAsTheyWere) {
  Run("CREATE TABLE t (b BOOLEAN, i INTEGER, l BIGINT, u UBIGINT, h HUGEINT, d DOUBLE, s VARCHAR)");
  const std::vector<std::vector<Cell>> rows = {
      {true, int64_t{-7}, std::numeric_limits<int64_t>::min(), std::numeric_limits<uint64_t>::max(),
       BigInteger{"170141183460469231731687303715884105727"}, 0.1, std::string("größer\0x", 10)},
      {false, int64_t{0}, int64_t{0}, uint64_t{0}, BigInteger{"-1"}, -1e300, std::string()},
      {Cell(), Cell(), Cell(), Cell(), Cell(), Cell(), Cell()}};
  const auto appender = RowAppender::Create(*connection_, "t");
  ASSERT_TRUE(appender);
  for (const auto& row : rows) {
    const Status status = (*appender)->Append(row);
    ASSERT_TRUE(status) << status.error().message;
  }
  ASSERT_TRUE((*appender)->Close());
  const auto table = connection_->Query("FROM t");
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), rows.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t i = 0; i < rows[r].size(); ++i) {
      EXPECT_EQ(table->rows[r][i].index(), rows[r][i].index()) << r << ", " << i;
      EXPECT_EQ(CellText(table->rows[r][i]), CellText(rows[r][i])) << r << ", " << i;
    }
  }
}

TEST_F(InsertTest, ManyRowsComeBack) {
  Run("CREATE TABLE t (i UINTEGER, s VARCHAR)");
  const auto appender = RowAppender::Create(*connection_, "t");
  ASSERT_TRUE(appender);
  for (int64_t i = 0; i < 5000; ++i) {
    const std::array<Cell, 2> row = {i, std::to_string(i)};
    ASSERT_TRUE((*appender)->Append(row));
  }
  ASSERT_TRUE((*appender)->Close());
  EXPECT_EQ(Integer("SELECT count(*) FROM t WHERE i::VARCHAR = s"), 5000);
}

// An error shows at the row or, at the latest, when closing; never is a row lost in silence.
TEST_F(InsertTest, RowsThatDoNotFitAreErrors) {
  Run("CREATE TABLE t (i UTINYINT, s VARCHAR NOT NULL)");
  const std::vector<std::vector<Cell>> wrong = {{int64_t{256}, std::string("x")},
                                                {int64_t{-1}, std::string("x")},
                                                {int64_t{1}},
                                                {int64_t{1}, std::string("x"), int64_t{2}},
                                                {int64_t{1}, Cell()},
                                                {std::string("word"), std::string("x")},
                                                {int64_t{1}, std::string("x"), Cell()}};
  for (size_t i = 0; i < wrong.size(); ++i) {
    const auto appender = RowAppender::Create(*connection_, "t");
    ASSERT_TRUE(appender);
    const Status appended = (*appender)->Append(wrong[i]);
    const Status closed = (*appender)->Close();
    EXPECT_FALSE(appended && closed) << "row " << i;
    const Status& error = appended ? closed : appended;
    EXPECT_TRUE(error || !error.error().message.empty());
  }
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 0);
}

TEST_F(InsertTest, AnAppenderNeedsItsTable) {
  const auto appender = RowAppender::Create(*connection_, "nosuch");
  ASSERT_FALSE(appender);
  EXPECT_NE(appender.error().message.find("nosuch"), std::string::npos);
}

TEST_F(InsertTest, RowsArePartOfTheTransaction) {
  Run("CREATE TABLE t (i INTEGER)");
  Run("BEGIN");
  const auto appender = RowAppender::Create(*connection_, "t");
  ASSERT_TRUE(appender);
  const std::array<Cell, 1> row = {int64_t{1}};
  ASSERT_TRUE((*appender)->Append(row));
  ASSERT_TRUE((*appender)->Close());
  Run("ROLLBACK");
  EXPECT_EQ(Integer("SELECT count(*) FROM t"), 0);
}

}  // namespace
}  // namespace telltale
