#include "collectives/kept_answers.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/fingerprint.h"
#include "base/version.h"
#include "collectives/preparation.h"
#include "collectives/selection.h"
#include "store/query.h"

namespace telltale::collectives {
namespace {

constexpr std::array<std::string_view, 10> kKept = {
    "summary", "communicators", "by-communicator", "by-host",       "by-rank",
    "p2p",     "scaling",       "over-time",       "over-sequence", "skew"};

std::string TableOf(std::string_view query) {
  std::string name = fmt::format("kept_{}", query);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// To be raised when our own code, not the SQL, says something else in an answer.
constexpr std::string_view kWay = "1";

// A digest of all that an answer follows from but the records.
const std::string& ThisProgram() {
  static const std::string digest = [] {
    Fingerprint fingerprint;
    fingerprint.Add(kVersion);
    fingerprint.Add(kWay);
    for (const QueryHead& head : QueryHeads("")) {
      fingerprint.Add(QueryText(head.name).value_or(""));
    }
    return fingerprint.Finish();
  }();
  return digest;
}

constexpr const char* kIsCurrent =
    "made_by = $1 AND (sources, last_source) IS NOT DISTINCT FROM "
    "(SELECT (count(*), max(source)) FROM source)";

Status Keep(Store& store, std::string_view query) {
  TELLTALE_ASSIGN(const auto connection, store.Connect());
  TELLTALE_TRY(SelectFor(*connection, FilterValues(Filters().size()), query));
  TELLTALE_TRY(Prepare(store, *connection, query, ""));
  TELLTALE_ASSIGN(const std::string text, QueryText(fmt::format("collectives/{}", query)));
  const std::string table = TableOf(query);
  TELLTALE_TRY(
      connection->Run(fmt::format("BEGIN; CREATE OR REPLACE TABLE {} AS {}", table, text)));
  TELLTALE_TRY(connection->Run(fmt::format(
      "COMMENT ON TABLE {} IS 'Kept answer to telltale collectives {}; see kept_answer'", table,
      query)));
  const std::array<Cell, 3> values = {std::string(query), table, ThisProgram()};
  TELLTALE_TRY(connection->Run(
      "INSERT INTO kept_answer SELECT $1, $2, $3, count(*), max(source) FROM source", values));
  return connection->Run("COMMIT");
}

Status Drop(Connection& connection) {
  TELLTALE_ASSIGN(const int64_t kept, connection.QueryInteger("SELECT count(*) FROM kept_answer"));
  if (kept == 0) return {};
  std::string sql = "BEGIN; DELETE FROM kept_answer;";
  for (const std::string_view query : kKept) {
    sql += fmt::format("DROP TABLE IF EXISTS {};", TableOf(query));
  }
  return connection.Run(sql + "COMMIT; CHECKPOINT");
}

}  // namespace

Status KeepAnswers(Store& store, int64_t fewest_records) {
  TELLTALE_ASSIGN(const auto connection, store.Connect());
  TELLTALE_ASSIGN(const int64_t records,
                  connection->QueryInteger("SELECT sum(operations)::BIGINT FROM operation_series"));
  if (records < fewest_records) return Drop(*connection);
  const std::array<Cell, 1> values = {ThisProgram()};
  TELLTALE_ASSIGN(
      const int64_t current,
      connection->QueryInteger(fmt::format("SELECT count(*) FROM kept_answer WHERE {}", kIsCurrent),
                               values));
  if (current == static_cast<int64_t>(kKept.size())) return {};
  TELLTALE_TRY(Drop(*connection));
  for (const std::string_view query : kKept) TELLTALE_TRY(Keep(store, query));
  return store.Checkpoint();
}

Result<std::optional<Table>> KeptAnswer(Connection& connection, std::string_view query) {
  const std::array<Cell, 2> values = {ThisProgram(), std::string(query)};
  TELLTALE_ASSIGN(
      const Table kept,
      connection.Query(fmt::format("SELECT answer FROM kept_answer WHERE {} AND query = $2 "
                                   "AND answer IN (SELECT table_name FROM duckdb_tables())",
                                   kIsCurrent),
                       values));
  if (kept.rows.empty()) return std::optional<Table>();
  TELLTALE_ASSIGN(Table answer,
                  connection.Query(fmt::format("FROM {}", CellText(kept.rows[0][0]))));
  return std::optional(std::move(answer));
}

}  // namespace telltale::collectives
