// `telltale sql` and `telltale export`: what SQL gives, and what it cannot do.

#include <algorithm>
#include <filesystem>

#include "tests/program.h"

namespace telltale::tests {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CliSqlTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    SimulateSmallJob(*folder_ / "job");
    store_ = *folder_ / "s.duckdb";
    const Outcome outcome = Telltale({"--store", store_, "ingest", *folder_ / "job"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    store_bytes_ = ReadFile(store_);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void TearDown() override {
    EXPECT_TRUE(ReadFile(store_) == store_bytes_) << "the store was changed";
    EXPECT_FALSE(fs::exists(store_ + ".wal"));
  }

  static Outcome Sql(const std::string& sql, Strings options = {}) {
    Strings arguments = {"--store", store_, "sql", sql};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return Telltale(arguments);
  }
  static void ExpectRefused(const std::string& sql, const Strings& options = {}) {
    for (const std::string format : {"table", "json", "csv"}) {
      Strings all = options;
      all.insert(all.end(), {"--format", format});
      const Outcome outcome = Sql(sql, all);
      EXPECT_EQ(outcome.code, 1) << sql << " (" << format << "): " << outcome.out;
      EXPECT_EQ(outcome.out, "") << sql << " (" << format << ")";
      EXPECT_TRUE(outcome.err.starts_with("telltale: ")) << sql << ": " << outcome.err;
    }
  }

  static inline Folder* folder_ = nullptr;
  static inline std::string store_;
  static inline std::string store_bytes_;
};

TEST_F(CliSqlTest, GivesColumnsAndRows) {
  const Outcome outcome = Sql(
      "SELECT 1 AS one, 'x\"y' AS text, NULL AS nothing, 2.50 AS decimal, [1] AS list, "
      "1e400::DOUBLE "
      "AS inf, 18446744073709551615 AS big UNION ALL SELECT 2, '', 'a', 0.1, [], 0.5, 0 ORDER BY 1",
      {"--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  EXPECT_EQ(json.Text("/schema"), "telltale/sql/1");
  EXPECT_EQ(json.Size("/columns"), 7U);
  EXPECT_EQ(json.Text("/columns/0/name"), "one");
  EXPECT_EQ(json.Text("/columns/1/type"), "VARCHAR");
  EXPECT_EQ(json.Size("/rows"), 2U);
  EXPECT_EQ(json.Number("/rows/0/0"), 1U);
  EXPECT_EQ(json.Text("/rows/0/1"), "x\"y");
  EXPECT_TRUE(json.root().at_pointer("/rows/0/2").is_null());
  EXPECT_EQ(json.Text("/rows/0/3"), "2.50");
  EXPECT_TRUE(json.root().at_pointer("/rows/0/5").is_null()) << "JSON has no infinity";
}

TEST_F(CliSqlTest, AnAnswerWithoutRowsIsAnAnswer) {
  const Outcome outcome = Sql("FROM operations WHERE false", {"--json"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(Json(outcome.out).Size("/rows"), 0U);
  const Outcome csv = Sql("SELECT rank FROM operations WHERE false", {"--format", "csv"});
  EXPECT_EQ(csv.out, "rank\n");
}

TEST_F(CliSqlTest, ReadsTheStatementFromStandardInput) {
  Call call;
  call.arguments = {"--store", store_, "--format", "csv", "sql", "-"};
  call.input = "SELECT count(*) AS n\n  FROM operations; -- all of them\n";
  EXPECT_EQ(Telltale(call).out, "n\n1602\n");
}

TEST_F(CliSqlTest, StreamsMoreRowsThanATableTakes) {
  const Outcome csv = Sql("FROM range(300000)", {"--format", "csv"});
  EXPECT_EQ(csv.code, 0);
  EXPECT_EQ(std::count(csv.out.begin(), csv.out.end(), '\n'), 300001);
  EXPECT_TRUE(csv.out.ends_with("299999\n"));
  const Outcome table = Sql("FROM range(300000)");
  EXPECT_EQ(table.code, 1);
  EXPECT_TRUE(Contains(table.err, "use --format csv or --json")) << table.err;
}

TEST_F(CliSqlTest, ErrorsLeaveNoHalfAnswer) {
  for (const std::string sql : {"", "SELEC", "SELECT nosuch FROM operations", "SELECT 1; SELECT 2",
                                "SELECT 'x'::INTEGER", "SELECT error('boom')", "FROM nosuch"}) {
    ExpectRefused(sql);
  }
}

TEST_F(CliSqlTest, CannotWriteTheStore) {
  for (const Strings& options : {Strings{}, {"--allow-files"}}) {
    for (const std::string sql :
         {"INSERT INTO run VALUES (9, 'x', 'x')", "UPDATE source SET path = 'x'",
          "DELETE FROM source", "DROP TABLE source", "DROP VIEW operations",
          "CREATE TABLE x (i INTEGER)", "CREATE VIEW x AS SELECT 1",
          "CREATE OR REPLACE VIEW operations AS SELECT 1", "ALTER TABLE source RENAME TO other",
          "TRUNCATE source", "COMMENT ON TABLE source IS 'x'"}) {
      ExpectRefused(sql, options);
    }
  }
}

TEST_F(CliSqlTest, CannotTouchFiles) {
  WriteFile(*folder_ / "secret.csv", "a\nsecret\n");
  const std::string secret = "'" + *folder_ / "secret.csv" + "'";
  const std::string target = *folder_ / "written";
  for (const std::string& sql :
       Strings{"FROM " + secret, "FROM read_csv(" + secret + ")", "FROM read_text(" + secret + ")",
               "FROM read_blob(" + secret + ")", "FROM read_json(" + secret + ")",
               "FROM read_parquet(" + secret + ")", "FROM glob('/*')",
               "COPY (SELECT 1) TO '" + target + "'",
               "COPY source TO '" + target + "' (FORMAT parquet)",
               "EXPORT DATABASE '" + target + "'", "IMPORT DATABASE '" + target + "'",
               "ATTACH '" + target + "'", "ATTACH '" + store_ + "' AS other (READ_WRITE)",
               "INSTALL httpfs", "LOAD httpfs", "LOAD '" + target + "'"}) {
    ExpectRefused(sql);
  }
  EXPECT_FALSE(fs::exists(target));
}

TEST_F(CliSqlTest, CannotChangeSettings) {
  for (const std::string sql :
       {"SET enable_external_access = true", "SET threads = 64", "RESET threads",
        "SET lock_configuration = false", "PRAGMA enable_external_access = true",
        "SET GLOBAL memory_limit = '1TB'", "SET access_mode = 'read_write'",
        "SET temp_directory = '/tmp'", "PRAGMA log_query_path = '/tmp/telltale-log'"}) {
    ExpectRefused(sql);
  }
}

TEST_F(CliSqlTest, AllowFilesReadsAndWritesOtherFiles) {
  WriteFile(*folder_ / "in.csv", "a,b\n1,x\n");
  const Outcome in =
      Sql("FROM '" + *folder_ / "in.csv" + "'", {"--allow-files", "--format", "csv"});
  EXPECT_EQ(in.out, "a,b\n1,x\n") << in.err;
  const std::string target = *folder_ / "out.csv";
  const Outcome out = Sql("COPY (SELECT 5 AS five) TO '" + target + "'", {"--allow-files"});
  EXPECT_EQ(out.code, 0) << out.err;
  EXPECT_EQ(ReadFile(target), "five\n5\n");
}

TEST_F(CliSqlTest, AllowFilesDoesNotReachTheStoreItself) {
  fs::remove(*folder_ / "link");
  fs::create_symlink(store_, *folder_ / "link");
  for (const std::string& name : {store_, *folder_ / "link", *folder_ / "job/../s.duckdb"}) {
    for (const std::string& sql : Strings{
             "COPY (SELECT 1) TO '" + name + "'", "COPY source TO '" + name + "' (FORMAT parquet)",
             "ATTACH '" + name + "' AS w", "ATTACH '" + name + "' AS w (READ_WRITE)"}) {
      ExpectRefused(sql, {"--allow-files"});
    }
  }
}

// --- Export ---

TEST_F(CliSqlTest, ParquetHoldsWhatTheStoreHolds) {
  const std::string out = *folder_ / "parquet";
  const Outcome exported =
      Telltale({"--store", store_, "--json", "export", "parquet", "--out", out});
  ASSERT_EQ(exported.code, 0) << exported.err;
  const Json json(exported.out);
  ASSERT_EQ(json.Size("/files"), 3U);
  for (const std::string at : {"/files/0", "/files/1", "/files/2"}) {
    const std::string name = json.Text(at + "/name");
    const std::string path = json.Text(at + "/path");
    EXPECT_EQ(path, out + "/" + name + ".parquet");
    EXPECT_EQ(json.Number(at + "/size_bytes"), fs::file_size(path));
    const Outcome difference =
        Sql("SELECT count(*) AS n FROM ((FROM " + name + " EXCEPT ALL FROM '" + path +
                "') UNION ALL (FROM '" + path + "' EXCEPT ALL FROM " + name + "))",
            {"--allow-files", "--format", "csv"});
    EXPECT_EQ(difference.out, "n\n0\n") << name << difference.err;
    const Outcome count =
        Sql("SELECT count(*) AS n FROM '" + path + "'", {"--allow-files", "--format", "csv"});
    EXPECT_EQ(count.out, "n\n" + std::to_string(json.Number(at + "/rows")) + "\n");
  }
  for (const auto& entry : fs::directory_iterator(out)) {
    EXPECT_EQ(entry.path().extension(), ".parquet") << "a draft is left";
  }
}

TEST_F(CliSqlTest, ExportOverwritesOnlyWhenTold) {
  const std::string out = *folder_ / "again";
  const Strings command = {"--store", store_, "export", "parquet", "--out", out, "source"};
  ASSERT_EQ(Telltale(command).code, 0);
  const Outcome second = Telltale(command);
  EXPECT_EQ(second.code, 1);
  EXPECT_TRUE(Contains(second.err, "source.parquet exists; --force overwrites it")) << second.err;
  Strings forced = command;
  forced.emplace_back("--force");
  EXPECT_EQ(Telltale(forced).code, 0);
}

TEST_F(CliSqlTest, ExportSaysWhatItCannotDo) {
  const Outcome unknown = Telltale(
      {"--store", store_, "export", "parquet", "--out", *folder_ / "no", "source", "no\"such'"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_TRUE(Contains(unknown.err, "no table or view no\"such'; it has ")) << unknown.err;
  EXPECT_FALSE(fs::exists(*folder_ / "no")) << "nothing is written before all names are known";
  WriteFile(*folder_ / "file", "x");
  for (const std::string& out : {*folder_ / "file", *folder_ / "file/below"}) {
    const Outcome blocked = Telltale({"--store", store_, "export", "parquet", "--out", out});
    EXPECT_EQ(blocked.code, 1);
    EXPECT_TRUE(blocked.err.starts_with("telltale: ")) << blocked.err;
    EXPECT_FALSE(Contains(blocked.err, "internal error")) << blocked.err;
  }
}

TEST_F(CliSqlTest, ExportTakesAFolderWithAnyName) {
  const std::string out = *folder_ / "it's \"here\"; --";
  const Outcome outcome = Telltale({"--store", store_, "export", "parquet", "--out", out, "run"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_TRUE(fs::exists(out + "/run.parquet"));
}

TEST_F(CliSqlTest, ExportToAFullDiskLeavesNothing) {
  Call call;
  call.arguments = {"--store", store_, "export", "parquet", "--out", *folder_ / "full"};
  call.max_file_bytes = 4096;
  const Outcome outcome = Telltale(call);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(Contains(outcome.err, "operations.parquet")) << outcome.err;
  EXPECT_TRUE(FilesOf(*folder_ / "full").empty());
}

}  // namespace
}  // namespace telltale::tests
