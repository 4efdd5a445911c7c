#include "store/database.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace telltale {
namespace {

class DatabaseTest : public testing::Test {
 protected:
  DatabaseTest() {
    DatabaseOptions options;
    options.access = Access::kReadWrite;
    database_ = *Database::Open(":memory:", options);
    connection_ = *database_->Connect();
  }

  Table Rows(const std::string& sql, std::span<const Cell> parameters = {}) {
    auto table = connection_->Query(sql, parameters);
    EXPECT_TRUE(table) << sql << ": " << table.error().message;
    return table ? *table : Table{};
  }
  // The only value of the only row.
  Cell Value(const std::string& sql, std::span<const Cell> parameters = {}) {
    const Table table = Rows(sql, parameters);
    EXPECT_EQ(table.rows.size(), 1U) << sql;
    EXPECT_EQ(table.columns.size(), 1U) << sql;
    return table.rows.size() == 1 && table.rows[0].size() == 1 ? table.rows[0][0] : Cell();
  }
  std::string Text(const std::string& sql) { return CellText(Value("SELECT " + sql)); }
  std::string Type(const std::string& sql) { return Rows("SELECT " + sql).columns.at(0).type; }

  std::unique_ptr<Database> database_;
  std::unique_ptr<Connection> connection_;
};

// --- Types ---

template <typename T>
void ExpectHolds(const Cell& cell, const T& value) {
  ASSERT_TRUE(std::holds_alternative<T>(cell)) << "alternative " << cell.index();
  EXPECT_EQ(std::get<T>(cell), value);
}

TEST_F(DatabaseTest, GivesIntegersOfAnyWidth) {
  ExpectHolds(Value("SELECT (-128)::TINYINT"), int64_t{-128});
  ExpectHolds(Value("SELECT (-32768)::SMALLINT"), int64_t{-32768});
  ExpectHolds(Value("SELECT (-2147483648)::INTEGER"), int64_t{-2147483648});
  ExpectHolds(Value("SELECT (-9223372036854775808)::BIGINT"), std::numeric_limits<int64_t>::min());
  ExpectHolds(Value("SELECT 255::UTINYINT"), uint64_t{255});
  ExpectHolds(Value("SELECT 65535::USMALLINT"), uint64_t{65535});
  ExpectHolds(Value("SELECT 4294967295::UINTEGER"), uint64_t{4294967295});
  ExpectHolds(Value("SELECT 18446744073709551615::UBIGINT"), std::numeric_limits<uint64_t>::max());
  const Cell huge = Value("SELECT 170141183460469231731687303715884105727::HUGEINT");
  ASSERT_TRUE(std::holds_alternative<BigInteger>(huge));
  EXPECT_EQ(CellText(huge), "170141183460469231731687303715884105727");
  EXPECT_EQ(Text("(-5)::HUGEINT"), "-5");
  EXPECT_EQ(Text("340282366920938463463374607431768211455::UHUGEINT"),
            "340282366920938463463374607431768211455");
  ExpectHolds(Value("SELECT NULL::HUGEINT"), std::monostate());
}

TEST_F(DatabaseTest, GivesBooleansAndNumbersWithPoint) {
  ExpectHolds(Value("SELECT true"), true);
  EXPECT_EQ(Text("false"), "false");
  ExpectHolds(Value("SELECT 0.1::DOUBLE"), 0.1);
  EXPECT_EQ(Text("0.1::DOUBLE"), "0.1");
  EXPECT_EQ(Text("1e300::DOUBLE"), "1e+300");
  ExpectHolds(Value("SELECT 0.5::FLOAT"), 0.5);
  EXPECT_TRUE(std::isnan(std::get<double>(Value("SELECT 'nan'::DOUBLE"))));
  EXPECT_EQ(Text("'-inf'::DOUBLE"), "-inf");
  EXPECT_EQ(Text("12.340::DECIMAL(9,3)"), "12.340");
  EXPECT_EQ(Type("12.340::DECIMAL(9,3)"), "DECIMAL(9,3)");
  EXPECT_EQ(Text("123456789012345678901234567890.12::DECIMAL(38,2)"),
            "123456789012345678901234567890.12");
}

TEST_F(DatabaseTest, GivesTimesAsText) {
  EXPECT_EQ(Text("DATE '2026-11-29'"), "2026-11-29");
  EXPECT_EQ(Text("TIME '13:14:15.000001'"), "13:14:15.000001");
  EXPECT_EQ(Text("TIMESTAMP '2026-11-29 13:14:15.123456'"), "2026-11-29 13:14:15.123456");
  EXPECT_EQ(Text("'2026-11-29 13:14:15.123456789'::TIMESTAMP_NS"), "2026-11-29 13:14:15.123456789");
  EXPECT_EQ(Text("'2026-11-29 13:14:15'::TIMESTAMP_S"), "2026-11-29 13:14:15");
  EXPECT_EQ(Text("'2026-11-29 13:14:15.5'::TIMESTAMP_MS"), "2026-11-29 13:14:15.5");
  EXPECT_EQ(Text("INTERVAL 90 MINUTE"), "01:30:00");
  EXPECT_EQ(Text("'infinity'::TIMESTAMP"), "infinity");
  EXPECT_EQ(Type("TIMESTAMP '2026-11-29 13:14:15'"), "TIMESTAMP");
}

TEST_F(DatabaseTest, GivesEverythingElseAsText) {
  EXPECT_EQ(Text("[1, 2, NULL]"), "[1, 2, NULL]");
  EXPECT_EQ(Text("[1, 2]::INTEGER[2]"), "[1, 2]");
  EXPECT_EQ(Text("{'a': 1, 'b': 'x'}"), "{'a': 1, 'b': x}");
  EXPECT_EQ(Text("MAP {'k': 1.5}"), "{k=1.5}");
  EXPECT_EQ(Text("'\\x00\\xFF'::BLOB"), "\\x00\\xFF");
  EXPECT_EQ(Text("'101'::BIT"), "101");
  EXPECT_EQ(Text("'5ea1ab1e-0000-4000-8000-000000000000'::UUID"),
            "5ea1ab1e-0000-4000-8000-000000000000");
  EXPECT_EQ(Text("'b'::ENUM('a', 'b')"), "b");
  EXPECT_EQ(Text("union_value(n := 5)"), "5");
  EXPECT_EQ(Text("NULL"), "");
  EXPECT_EQ(Text("NULL::INTEGER[]"), "");
  EXPECT_EQ(Text("NULL::TIMESTAMP"), "");
}

TEST_F(DatabaseTest, GivesTextWithAnyCharacter) {
  ExpectHolds(Value("SELECT ''"), std::string());
  EXPECT_EQ(Text("'a' || chr(0) || 'b'"), std::string("a\0b", 3));
  EXPECT_EQ(Text("'größer 漢字 🙂 and longer than what is stored inline'"),
            "größer 漢字 🙂 and longer than what is stored inline");
}

TEST_F(DatabaseTest, TextIsAlwaysUtf8) {
  const std::array<Cell, 1> bytes = {std::string("a\xff\xfe")};
  EXPECT_EQ(CellText(Value("SELECT $1::VARCHAR", bytes)), "a\\xff\\xfe");
  EXPECT_FALSE(connection_->Query("SELECT 'a\xff'")) << "but SQL must be UTF-8";
  EXPECT_EQ(StoredText(""), "");
  EXPECT_EQ(StoredText("größer 漢字 🙂"), "größer 漢字 🙂");
  EXPECT_EQ(StoredText("\xe6\xbc z\xc3\xa9\xc3"), "\\xe6\\xbc z\xc3\xa9\\xc3");
}

// --- Statements ---

TEST_F(DatabaseTest, MixesColumnsWithAndWithoutCells) {
  const Table table = Rows(
      "SELECT i, i * 1.5 AS half, [i] AS list, 'x' AS text FROM range(3) t(i) ORDER BY i DESC");
  ASSERT_EQ(table.rows.size(), 3U);
  EXPECT_EQ(table.columns[1].name, "half");
  EXPECT_EQ(table.columns[2].name, "list");
  EXPECT_EQ(CellText(table.rows[0][0]), "2");
  EXPECT_EQ(CellText(table.rows[0][1]), "3.0");
  EXPECT_EQ(CellText(table.rows[2][2]), "[0]");
}

TEST_F(DatabaseTest, KeepsTheOrderOfManyRows) {
  const Table table = Rows("SELECT i, i::HUGEINT AS h FROM range(100000) t(i) ORDER BY i DESC");
  ASSERT_EQ(table.rows.size(), 100000U);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    ASSERT_EQ(std::get<int64_t>(table.rows[i][0]), int64_t(99999 - i));
    ASSERT_EQ(std::get<BigInteger>(table.rows[i][1]).digits, std::to_string(99999 - i));
  }
}

TEST_F(DatabaseTest, TakesCommentsAndSemicolonsAtTheEnd) {
  for (const std::string end : {"", ";", " ; \n", "-- why", ";-- why", "; -- why; not\n",
                                "/* why */", "; /* why */ ", "; -- a\n -- b\n", " -- it's\n;"}) {
    EXPECT_EQ(CellText(Value("SELECT 1.5 " + end)), "1.5") << end;
    EXPECT_EQ(CellText(Value("SELECT 1 " + end)), "1") << end;
  }
  EXPECT_EQ(CellText(Value("SELECT [';', '--', '/*']")), "[;, --, /*]");
}

TEST_F(DatabaseTest, TakesParameters) {
  const std::array<Cell, 6> all = {int64_t{-1}, uint64_t{1} << 63,      0.25,
                                   true,        std::string("x\0y", 3), Cell()};
  const Table table = Rows(
      "SELECT $1::BIGINT, $2::UBIGINT, $3::DOUBLE, $4::BOOLEAN, $5::VARCHAR, $6::INTEGER, "
      "[$1::BIGINT]",
      all);
  ASSERT_EQ(table.rows.size(), 1U);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(table.rows[0][i].index(), all[i].index());
    EXPECT_EQ(CellText(table.rows[0][i]), CellText(all[i]));
  }
  EXPECT_EQ(CellText(table.rows[0][6]), "[-1]");
  const std::array<Cell, 1> big = {BigInteger{"12345678901234567890123"}};
  EXPECT_EQ(CellText(Value("SELECT $1::HUGEINT + 1", big)), "12345678901234567890124");
}

TEST_F(DatabaseTest, SaysWhichParametersAreWrong) {
  const std::array<Cell, 2> two = {int64_t{1}, int64_t{2}};
  EXPECT_FALSE(connection_->Query("SELECT $1::INTEGER", two));
  EXPECT_FALSE(connection_->Query("SELECT $1::INTEGER"));
  EXPECT_FALSE(connection_->Query("SELECT 1, [$1], $2", two))
      << "without casts columns are not known";
  EXPECT_FALSE(connection_->Query("SELECT $1::INTEGER + $3::INTEGER", two));
}

TEST_F(DatabaseTest, StatementsWithoutRowsWork) {
  EXPECT_TRUE(connection_->Run("CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1), (2)"));
  const std::array<Cell, 1> three = {int64_t{3}};
  EXPECT_TRUE(connection_->Run("INSERT INTO t VALUES ($1)", three));
  EXPECT_EQ(*connection_->QueryInteger("SELECT count(*) FROM t"), 3);
  EXPECT_EQ(Rows("FROM t ORDER BY i").rows.size(), 3U);
  EXPECT_EQ(Rows("DESCRIBE t").rows.size(), 1U);
  EXPECT_EQ(Rows("SHOW TABLES").rows.size(), 1U);
  EXPECT_EQ(Rows("SUMMARIZE t").rows.size(), 1U);
  EXPECT_EQ(Rows("VALUES (1.5), (2.5)").rows.size(), 2U);
  EXPECT_EQ(Rows("WITH a AS (SELECT 1.5 AS x) FROM a").rows.size(), 1U);
  EXPECT_EQ(Rows("SELECT * FROM t WHERE false").rows.size(), 0U);
  EXPECT_EQ(Rows("SELECT [i] FROM t WHERE false").columns.size(), 1U);
}

TEST_F(DatabaseTest, NeverGivesAValueThatIsNone) {
  // Its column of lists cannot be cast where there is no subquery.
  const auto table = connection_->Query("CALL duckdb_settings()");
  ASSERT_FALSE(table);
  EXPECT_NE(table.error().message.find("only a SELECT can give"), std::string::npos);
}

TEST_F(DatabaseTest, ErrorsSayWhatDuckDbSays) {
  for (const std::string sql :
       {"", "SELEC 1", "SELECT nosuch", "SELECT 1; SELECT 2", "SELECT 'x'::INTEGER",
        "SELECT 1.5 WHERE error('boom')", "SELECT 'x'::INTEGER, [1]"}) {
    bool told = false;
    const Status status = connection_->Query(
        sql, {},
        [&](const auto&) {
          told = true;
          return Status();
        },
        [](auto&) { return Status(); });
    ASSERT_FALSE(status) << sql;
    EXPECT_FALSE(status.error().message.empty()) << sql;
    EXPECT_FALSE(status.error().message.ends_with("\n")) << sql;
    EXPECT_FALSE(told) << "columns of an answer that there is not: " << sql;
  }
}

TEST_F(DatabaseTest, AnErrorInTheMiddleEndsTheQuery) {
  // The last of many rows cannot be had.
  size_t rows = 0;
  const Status status = connection_->Query(
      "SELECT CASE WHEN i = 299999 THEN error('row') ELSE i END FROM range(300000) t(i)", {},
      [](const auto&) { return Status(); },
      [&](auto&) {
        ++rows;
        return Status();
      });
  EXPECT_FALSE(status);
  EXPECT_LT(rows, 300000U);
}

TEST_F(DatabaseTest, ACallbackCanEndTheQuery) {
  size_t rows = 0;
  const Status status = connection_->Query(
      "FROM range(1000000)", {}, [](const auto&) { return Status(); },
      [&](auto&) -> Status {
        if (++rows == 10) return Fail("enough");
        return {};
      });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
  EXPECT_EQ(rows, 10U);
  EXPECT_EQ(CellText(Value("SELECT 1")), "1") << "the connection can be used again";
}

TEST_F(DatabaseTest, QueryIntegerTakesIntegersOnly) {
  EXPECT_EQ(*connection_->QueryInteger("SELECT 5::UTINYINT"), 5);
  EXPECT_EQ(*connection_->QueryInteger("SELECT true"), 1);
  EXPECT_EQ(*connection_->QueryInteger("SELECT NULL"), 0);
  EXPECT_EQ(*connection_->QueryInteger("SELECT sum(i) FROM range(5) t(i)"), 10);
  EXPECT_EQ(*connection_->QueryInteger("SELECT (-9223372036854775808)::HUGEINT"),
            std::numeric_limits<int64_t>::min());
  for (const std::string sql :
       {"SELECT 'x'", "SELECT 1.5::DOUBLE", "SELECT 1, 2", "FROM range(2)", "FROM range(0)",
        "SELECT 18446744073709551615::UBIGINT", "SELECT 9223372036854775808::HUGEINT"}) {
    EXPECT_FALSE(connection_->QueryInteger(sql)) << sql;
  }
}

TEST_F(DatabaseTest, ConnectionsWorkBesideEachOther) {
  ASSERT_TRUE(connection_->Run("CREATE TABLE t (i INTEGER)"));
  const auto other = database_->Connect();
  ASSERT_TRUE(connection_->Run("BEGIN; INSERT INTO t VALUES (1)"));
  EXPECT_EQ(*(*other)->QueryInteger("SELECT count(*) FROM t"), 0);
  ASSERT_TRUE(connection_->Run("COMMIT"));
  EXPECT_EQ(*(*other)->QueryInteger("SELECT count(*) FROM t"), 1);
}

TEST(Database, WithoutExternalAccessSqlTouchesNoFile) {
  DatabaseOptions options;
  options.access = Access::kReadWrite;
  options.external_access = false;
  const auto database = Database::Open(":memory:", options);
  ASSERT_TRUE(database);
  const auto connection = (*database)->Connect();
  for (const std::string sql :
       {"FROM read_text('/etc/hostname')", "FROM glob('/*')",
        "COPY (SELECT 1) TO '/tmp/telltale-x.csv'", "ATTACH '/tmp/telltale-x.db'",
        "LOAD '/tmp/telltale-x.duckdb_extension'", "INSTALL httpfs",
        "SET enable_external_access = true", "EXPORT DATABASE '/tmp/telltale-x'"}) {
    EXPECT_FALSE((*connection)->Query(sql)) << sql;
  }
}

}  // namespace
}  // namespace telltale
