// Rows from pages against SQLite's own: tables of every shape that files have, and damaged ones.

#include <random>

#include <gtest/gtest.h>
#include <sqlite3.h>

#include "readers/nsight/sqlite_file.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using nsight::RowidRange;
using nsight::SqliteFile;
using nsight::SqliteRow;
using Strings = std::vector<std::string>;

std::string Text(const SqliteRow& row, size_t columns) {
  std::string text;
  for (size_t i = 0; i < columns; ++i) {
    text += row.IsNull(i) ? "-" : row.IsInteger(i) ? "i" : "t";
    text += fmt::format("{}:{}|", row.Integer(i, -7), row.Text(i));
  }
  return text;
}

class SqlitePages : public testing::Test {
 protected:
  std::string Make(const std::string& sql, const std::string& name = "file.sqlite") {
    const std::string path = folder_.path() + "/" + name;
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
    char* error = nullptr;
    sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &error);
    EXPECT_EQ(error, nullptr) << error;
    sqlite3_close(handle);
    return path;
  }

  // Rows of both ways, and whether each ended well.
  static void ExpectSame(const std::string& path, const std::string& table, const Strings& columns,
                         std::optional<RowidRange> piece = {}) {
    const auto file = SqliteFile::Open(path);
    ASSERT_TRUE(file) << file.error().message;
    Strings ours, theirs;
    const Status scanned = (*file)->Scan(
        table, columns, [&](const SqliteRow& row) { ours.push_back(Text(row, columns.size())); },
        nullptr, piece);
    EXPECT_TRUE(scanned) << scanned.error().message;
    EXPECT_TRUE((*file)->ScanBySql(
        table, columns, [&](const SqliteRow& row) { theirs.push_back(Text(row, columns.size())); },
        piece));
    EXPECT_EQ(ours.size(), theirs.size());
    EXPECT_EQ(ours, theirs);
  }

  TempFolder folder_;
};

constexpr const char* kValues =
    "INSERT INTO t(a, b, c, d) VALUES (NULL, 0, 1, 'x'), (-1, 127, 128, ''), (-129, 32767, 32768, "
    "'é'), (8388607, -8388609, 2147483648, 1.5), (140737488355327, -140737488355329, "
    "9223372036854775807, -9223372036854775808), ('text', x'00ff', 1e300, -1e300), "
    "(4e18, 0.0, -0.5, '9223372036854775808');";

TEST_F(SqlitePages, ValuesOfEveryKind) {
  const std::string path = Make(std::string("CREATE TABLE t (a, b INT, c, d TEXT, e REAL);") +
                                kValues + "UPDATE t SET e = 5;");
  ExpectSame(path, "t", {"a", "b", "c", "d"});
  ExpectSame(path, "t", {"d", "missing", "a", "a"});
  ExpectSame(path, "t", {"e", "a"});
}

TEST_F(SqlitePages, PagesOfEverySize) {
  for (const int bytes : {512, 1024, 4096, 65536}) {
    // Long texts go on elsewhere; rows of all lengths around the limits; gaps and free pages.
    const std::string path = Make(
        fmt::format(
            "PRAGMA page_size = {0}; CREATE TABLE other (x); CREATE TABLE t (id INTEGER "
            "PRIMARY KEY, a INT, b TEXT, c INT);"
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
            "INSERT INTO t SELECT i * 3 - 1000, i * i * i * 1000, "
            "printf('%.*c', CASE WHEN i % 50 = 0 THEN i * 40 ELSE i % 700 END, 'x'), -i FROM n;"
            "INSERT INTO other SELECT b FROM t; DELETE FROM t WHERE id % 7 = 0;"
            "INSERT INTO t SELECT id * -1000000007, a, b, c FROM t WHERE id % 11 = 0;",
            bytes),
        fmt::format("{}.sqlite", bytes));
    SCOPED_TRACE(bytes);
    ExpectSame(path, "t", {"c", "id", "a", "b"});
    ExpectSame(path, "other", {"x"});
    ExpectSame(path, "t", {"id", "a"}, RowidRange{-5, 4000});
    ExpectSame(path, "t", {"id"}, RowidRange{5000, 5000});
    ExpectSame(path, "t", {"id"}, RowidRange{100000, 200000});
  }
}

TEST_F(SqlitePages, UnusualTables) {
  const std::string path = Make(
      "CREATE TABLE plain (k INTEGER PRIMARY KEY, v); INSERT INTO plain VALUES (5, 'a'), (-3, "
      "NULL);"
      "CREATE TABLE falls (k INTEGER PRIMARY KEY DESC, v); INSERT INTO falls VALUES (5, 'a'), (7, "
      "'b');"
      "CREATE TABLE two (k INTEGER, l INTEGER, PRIMARY KEY (k, l)); INSERT INTO two VALUES (5, 6);"
      "CREATE TABLE one (k INTEGER, l INTEGER, PRIMARY KEY (k)); INSERT INTO one VALUES (5, 6);"
      "CREATE TABLE no_id (k INT PRIMARY KEY, v) WITHOUT ROWID; INSERT INTO no_id VALUES (1, 2), "
      "(0, 3);"
      "CREATE TABLE grown (a); INSERT INTO grown VALUES (1); ALTER TABLE grown ADD COLUMN b "
      "DEFAULT 9;"
      "ALTER TABLE grown ADD COLUMN c; INSERT INTO grown VALUES (2, 3, 4);"
      "CREATE TABLE computed (a, b AS (a + 1), c AS (a + 2) STORED); INSERT INTO computed(a) "
      "VALUES (1);"
      "CREATE TABLE \"odd 'name'\" (a); INSERT INTO \"odd 'name'\" VALUES (1);"
      "CREATE TABLE empty (a);");
  ExpectSame(path, "plain", {"k", "v"});
  ExpectSame(path, "falls", {"k", "v"});
  ExpectSame(path, "two", {"k", "l"});
  ExpectSame(path, "one", {"k", "l"});
  ExpectSame(path, "no_id", {"k", "v"});
  ExpectSame(path, "grown", {"a", "b", "c"});
  ExpectSame(path, "grown", {"a", "c"});
  ExpectSame(path, "computed", {"a", "b", "c"});
  ExpectSame(path, "odd 'name'", {"a"});
  ExpectSame(path, "empty", {"a"});
}

TEST_F(SqlitePages, OtherEncodingsAreSqlites) {
  ExpectSame(
      Make("PRAGMA encoding = 'UTF-16'; CREATE TABLE t (a, b, c, d TEXT);" + std::string(kValues)),
      "t", {"a", "d"});
}

TEST_F(SqlitePages, RandomTables) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  for (int round = 0; round < 40; ++round) {
    std::string sql =
        fmt::format("PRAGMA page_size = {}; PRAGMA auto_vacuum = {}; CREATE TABLE t (a, b, c);",
                    512 << below(5), below(2));
    const uint64_t rows = below(400);
    for (uint64_t i = 0; i < rows; ++i) {
      std::string values = fmt::format("{}", static_cast<int64_t>(random()) >> below(64));
      for (int column = 0; column < 3; ++column) {
        switch (below(5)) {
          case 0:
            values += ", NULL";
            break;
          case 1:
            values += fmt::format(", {}", static_cast<int64_t>(random()) >> below(64));
            break;
          case 2:
            values += fmt::format(", {}.25", below(1000));
            break;
          default:
            values += fmt::format(", '{}'", std::string(below(below(20) == 0 ? 9000 : 60), 'y'));
        }
      }
      sql += "INSERT OR IGNORE INTO t(rowid, a, b, c) VALUES (" + values + ");";
      if (below(9) == 0) sql += fmt::format("DELETE FROM t WHERE rowid % 5 = {};", below(5));
    }
    const std::string path = Make("BEGIN;" + sql + "COMMIT;", fmt::format("r{}.sqlite", round));
    SCOPED_TRACE(round);
    ExpectSame(path, "t", {"b", "a", "c"});
    const auto middle = static_cast<int64_t>(random()) >> below(64);
    ExpectSame(path, "t", {"b", "a", "c"}, RowidRange{std::numeric_limits<int64_t>::min(), middle});
  }
}

// An id that is wrong must not end the table in silence, whatever it becomes.
TEST_F(SqlitePages, RowsOutOfOrderAreDamage) {
  const std::string whole = BytesOf(
      Make("CREATE TABLE t (a INT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
           "WHERE i < 10) INSERT INTO t SELECT i * 1000 FROM n;"));
  // A row: bytes, id, header of two bytes, two bytes of a value.
  const size_t fifth = whole.find(std::string("\x04\x05\x02\x02\x13\x88", 6));
  ASSERT_NE(fifth, std::string::npos);
  for (const char id : {'\x01', '\x04', '\x06', '\x75'}) {
    std::string bytes = whole;
    bytes[fifth + 1] = id;
    const auto file = SqliteFile::Open(folder_.Write("order.sqlite", bytes));
    ASSERT_TRUE(file);
    EXPECT_FALSE((*file)->Scan("t", {"a"}, [](const SqliteRow&) {})) << int{id};
    EXPECT_FALSE((*file)->Scan(
        "t", {"a"}, [](const SqliteRow&) {}, nullptr, RowidRange{1, 10}))
        << int{id};
  }
}

// Whatever the bytes, it ends, with an error or not, and reads nothing that is not there.
TEST_F(SqlitePages, DamagedFilesEnd) {
  const std::string whole =
      BytesOf(Make("PRAGMA page_size = 512; CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c);"
                   "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
                   "INSERT INTO t SELECT i, printf('%.*c', i % 1200, 'x'), -i FROM n;"));
  std::mt19937_64 random(2);
  uint64_t with_error = 0;
  for (int round = 0; round < 400; ++round) {
    std::string bytes = whole;
    // Not the first page: SQLite must still find the table.
    for (uint64_t i = random() % 30; i < 30; ++i) {
      bytes[512 + random() % (bytes.size() - 512)] = static_cast<char>(random());
    }
    if (round % 4 == 0) bytes.resize(512 + random() % (bytes.size() - 512));
    const std::string path = folder_.Write("damaged.sqlite", bytes);
    const auto file = SqliteFile::Open(path);
    if (!file) continue;
    uint64_t rows = 0;
    const Status status = (*file)->Scan(
        "t", {"a", "b", "c"}, [&](const SqliteRow& row) { (void)Text(row, 3); }, &rows);
    with_error += status ? 0 : 1;
    EXPECT_LE(rows, bytes.size());
  }
  EXPECT_GT(with_error, 50U);
}

}  // namespace
}  // namespace telltale::test
