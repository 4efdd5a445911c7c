// Every query of `telltale collectives` but those that list each single operation, over one store:
// the median time of its answer in an open store (filters, preparation, SQL, all rows fetched, on a
// new connection each time), and beside it that of the whole process, with its start and its
// output as CSV. `_since` and `_since_half`: the same with a filter by time that leaves nearly all
// in, or the second half, so that no rollup can answer.
//
//   query_bench --telltale build/release/telltale --store FILE [--runs 5] [--name NAME]
//               [--only QUERY]
//
// Writes rows of build/bench.json, one a line.

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "bench/measure.h"
#include "collectives/kept_answers.h"
#include "collectives/preparation.h"
#include "collectives/selection.h"
#include "store/query.h"
#include "store/store.h"

namespace {

using telltale::Cell;
using telltale::Connection;
using telltale::Store;
using telltale::bench::ValueOf;

constexpr std::string_view kPrefix = "collectives/";
// These read every record, or a table of them.
constexpr std::array kReadRecords = {"over-time", "over-sequence", "skew"};

void Check(const telltale::Status& status) {
  if (!status) telltale::bench::Die(status.error().message);
}

double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

// What DuckDB alone needs to go over all records in SQL.
void PrintReference(const std::string& store_path, const std::string& name, int runs) {
  const std::unique_ptr<Store> store = ValueOf(Store::Open(store_path, {}));
  const std::unique_ptr<Connection> connection = ValueOf(store->Connect());
  const std::array<std::array<const char*, 2>, 2> questions = {
      {{"grouped_sum", "sum(record.exec_time_us)"},
       {"grouped_quantiles", "quantile_disc(record.exec_time_us, [0.25, 0.5, 0.75])[1]"}}};
  for (const auto& [what, aggregate] : questions) {
    std::vector<double> times;
    for (int i = 0; i <= runs; ++i) {
      const auto start = std::chrono::steady_clock::now();
      (void)ValueOf(connection->Query(fmt::format(
          // What is not used DuckDB would leave out.
          "SELECT sum(answer) FROM (SELECT block >> 16 AS series, {} AS answer "
          "FROM operation_record GROUP BY series)",
          aggregate)));
      if (i > 0) times.push_back(MillisecondsSince(start));
    }
    telltale::bench::PrintRow(fmt::format("{}_duckdb_{}", name, what), 0,
                              telltale::bench::Median(times), 0, "ms", "",
                              fmt::format("query_bench --runs {}", runs));
  }
}

// Milliseconds of the answer on a new connection; `kept`: the one that the ingest kept, if any,
// else NaN.
double Answer(Store& store, const std::string& query, const std::vector<Cell>& parameters,
              const std::string& since, bool kept) {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<Connection> connection = ValueOf(store.Connect());
  if (kept) {
    const bool found = ValueOf(telltale::collectives::KeptAnswer(*connection, query)).has_value();
    return found ? MillisecondsSince(start) : std::numeric_limits<double>::quiet_NaN();
  }
  const std::span<const telltale::collectives::Filter> filters = telltale::collectives::Filters();
  telltale::collectives::FilterValues values(filters.size());
  for (size_t i = 0; i < filters.size(); ++i) {
    if (filters[i].option == std::string_view("--since") && !since.empty()) values[i] = {since};
  }
  Check(telltale::collectives::SelectFor(*connection, values, query));
  (void)ValueOf(telltale::collectives::Ask(store, *connection, query, parameters));
  return MillisecondsSince(start);
}

double MedianAnswer(Store& store, const std::string& query, const std::vector<Cell>& parameters,
                    const std::string& since, bool kept, int runs) {
  std::vector<double> answers;
  for (int i = 0; i <= runs; ++i) {
    const double ms = Answer(store, query, parameters, since, kept);
    if (i > 0) answers.push_back(ms);  // the first fills caches
  }
  return telltale::bench::Median(answers);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, std::string> option = {{"--telltale", "build/release/telltale"},
                                               {"--store", ""},
                                               {"--runs", "5"},
                                               {"--name", "query"},
                                               {"--only", ""}};
  for (int i = 1; i + 1 < argc; i += 2) option[argv[i]] = argv[i + 1];
  const int runs = std::atoi(option["--runs"].c_str());
  const std::string only = option["--only"];
  if (only.empty()) PrintReference(option["--store"], option["--name"], runs);
  for (const telltale::QueryHead& head : telltale::QueryHeads(kPrefix)) {
    const std::string query = head.name.substr(kPrefix.size());
    if (query == "bandwidth-each" || (!only.empty() && query != only)) continue;
    std::vector<std::string> words = {option["--telltale"], "--store", option["--store"], "--quiet",
                                      "--format",           "csv",     "collectives",     query};
    double kept = 0;
    double found = 0;
    double by_time = 0, by_half = 0;
    {
      const std::unique_ptr<Store> store = ValueOf(Store::Open(option["--store"], {}));
      const std::unique_ptr<Connection> connection = ValueOf(store->Connect());
      const auto run = ValueOf(connection->Query("SELECT min(name) FROM run")).rows[0][0];
      std::vector<Cell> parameters;
      for (const telltale::QueryParameter& parameter : head.parameters) {
        parameters.push_back(parameter.required ? run : Cell());
        if (parameter.required) words.push_back(telltale::CellText(run));
      }
      const auto time_at = [&](const char* time) {
        return telltale::CellText(ValueOf(connection->Query(fmt::format(
                                              "SELECT ({})::BIGINT FROM operation_series", time)))
                                      .rows[0][0]);
      };
      const std::string since = time_at("min(first_dump_timestamp_us) + 1");
      const std::string half = time_at(
          "min(first_dump_timestamp_us) + (max(last_dump_timestamp_us) - "
          "min(first_dump_timestamp_us)) // 2");
      kept = MedianAnswer(*store, query, parameters, "", true, runs);
      found = MedianAnswer(*store, query, parameters, "", false, runs);
      by_time = MedianAnswer(*store, query, parameters, since, false, runs);
      by_half = MedianAnswer(*store, query, parameters, half, false, runs);
    }
    std::vector<double> processes;
    processes.reserve(static_cast<size_t>(runs));
    for (int i = 0; i < runs; ++i) {
      processes.push_back(
          1e3 * telltale::bench::Measure([&] { telltale::bench::Execute(words); }).seconds);
    }
    const bool reads_records =
        std::find(kReadRecords.begin(), kReadRecords.end(), query) != kReadRecords.end();
    const auto print = [&](const char* what, double ms, const std::string& unit,
                           const char* target) {
      telltale::bench::PrintRow(fmt::format("{}_{}{}", option["--name"], query, what), ms, 0, 0,
                                unit, target, fmt::format("query_bench --runs {}", runs));
    };
    const std::string process =
        fmt::format("ms (process {:.0f})", telltale::bench::Median(processes));
    const bool is_kept = !std::isnan(kept);
    if (is_kept) print("", kept, process, "<= 50");
    // As with filters that leave everything in: without the kept answer.
    print(is_kept ? "_found_anew" : "", found, is_kept ? "ms" : process,
          reads_records ? "<= 300"
          : is_kept     ? ""
                        : "<= 50");
    print("_since", by_time, "ms", "<= 300");
    print("_since_half", by_half, "ms", "<= 300");
  }
  return 0;
}
