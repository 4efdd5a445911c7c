// Every query of `telltale collectives` on the samples: what it says (tests/golden), that rollups
// give what the records give, that the stock exporter's numbers come out, and that docs/queries.md
// is made of the queries' heads. TELLTALE_UPDATE_GOLDEN=1 writes the golden files and the page
// anew.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "collectives/between.h"
#include "collectives/kept_answers.h"
#include "collectives/preparation.h"
#include "collectives/rank_skew.h"
#include "collectives/selection.h"
#include "readers/ingest.h"
#include "store/query.h"
#include "tests/program.h"
#include "tests/support/inspector_support.h"

namespace telltale::tests {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

const std::string kRoot = TELLTALE_SOURCE_DIR;
constexpr const char* kTrain = "json-2.30.7-train-2x8";
constexpr const char* kSweep = "json-2.30.7-sweep-minsize0-2x4";

bool Updates() { return std::getenv("TELLTALE_UPDATE_GOLDEN") != nullptr; }

// Proxy records of both layouts: the plugin's samples have none.
std::string ProxyLog() {
  const std::string head =
      R"({"header":{"id":"0xabc","comm_name":"WORLD","rank":2,"n_ranks":8,"nnodes":8},"metadata":)"
      R"({"inspector_output_format_version":"v4.4","git_rev":"","rec_mechanism":"nccl_profiler_interface",)"
      R"("dump_timestamp_us":1700000000000000,"hostname":"node3","pid":100},"dump_stats":{"coll_records":0,)"
      R"("p2p_records":0,"proxy_records":2}})";
  const std::string step =
      R"({"proxy_trace":{"record_type":"proxy_step","record_sn":41,"parent_type":"coll","parent_sn":7,)"
      R"("proxy_op_sn":12,"rank":2,"channel_id":0,"peer":3,"direction":"send","proxy_step_sn":1,"step":0,)"
      R"("trans_size_bytes":1048576,"event_trace_ts":{"proxy_step_start_ts":1000,"send_gpu_wait_ts":1010,)"
      R"("send_peer_wait_ts":1030,"send_wait_ts":1070,"proxy_step_stop_ts":1150}}})";
  const std::string op =
      R"({"proxy_trace":{"record_type":"proxy_op","record_sn":42,"parent_type":"coll","parent_sn":7,)"
      R"("proxy_op_sn":13,"rank":2,"channel_id":0,"peer":3,"direction":"recv","is_final":true,)"
      R"("trans_size_bytes":128,"total_us":90,"steps":[)"
      R"({"proxy_step_sn":0,"step":0,"trans_size_bytes":64,"total_us":30,"wire_us":20,"flush_us":6,"gpu_consume_us":4},)"
      R"({"proxy_step_sn":1,"step":1,"trans_size_bytes":64,"total_us":60,"wire_us":50,"flush_us":7,"gpu_consume_us":3}]}})";
  return head + "\n" + step + "\n" + op + "\n";
}

class CollectivesQueries : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    store_ = *folder_ / "s.duckdb";
    for (const std::string& folder : test::InspectorSampleFolders()) {
      const std::string run = fs::path(folder).filename();
      const Outcome outcome = Telltale({"--store", store_, "-q", "ingest", folder, "--run", run});
      ASSERT_EQ(outcome.code, 0) << run << ": " << outcome.err;
    }
    fs::create_directory(*folder_ / "proxy");
    WriteFile(*folder_ / "proxy/node3-pid100.log", ProxyLog());
    ASSERT_EQ(
        Telltale({"--store", store_, "-q", "ingest", *folder_ / "proxy", "--run", "proxy"}).code,
        0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (test::InspectorSamples().empty()) GTEST_SKIP() << "no samples (TELLTALE_SAMPLES)";
  }

  static Outcome Ask(Strings arguments) {
    Strings all = {"--store", store_, "-q", "collectives"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Telltale(all);
  }
  static std::string Answer(const Strings& arguments) {
    const Outcome outcome = Ask(arguments);
    EXPECT_EQ(outcome.code, 0) << testing::PrintToString(arguments) << outcome.err;
    return outcome.out;
  }

  static inline Folder* folder_ = nullptr;
  static inline std::string store_;
};

struct GoldenCase {
  const char* query;
  std::vector<Strings> asked;  // arguments after the query
};

const std::vector<GoldenCase>& GoldenCases() {
  static const std::vector<GoldenCase> cases = {
      {"summary", {{"--run", kTrain}, {"--run", kSweep}, {"--host", "node002", "--run", kTrain}}},
      {"traffic", {{"--run", kTrain}, {}, {"--coll", "allreduce", "--coll", "Broadcast"}}},
      {"sizes", {{"--run", kTrain}, {"5"}, {"--run", kSweep, "--size", "1K-64K"}}},
      {"bandwidth",
       {{"--run", kTrain},
        {"--run", kTrain, "--comm-type", "hca-only"},
        {"--run", kSweep, "--size", "1M"},
        {"--run", kTrain, "--nvlink-domain", "2"}}},
      {"bandwidth-each",
       {{"--run", kTrain, "--comm", "PP/DP Rail 3"}, {"--run", "json-2.30.7-noname-1x2"}}},
      {"by-communicator",
       {{"--run", kTrain}, {"--run", kTrain, "--coll", "Send", "--draw", "always"}}},
      {"by-host", {{"--run", kTrain}, {"--comm", "0xe2c41d73fa60e3", "--run", kTrain}}},
      {"by-rank",
       {{"--run", kTrain, "--comm", "WORLD"},
        {"--run", kTrain, "--rank", "1", "--coll", "AllReduce"}}},
      {"over-time",
       {{"--run", kTrain, "--comm", "PP/DP Rail 3"},
        {"1", "--run", kTrain, "--comm", "WORLD", "--draw", "always"}}},
      {"over-sequence",
       {{"10", "--run", kTrain, "--comm", "PP/DP Rail 3", "--draw", "always"}, {"--run", kTrain}}},
      {"configurations", {{"--run", kTrain}, {"--run", kSweep, "--draw", "always"}}},
      {"latency", {{"--run", kSweep, "--coll", "AllReduce"}, {"8192", "--run", kSweep}}},
      {"scaling", {{"--coll", "AllReduce", "--coll", "Send"}}},
      {"compare",
       {{"json-2.28.9-train-2x4", "json-2.29.7-train-2x4"},
        {kTrain, "reconstructed-v4.1-train-2x4"}}},
      {"skew", {{"--run", kTrain}, {"--run", "reconstructed-v4.3-train-2x4", "--comm", "WORLD"}}},
      {"algorithms", {{"--run", "reconstructed-v4.2-train-2x4"}, {"--run", kTrain}}},
      {"p2p", {{"--run", kTrain}}},
      {"proxy", {{}, {"--run", kTrain}}},
      {"coverage", {{}, {"--run", kTrain}}},
      {"communicators",
       {{"--run", kTrain}, {"--run", "json-2.28.9-train-2x4", "--run", "json-2.28.9-verbose-1x4"}}},
      {"places", {{"--run", kTrain}, {"--run", "json-2.30.7-killed-truncated"}}},
  };
  return cases;
}

TEST_F(CollectivesQueries, SayWhatTheySaid) {
  std::set<std::string> queries;
  for (const GoldenCase& golden : GoldenCases()) {
    queries.insert(std::string("collectives/") + golden.query);
    std::string text;
    for (const Strings& asked : golden.asked) {
      Strings arguments = {golden.query};
      arguments.insert(arguments.end(), asked.begin(), asked.end());
      text += "$ telltale collectives";
      for (const std::string& argument : arguments) {
        text += " " + (argument.find(' ') == std::string::npos ? argument : "\"" + argument + "\"");
      }
      text += "\n" + Answer(arguments) + "\n";
    }
    const std::string path = kRoot + "/tests/golden/collectives_samples_" + golden.query + ".txt";
    if (Updates()) WriteFile(path, text);
    ASSERT_TRUE(fs::exists(path)) << path;
    EXPECT_TRUE(ReadFile(path) == text) << path << " says otherwise; now it is\n" << text;
  }
  for (const QueryHead& head : QueryHeads("collectives/")) {
    EXPECT_TRUE(queries.contains(head.name)) << head.name << " has no golden test";
  }
}

// With a time filter that leaves everything in, every record is read.
TEST_F(CollectivesQueries, RollupsGiveWhatTheRecordsGive) {
  for (const GoldenCase& golden : GoldenCases()) {
    if (std::string(golden.query) == "coverage") continue;  // is about whole runs
    for (const Strings& asked : golden.asked) {
      Strings arguments = {"--format", "csv", golden.query};
      arguments.insert(arguments.end(), asked.begin(), asked.end());
      const std::string from_rollups = Answer(arguments);
      arguments.insert(arguments.end(), {"--since", "0"});
      EXPECT_TRUE(from_rollups == Answer(arguments)) << testing::PrintToString(arguments);
    }
  }
}

// What a preparation leaves, against the same from SQL over the records.
class Prepared {
 public:
  Prepared(const std::string& path, const collectives::FilterValues& filters) {
    StoreOptions options;
    options.access = Access::kReadOnly;
    store_ = std::move(Store::Open(path, options)).value();
    connection_ = std::move(store_->Connect()).value();
    const Status status = collectives::Select(*connection_, filters);
    EXPECT_TRUE(status) << status.error().message;
  }
  void Prepare(const std::string& query, const std::string& value = "") {
    const Status status = collectives::Prepare(*store_, *connection_, query, value);
    EXPECT_TRUE(status) << query << ": " << status.error().message;
  }
  void CountBetween() {
    const Status status = collectives::CountBetween(*store_, *connection_);
    EXPECT_TRUE(status) << status.error().message;
  }
  Connection& connection() { return *connection_; }
  Strings Rows(const std::string& sql) {
    const Result<Table> table = connection_->Query(sql);
    EXPECT_TRUE(table) << table.error().message;
    Strings rows;
    if (!table) return rows;
    for (const std::vector<Cell>& row : table->rows) {
      std::string text;
      for (const Cell& cell : row) text += CellText(cell) + "|";
      rows.push_back(text);
    }
    return rows;
  }

 private:
  std::unique_ptr<Store> store_;
  std::unique_ptr<Connection> connection_;
};

// No filter, one of place, one of time.
std::vector<collectives::FilterValues> SomeFilters() {
  std::vector<collectives::FilterValues> all(
      3, collectives::FilterValues(collectives::Filters().size()));
  for (size_t i = 0; i < collectives::Filters().size(); ++i) {
    const std::string option = collectives::Filters()[i].option;
    if (option == "--host") all[1][i] = {"node001"};
    if (option == "--since") all[2][i] = {"1795953924000000"};
    if (option == "--until") all[2][i] = {"1795953927000000"};
  }
  return all;
}

TEST_F(CollectivesQueries, SlotsAreRatedAsSqlDoes) {
  struct Case {
    const char* query;
    const char* value;
    const char* bin;
  };
  const std::vector<Case> cases = {
      {"by-communicator", "", "0"},
      {"by-host", "", "0"},
      {"by-rank", "", "0"},
      {"p2p", "", "0"},
      {"over-time", "", "try_cast(r.dump_timestamp_us AS BIGINT)"},
      {"over-time", "0.5", "try_cast(r.dump_timestamp_us AS BIGINT)"},
      {"over-sequence", "", "try_cast(r.sequence AS BIGINT)"},
      {"over-sequence", "7", "try_cast(r.sequence AS BIGINT)"},
  };
  for (const collectives::FilterValues& filters : SomeFilters()) {
    for (const Case& asked : cases) {
      Prepared prepared(store_, filters);
      prepared.Prepare(asked.query, asked.value);
      const std::string value = asked.bin;
      const std::string reference =
          "SELECT slot, bin, unnest(b) FROM (SELECT m.slot, " +
          (value == "0" ? "0" : "floor((" + value + " - m.origin) / m.width)::BIGINT") +
          " AS bin, busbw_summary(r.traffic_bytes, r.bus_factor, r.rate_time_us, 1::UBIGINT) AS b "
          "FROM selected_record r JOIN ("
          "  SELECT slot, origin, width, unnest(series) AS series, NULL::UBIGINT AS bytes, false "
          "AS "
          "odd FROM slot UNION ALL "
          "  SELECT slot, origin, width, unnest(irregular).series, "
          "unnest(irregular).message_bytes, "
          "true FROM slot) m ON m.series = r.series "
          "AND m.odd = (r.series, r.line) IN (SELECT (series, line) FROM selected_irregular) "
          "AND (NOT m.odd OR m.bytes IS NOT DISTINCT FROM r.message_bytes) "
          "GROUP BY m.slot, bin) WHERE b IS NOT NULL AND bin IS NOT NULL";
      const std::string ours =
          "SELECT slot, bin, n, busbw_gbs_min, busbw_gbs_p10, busbw_gbs_p25, busbw_gbs_p50, "
          "busbw_gbs_p75, busbw_gbs_p90, busbw_gbs_max FROM rated";
      const std::string columns = "slot, bin, n, min, p10, p25, p50, p75, p90, max";
      EXPECT_GT(prepared.Rows("FROM rated").size(), 0U) << asked.query;
      EXPECT_EQ(prepared.Rows("(" + ours + ") EXCEPT (SELECT " + columns + " FROM (" + reference +
                              ")) ORDER BY ALL"),
                Strings{})
          << asked.query << " " << asked.value;
      EXPECT_EQ(prepared.Rows("(SELECT " + columns + " FROM (" + reference + ")) EXCEPT (" + ours +
                              ") ORDER BY ALL"),
                Strings{})
          << asked.query << " " << asked.value;
      // Sums in another order: equal up to rounding.
      EXPECT_EQ(prepared.Rows(
                    "SELECT o.slot, o.busbw_gbs_mean, t.mean, o.variation, t.stddev / t.mean FROM "
                    "rated o JOIN (" +
                    reference +
                    ") t USING (slot, bin) WHERE NOT abs(o.busbw_gbs_mean - t.mean) <= 1e-9 * "
                    "t.mean OR NOT coalesce(abs(o.variation - t.stddev / t.mean) <= 1e-9, "
                    "o.variation IS NULL AND t.stddev IS NULL)"),
                Strings{})
          << asked.query << " " << asked.value;
    }
  }
}

TEST_F(CollectivesQueries, SkewIsWhatTheRecordsSay) {
  for (const collectives::FilterValues& filters : SomeFilters()) {
    Prepared prepared(store_, filters);
    prepared.Prepare("skew");
    const Strings ours = prepared.Rows("FROM rank_skew ORDER BY ALL");
    EXPECT_GT(ours.size(), 0U);
    const Status status = collectives::MakeRankSkewByRecords(prepared.connection());
    EXPECT_TRUE(status) << status.error().message;
    EXPECT_EQ(ours, prepared.Rows("FROM rank_skew ORDER BY ALL"));
  }
}

TEST_F(CollectivesQueries, CountsOfAPartOfTheTimeAreExact) {
  Prepared prepared(store_, SomeFilters()[2]);
  prepared.CountBetween();
  const std::string cell =
      "run, communicator_type, n_ranks, nnodes, kind, operation, algorithm, protocol";
  const std::string counts =
      "sum(operations), sum(exec_time_us_sum), min(exec_time_us_min), max(exec_time_us_max)";
  const std::string counts_of_records =
      "count(*), sum(exec_time_us), min(exec_time_us), max(exec_time_us)";
  const std::string record = " FROM selected_record r JOIN selected_series s USING (series) ";
  const auto expect_same = [&](const std::string& ours, const std::string& reference) {
    const Strings rows = prepared.Rows(ours + " ORDER BY ALL");
    EXPECT_GT(rows.size(), 0U) << ours;
    EXPECT_EQ(rows, prepared.Rows(reference + " ORDER BY ALL"));
  };
  expect_same(
      "SELECT series, message_bytes, operations, exec_time_us_sum, exec_time_us_min, "
      "exec_time_us_max, first_dump_timestamp_us, last_dump_timestamp_us "
      "FROM selected_count",
      "SELECT series, r.message_bytes, " + counts_of_records +
          ", min(dump_timestamp_us), max(dump_timestamp_us)" + record + "GROUP BY ALL");
  expect_same(
      "SELECT " + cell + ", c.message_bytes, " + counts +
          " FROM cell_count c JOIN selected_cell USING (cell) GROUP BY ALL",
      "SELECT " + cell + ", r.message_bytes, " + counts_of_records + record + "GROUP BY ALL");
  expect_same("SELECT " + cell +
                  ", t.message_bytes, exec_time_us, sum(operations) FROM cell_time t "
                  "JOIN selected_cell USING (cell) WHERE exec_time_us > 0 GROUP BY ALL",
              "SELECT " + cell + ", r.message_bytes, r.exec_time_us, count(*)" + record +
                  "WHERE r.exec_time_us > 0 GROUP BY ALL");
}

TEST_F(CollectivesQueries, CellsAreExact) {
  Prepared prepared(store_, collectives::FilterValues(collectives::Filters().size()));
  const std::string described =
      " c.communicator_type, c.n_ranks, c.nnodes, c.kind, c.operation, c.message_bytes, "
      "c.algorithm, "
      "c.protocol ";
  const Strings from_cells = prepared.Rows(
      "SELECT u.name," + described +
      ", h.exec_time_us, sum(h.operations) FROM operation_cell c JOIN operation_cell_histogram h "
      "USING (cell) JOIN run u USING (run) GROUP BY ALL ORDER BY ALL");
  EXPECT_GT(from_cells.size(), 0U);
  EXPECT_EQ(from_cells,
            prepared.Rows(
                "SELECT c.run, " + described +
                ", r.record.exec_time_us, count(*) FROM operation_record r "
                "JOIN selected_series c ON c.series = r.block >> 16 GROUP BY ALL ORDER BY ALL"));
  EXPECT_EQ(prepared.Rows("SELECT cell, operations, exec_time_us_sum, exec_time_us_min, "
                          "exec_time_us_max FROM operation_cell ORDER BY cell"),
            prepared.Rows("SELECT cell, sum(operations), sum(exec_time_us::HUGEINT * operations), "
                          "min(exec_time_us), max(exec_time_us) FROM operation_cell_histogram "
                          "GROUP BY cell ORDER BY cell"));
}

// After an ingest that was stopped before its end, cells are not made of all sources: then they are
// not used.
TEST_F(CollectivesQueries, CellsThatAreOutOfDateAreNotUsed) {
  const std::string copy = *folder_ / "stale.duckdb";
  fs::copy_file(store_, copy);
  StoreOptions options;
  options.access = Access::kReadWrite;
  {
    auto store = std::move(Store::Open(copy, options)).value();
    auto connection = std::move(store->Connect()).value();
    ASSERT_TRUE(connection->Run("UPDATE operation_cell SET operations = 7 * operations"));
    ASSERT_TRUE(connection->Run("DELETE FROM operation_cell_basis WHERE run = 0"));
  }
  const auto traffic = [](const std::string& store) {
    return Telltale({"--store", store, "-q", "collectives", "traffic"}).out;
  };
  EXPECT_EQ(traffic(copy), traffic(store_));
}

// An answer that is kept is the one found anew, and it is used only for the question without
// filters, while the store's sources are those it was made from.
TEST_F(CollectivesQueries, KeptAnswersAreTheAnswers) {
  const std::string copy = *folder_ / "kept.duckdb";
  fs::copy_file(store_, copy);
  const auto in_copy = [&](const auto& work) {
    StoreOptions options;
    options.access = Access::kReadWrite;
    auto store = std::move(Store::Open(copy, options)).value();
    const Status status = work(*store);
    EXPECT_TRUE(status) << status.error().message;
  };
  const auto ask = [&](Strings arguments) {
    Strings all = {"--store", copy, "-q", "--format", "csv", "collectives"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return Telltale(all).out;
  };
  const Strings queries = {"summary",       "communicators", "by-communicator", "by-host",
                           "by-rank",       "p2p",           "scaling",         "over-time",
                           "over-sequence", "skew"};
  std::map<std::string, std::string> found;
  for (const std::string& query : queries) found[query] = ask({query});
  in_copy([](Store& store) { return collectives::KeepAnswers(store, 1); });
  for (const std::string& query : queries) EXPECT_EQ(ask({query}), found[query]) << query;

  const std::string run = ask({"summary", "--run", kTrain});
  in_copy([](Store& store) {
    return (*store.Connect())->Run("UPDATE kept_summary SET operations = 471142");
  });
  EXPECT_NE(ask({"summary"}).find("471142"), std::string::npos) << "it is not used";
  EXPECT_EQ(ask({"summary", "--run", kTrain}), run);

  // Another source is in the store now, and nothing was kept since.
  in_copy([&](Store& store) {
    IngestOptions options;
    fs::create_directory(*folder_ / "more");
    WriteFile(*folder_ / "more/node9-pid1.log", ProxyLog() + "\n");
    options.paths = {*folder_ / "more"};
    const auto report = Ingest(store, options);
    EXPECT_TRUE(report) << report.error().message;
    return Status();
  });
  EXPECT_EQ(ask({"by-rank"}), found["by-rank"]);
  EXPECT_EQ(ask({"summary"}).find("471142"), std::string::npos);
  // In a store as small as this one an ingest keeps none.
  in_copy([](Store& store) { return collectives::KeepAnswers(store); });
  const Outcome kept =
      Telltale({"--store", copy, "-q", "--format", "csv", "sql",
                "SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'kept%'"});
  EXPECT_NE(kept.out.find("\n1\n"), std::string::npos) << kept.out;
}

TEST_F(CollectivesQueries, HelpOfAQueryIsItsHead) {
  for (const QueryHead& head : QueryHeads("collectives/")) {
    const std::string name = head.name.substr(head.name.find('/') + 1);
    const Outcome outcome = Telltale({"collectives", name, "--help"});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_TRUE(outcome.out.starts_with(head.question)) << name;
    EXPECT_NE(outcome.out.find("Columns:"), std::string::npos) << name;
    EXPECT_NE(outcome.out.find(head.text.substr(head.text.find('\n') + 1)), std::string::npos)
        << name;
    for (const QueryParameter& parameter : head.parameters) {
      EXPECT_NE(outcome.out.find(" " + parameter.name), std::string::npos) << name;
    }
    EXPECT_EQ(outcome.out.find("--nvlink-domain") == std::string::npos, name == "coverage") << name;
  }
}

TEST_F(CollectivesQueries, EveryFormat) {
  for (const GoldenCase& golden : GoldenCases()) {
    Strings arguments = {golden.query};
    arguments.insert(arguments.end(), golden.asked[0].begin(), golden.asked[0].end());
    Strings json_arguments = arguments;
    json_arguments.insert(json_arguments.end(), {"--json"});
    const std::string text = Answer(json_arguments);
    const Json json(text);
    ASSERT_TRUE(json.valid()) << golden.query;
    EXPECT_EQ(json.Text("/schema"), std::string("telltale/collectives.") + golden.query + "/1");
    EXPECT_GT(json.Size(std::string("/") + golden.query), 0U) << golden.query;
    arguments.insert(arguments.end(), {"--format", "markdown"});
    EXPECT_TRUE(Answer(arguments).starts_with("| ")) << golden.query;
  }
}

TEST_F(CollectivesQueries, FiltersThatCannotBeUnderstoodAreWrongUsage) {
  for (const Strings& filter : std::vector<Strings>{{"--comm-type", "nvlink"},
                                                    {"--rank", "x"},
                                                    {"--size", "64K-8K"},
                                                    {"--size", "1X"},
                                                    {"--since", "yesterday"},
                                                    {"--nvlink-domain", "0"},
                                                    {"extra"}}) {
    Strings arguments = {"summary"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    const Outcome outcome = Ask(arguments);
    EXPECT_EQ(outcome.code, 2) << filter[0];
    EXPECT_EQ(outcome.out, "") << filter[0];
    EXPECT_NE(outcome.err.find(filter.back()), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(Ask({"compare", "a"}).code, 2);
  for (const Strings& value : std::vector<Strings>{
           {"latency", "abc"}, {"sizes", "-1"}, {"over-time", "0"}, {"over-sequence", "nan"}}) {
    EXPECT_EQ(Ask(value).code, 2) << value[0];
  }
  EXPECT_EQ(Answer({"latency", "64K", "--format", "csv"}),
            Answer({"latency", "65536", "--format", "csv"}));
  // A name is never more than a name.
  EXPECT_EQ(Answer({"traffic", "--host", "x'; DROP TABLE run; --", "--format", "csv"}),
            "operation,communicator_type,operations,operations_percent,message_bytes,"
            "message_bytes_percent,exec_time_s,exec_time_percent\n");
}

TEST_F(CollectivesQueries, TimesCutBetweenDumps) {
  const auto operations = [](const Strings& filter) {
    Strings arguments = {"traffic", "--json", "--run", kTrain};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    const std::string text = Answer(arguments);
    const Json json(text);
    uint64_t sum = 0;
    for (size_t i = 0; i < json.Size("/traffic"); ++i) {
      sum += json.Number("/traffic/" + std::to_string(i) + "/operations");
    }
    return sum;
  };
  const uint64_t before = operations({"--until", "1795953926000000"});
  EXPECT_GT(before, 0U);
  EXPECT_EQ(before + operations({"--since", "1795953926000000"}), operations({}));
  EXPECT_EQ(before, operations({"--until", "2026-11-29T12:05:26"}));
  EXPECT_EQ(before, operations({"--until", "2026-11-29T14:05:26+02:00"}));
}

// perf_summary_exporter.py, over the lines as they are: for each communicator type and operation,
// average bandwidth and count by (id, sequence, size). It cannot read lines without header (v4.3
// and newer).
TEST_F(CollectivesQueries, TheStockExportersTables) {
  struct Mean {
    double sum = 0;
    uint64_t count = 0;
  };
  size_t compared = 0;
  for (const std::string& folder : test::InspectorSampleFolders()) {
    const std::string run = fs::path(folder).filename();
    if (run.find("v4.3") != std::string::npos || run.find("v4.4") != std::string::npos) continue;
    std::map<std::string, Mean> stock;
    simdjson::dom::parser parser;
    for (const std::string& path : test::FilesIn(folder)) {
      for (const std::string& line : test::LinesOf(test::BytesOf(path))) {
        simdjson::dom::element record;
        simdjson::dom::element perf;
        if (parser.parse(line).get(record) != simdjson::SUCCESS) continue;
        if (record["coll_perf"].get(perf) != simdjson::SUCCESS) continue;
        const int64_t ranks = record["header"]["n_ranks"];
        const int64_t nodes = record["header"]["nnodes"];
        const std::string type = ranks == 1       ? "single-rank"
                                 : nodes == 1     ? "nvlink-only"
                                 : ranks == nodes ? "nic-only"
                                                  : "mixed";
        const std::string key =
            fmt::format("{}|{}|{}|{}|{}", type, std::string_view(perf["coll"]),
                        std::string_view(record["header"]["id"]), uint64_t(perf["coll_sn"]),
                        uint64_t(perf["coll_msg_size_bytes"]));
        Mean& mean = stock[key];
        mean.sum += double(perf["coll_busbw_gbs"]);
        ++mean.count;
      }
    }
    const std::string text = Answer({"bandwidth-each", "--json", "--run", run});
    const Json json(text);
    simdjson::dom::array rows = json.root()["bandwidth-each"];
    EXPECT_EQ(rows.size(), stock.size()) << run;
    for (const simdjson::dom::element row : rows) {
      const std::string key =
          fmt::format("{}|{}|{}|{}|{}", std::string_view(row["communicator_type"]),
                      std::string_view(row["operation"]), std::string_view(row["communicator_id"]),
                      uint64_t(row["sequence"]), uint64_t(row["message_bytes"]));
      ASSERT_TRUE(stock.contains(key)) << run << ": " << key;
      const Mean& mean = stock[key];
      EXPECT_EQ(uint64_t(row["log_count"]), mean.count) << key;
      const double expected = mean.sum / static_cast<double>(mean.count);
      EXPECT_NEAR(double(row["busbw_gbs_mean"]), expected, 1e-9 * std::abs(expected)) << key;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1000U);
}

std::string FilterName(const collectives::Filter& filter) { return filter.option; }

// docs/queries.md
std::string QueriesPage() {
  std::string page =
      "# Queries\n\n"
      "What `telltale collectives QUERY [VALUES…]` answers. This page is made from the heads of\n"
      "`queries/collectives/*.sql` (`TELLTALE_UPDATE_GOLDEN=1 ctest -R CollectivesQueries`).\n\n"
      "## Filters\n\n"
      "Each narrows what a query is about; given several times, what fits any of the values stays "
      "in.\n"
      "Without `--since` and `--until` most answers come from exact rollups; with them records are "
      "read.\n\n"
      "| filter | leaves |\n|---|---|\n";
  for (const collectives::Filter& filter : collectives::Filters()) {
    page += fmt::format("| `{}` | {} |\n", FilterName(filter), filter.help);
  }
  for (const QueryHead& head : QueryHeads("collectives/")) {
    const std::string name = head.name.substr(head.name.find('/') + 1);
    std::string values;
    for (const QueryParameter& parameter : head.parameters) {
      if (parameter.name == "run") continue;
      values += parameter.required ? " " + parameter.name : " [" + parameter.name + "]";
    }
    page += fmt::format("\n## {}\n\n{}\n\n`telltale collectives {}{}`\n\n```\n", name,
                        head.question, name, values);
    page += head.text.substr(head.text.find('\n') + 1) + "```\n";
  }
  return page;
}

TEST(QueriesPage, IsMadeFromTheHeads) {
  const std::string path = kRoot + "/docs/queries.md";
  if (Updates()) WriteFile(path, QueriesPage());
  ASSERT_TRUE(fs::exists(path));
  EXPECT_TRUE(ReadFile(path) == QueriesPage())
      << "docs/queries.md is out of date: TELLTALE_UPDATE_GOLDEN=1 makes it anew";
}

}  // namespace
}  // namespace telltale::tests
