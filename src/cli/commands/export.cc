// `telltale export`: the store's views and tables as Parquet files, profiles for Perfetto.

#include <filesystem>

#include "base/json_text.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/output_file.h"
#include "cli/store_access.h"
#include "evidence/perfetto.h"

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

struct PerfettoCommand {
  std::string out;
  std::string run;
  std::optional<int64_t> rank;
};

void RunPerfetto(const PerfettoCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const evidence::TraceEvents events =
      ValueOrThrow(evidence::LoadTraceEvents(*opened.connection, {options.run, options.rank}));
  WriteFile(options.out,
            [&](const FileWriter& write) { return evidence::WritePerfetto(events, write); });
  if (options.out == "-") return;
  if (!global.quiet) {
    fmt::print(stderr, "{} events in {}; open it at ui.perfetto.dev\n", events.size(), options.out);
  }
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

  auto trace_options = std::make_shared<PerfettoCommand>();
  CLI::App* perfetto = command->add_subcommand("perfetto", "a profile for Perfetto's viewer");
  perfetto->fallthrough();
  perfetto->footer(
      "\nSlices that overlap lie on lanes of their own; arrows go from calls to the GPU work that "
      "they launched.\n\nExamples:\n  telltale export perfetto --out rank0.json --rank 0\n"
      "  telltale export perfetto --out - | gzip > trace.json.gz");
  perfetto->add_option("--out", trace_options->out, "file to write, - for standard output")
      ->required();
  perfetto->add_option("--run", trace_options->run, "only this run");
  perfetto->add_option("--rank", trace_options->rank, "only this global rank");
  perfetto->callback([trace_options, &global] { RunPerfetto(*trace_options, global); });
}

}  // namespace telltale::cli
