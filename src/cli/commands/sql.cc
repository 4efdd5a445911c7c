// `telltale sql`: SQL over the store, read-only, streaming its rows.

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "base/json_text.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"

namespace telltale::cli {
namespace {

constexpr const char* kExamples = R"(
The store is opened read-only, and SQL can touch no file (--allow-files lets it). Views for people:
operations, collectives, p2p; docs/schema.md describes every table.

Examples:
  telltale sql "SELECT operation, count(*) FROM collectives GROUP BY ALL"
  telltale --format csv sql "FROM collectives WHERE rank = 3" > rank3.csv
  telltale sql "SUMMARIZE operations"
  echo "SHOW TABLES" | telltale sql -)";

struct SqlCommand {
  std::string sql;
  bool allow_files = false;
};

// A table for people needs all rows to know its widths; the other formats stream.
constexpr size_t kMostTableRows = 100000;

void PrintStreaming(Connection& connection, const std::string& sql, Format format) {
  std::vector<ColumnInfo> columns;
  bool first = true;
  const auto on_columns = [&](const std::vector<ColumnInfo>& found) -> Status {
    columns = found;
    if (format == Format::kJson) {
      fmt::print(R"({{"schema":"telltale/sql/1","columns":[)");
      for (size_t i = 0; i < columns.size(); ++i) {
        fmt::print(R"({}{{"name":{},"type":{}}})", i > 0 ? "," : "", JsonString(columns[i].name),
                   JsonString(columns[i].type));
      }
      fmt::print("],\"rows\":[");
    } else {
      for (size_t i = 0; i < columns.size(); ++i) {
        fmt::print("{}{}", i > 0 ? "," : "", CsvField(columns[i].name));
      }
      fmt::print("\n");
    }
    return {};
  };
  std::string line;
  const auto on_row = [&](std::vector<Cell>& row) -> Status {
    line.clear();
    if (format == Format::kJson) line += first ? "\n[" : ",\n[";
    first = false;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += ',';
      line += format == Format::kJson ? CellJson(row[i]) : CsvField(CellText(row[i]));
    }
    line += format == Format::kJson ? "]" : "\n";
    if (std::fwrite(line.data(), 1, line.size(), stdout) != line.size()) {
      return Fail("standard output could not be written");
    }
    return {};
  };
  OkOrThrow(connection.Query(sql, {}, on_columns, on_row));
  if (format == Format::kJson) fmt::print("]}}\n");
}

// SQL that may touch files must not reach the store's own: COPY … TO it would put another file in
// its place. Looks at everything between quotes.
void RefuseOwnFile(std::string_view sql, const std::string& store) {
  for (size_t at = 0; at < sql.size();) {
    const size_t end = std::min(sql.find_first_of("'\"$", at), sql.size());
    std::error_code ignored;
    if (std::filesystem::equivalent(sql.substr(at, end - at), store, ignored)) {
      throw CommandFailure(
          "SQL cannot touch the store's own file; its tables are there without it");
    }
    at = end + 1;
  }
}

void RunSql(SqlCommand options, const GlobalOptions& global) {
  if (options.sql == "-") {
    options.sql.assign(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  const OpenStore opened = OpenForReading(global, options.allow_files);
  if (options.allow_files) RefuseOwnFile(options.sql, global.store);
  if (!options.allow_files) OkOrThrow(opened.connection->Run("SET lock_configuration = true"));
  if (global.format == Format::kJson || global.format == Format::kCsv) {
    return PrintStreaming(*opened.connection, options.sql, global.format);
  }
  Table table;
  OkOrThrow(opened.connection->Query(
      options.sql, {},
      [&](const std::vector<ColumnInfo>& columns) -> Status {
        table.columns = columns;
        return {};
      },
      [&](std::vector<Cell>& row) -> Status {
        if (table.rows.size() == kMostTableRows) {
          return Fail("more than {} rows: use --format csv or --json, which stream",
                      kMostTableRows);
        }
        table.rows.push_back(row);
        return {};
      }));
  PrintTable(table, global, "sql/1", "rows");
}

}  // namespace

void AddSqlCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<SqlCommand>();
  CLI::App* command = app.add_subcommand("sql", "SQL over the store, read-only");
  command->footer(kExamples);
  command->add_option("SQL", options->sql, "one statement; - reads it from standard input")
      ->required();
  command->add_flag("--allow-files", options->allow_files, "let SQL read and write files");
  command->callback([options, &global] { RunSql(*options, global); });
}

}  // namespace telltale::cli
