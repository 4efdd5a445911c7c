// `telltale export parquet`: the store's views and tables as Parquet files.

#include <filesystem>

#include "base/json_text.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"

namespace telltale::cli {
namespace {

constexpr const char* kExamples = R"(
Writes one file for each table or view that is named (default: operations, source, ingest_loss); they
appear under their names only when complete.

Examples:
  telltale export parquet --out parquet/
  telltale export parquet --out parquet/ collectives p2p communicator)";

struct ExportCommand {
  std::string out;
  std::vector<std::string> names;
  bool force = false;
};

std::string Quoted(const std::string& text, char quote) {
  std::string quoted(1, quote);
  for (const char c : text) {
    if (c == quote) quoted += quote;
    quoted += c;
  }
  return quoted + quote;
}

void RunExport(ExportCommand options, const GlobalOptions& global) {
  namespace fs = std::filesystem;
  const OpenStore opened = OpenForReading(global, true);
  if (options.names.empty()) options.names = {"operations", "source", "ingest_loss"};
  const Table known = ValueOrThrow(opened.connection->Query(
      "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"));
  for (const std::string& name : options.names) {
    std::string all;
    bool found = false;
    for (const std::vector<Cell>& row : known.rows) {
      found = found || CellText(row[0]) == name;
      all += (all.empty() ? "" : ", ") + CellText(row[0]);
    }
    if (!found) {
      throw CommandFailure(
          fmt::format("the store has no table or view {}; it has {}", Visible(name), all),
          kExitUsage);
    }
    const fs::path file = fs::path(options.out) / (name + ".parquet");
    if (!options.force && fs::exists(file)) {
      throw CommandFailure(fmt::format("{} exists; --force overwrites it", file.string()));
    }
  }
  std::error_code error;
  fs::create_directories(options.out, error);
  if (error) throw CommandFailure(fmt::format("{}: {}", options.out, error.message()));

  Table written;
  written.columns = {
      {"name", "VARCHAR"}, {"path", "VARCHAR"}, {"rows", "BIGINT"}, {"size_bytes", "UBIGINT"}};
  for (const std::string& name : options.names) {
    const fs::path file = fs::path(options.out) / (name + ".parquet");
    const std::string draft = file.string() + ".part";
    const auto status = opened.connection->Run(
        fmt::format("COPY (FROM {}) TO {} (FORMAT parquet, COMPRESSION zstd)", Quoted(name, '"'),
                    Quoted(draft, '\'')));
    if (!status) {
      fs::remove(draft, error);
      throw CommandFailure(fmt::format("{}: {}", file.string(), status.error().message));
    }
    fs::rename(draft, file, error);
    if (error) throw CommandFailure(fmt::format("{}: {}", file.string(), error.message()));
    const int64_t rows = ValueOrThrow(
        opened.connection->QueryInteger(fmt::format("SELECT count(*) FROM {}", Quoted(name, '"'))));
    written.rows.push_back({name, file.string(), rows, static_cast<uint64_t>(fs::file_size(file))});
  }
  const std::string coverage = TellCoverage(*opened.connection, global, "");
  PrintTable(written, global, "export/1", "files", coverage);
}

}  // namespace

void AddExportCommand(CLI::App& app, GlobalOptions& global) {
  CLI::App* command = app.add_subcommand("export", "the store's rows for other tools");
  command->require_subcommand(1);
  command->fallthrough();
  auto options = std::make_shared<ExportCommand>();
  CLI::App* parquet = command->add_subcommand("parquet", "tables and views as Parquet files");
  parquet->fallthrough();
  parquet->footer(kExamples);
  parquet->add_option("--out", options->out, "folder for the files")->required();
  parquet->add_option("NAME", options->names, "tables or views");
  parquet->add_flag("--force", options->force, "overwrite files that exist");
  parquet->callback([options, &global] { RunExport(*options, global); });
}

}  // namespace telltale::cli
