// `telltale ingest`: files into the store.

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>

#include "base/json_text.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "collectives/kept_answers.h"
#include "evidence/link_requests.h"
#include "readers/ingest.h"

namespace telltale::cli {
namespace {

constexpr const char* kExamples = R"(
Files are recognised by content; folders are read recursively; plain, gzip and zstd files may be mixed. A
file that is in the store already is skipped; one that has grown, and a profile that was written anew, replaces
its earlier rows. Each source is wholly in or wholly out, whatever happens.

Examples:
  telltale ingest nccl-inspector-4711/
  telltale ingest --run monday node1/ node2/ node3/      folders of one job, copied from its hosts
  telltale ingest --log-zone +02:00 vllm.log traces/ spans.jsonl dmesg.txt
  zcat logs.gz | telltale --store job.duckdb ingest -
  telltale --json ingest logs/ | jq '.sources[] | select(.losses != [])')";

// Files that were not read are named one by one up to this many.
constexpr size_t kMostNamed = 20;

struct IngestCommand {
  std::vector<std::string> paths;
  std::string run;
  unsigned threads = 0;
  std::string log_zone = "+00:00";
};

// "+02:00", "-0530", "UTC", as seconds east of Greenwich.
std::optional<int32_t> ZoneSeconds(std::string_view zone) {
  if (zone == "UTC" || zone == "Z") return 0;
  if (zone.size() < 5 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  const auto hours = NumberOf<int32_t>(zone.substr(1, 2));
  const auto minutes = NumberOf<int32_t>(zone.substr(zone[3] == ':' ? 4 : 3));
  if (!hours || !minutes || *hours > 15 || *minutes < 0 || *minutes > 59) return std::nullopt;
  return (zone[0] == '-' ? -1 : 1) * (*hours * 60 + *minutes) * 60;
}

std::string CheckZone(const std::string& zone) {
  if (ZoneSeconds(zone)) return {};
  return "a zone is written +02:00, -05:30 or UTC";
}

const char* StatusName(SourceStatus status) {
  switch (status) {
    case SourceStatus::kIngested:
      return "ingested";
    case SourceStatus::kAlreadyThere:
      return "already_there";
    case SourceStatus::kNotRecognised:
      return "not_recognised";
    case SourceStatus::kFailed:
      break;
  }
  return "failed";
}

// `losses` are those that count lines, so that records = rows + their sum; the others are `notes`.
std::string LossesJson(const SourceReport& source, bool lines) {
  std::string text = "[";
  for (const LossReport& loss : source.losses) {
    if ((loss.loss_class == "line") != lines) continue;
    if (text.size() > 1) text += ',';
    text += fmt::format(R"({{"kind":{},"count":{},"detail":{}}})", JsonString(loss.kind),
                        loss.count, loss.detail.empty() ? "null" : JsonString(loss.detail));
  }
  return text + "]";
}

void PrintJson(const IngestReport& report, const std::string& store) {
  fmt::print(R"({{"schema":"telltale/ingest/1","store":{},"bytes":{},"seconds":{:.3f},"sources":[)",
             JsonString(store), report.bytes, report.seconds);
  for (size_t i = 0; i < report.sources.size(); ++i) {
    const SourceReport& source = report.sources[i];
    const auto or_null = [](const std::string& text) {
      return text.empty() ? std::string("null") : JsonString(text);
    };
    fmt::print(
        R"({}{{"path":{},"status":"{}","format":{},"format_version":{},"records":{},"rows":{},)"
        R"("losses":{},"notes":{},"message":{}}})",
        i > 0 ? "," : "", JsonString(source.path), StatusName(source.status),
        or_null(source.format), or_null(source.format_version), source.records, source.rows,
        LossesJson(source, true), LossesJson(source, false), or_null(source.message));
  }
  fmt::print("]}}\n");
}

void PrintText(const IngestReport& report, const GlobalOptions& global) {
  size_t ingested = 0;
  size_t skipped = 0;
  size_t unknown = 0;
  size_t failed = 0;
  size_t named = 0;
  uint64_t records = 0;
  uint64_t rows = 0;
  std::map<std::pair<std::string, std::string>, std::pair<uint64_t, size_t>> losses;
  for (const SourceReport& source : report.sources) {
    records += source.records;
    rows += source.rows;
    for (const LossReport& loss : source.losses) {
      auto& [count, files] = losses[{loss.loss_class, loss.kind}];
      count += loss.count;
      ++files;
    }
    ingested += source.status == SourceStatus::kIngested ? 1 : 0;
    skipped += source.status == SourceStatus::kAlreadyThere ? 1 : 0;
    unknown += source.status == SourceStatus::kNotRecognised ? 1 : 0;
    failed += source.status == SourceStatus::kFailed ? 1 : 0;
    if (global.quiet || source.message.empty() || source.status == SourceStatus::kFailed ||
        source.status == SourceStatus::kAlreadyThere) {
      continue;
    }
    if (++named <= kMostNamed) {
      fmt::print(stderr, "{}: {}\n", Visible(source.path), Visible(source.message));
    }
  }
  if (named > kMostNamed) {
    fmt::print(stderr, "… and {} more; --json names all\n", named - kMostNamed);
  }
  fmt::print("{} source{} into {}: {} lines, {} rows, {} lost; {} in {:.2f} s ({}/s)\n", ingested,
             ingested == 1 ? "" : "s", Visible(global.store), CountText(records), CountText(rows),
             CountText(records - rows), BytesText(static_cast<double>(report.bytes)),
             report.seconds,
             BytesText(static_cast<double>(report.bytes) / std::max(report.seconds, 1e-9)));
  if (skipped > 0) fmt::print("{} already in the store, skipped\n", skipped);
  if (unknown > 0) fmt::print("{} not recognised, named above, not read\n", unknown);
  for (const auto& [kind, count] : losses) {
    fmt::print("{:<10} {:<24} {:>10} in {} file{}\n", kind.first, kind.second,
               CountText(count.first), count.second, count.second == 1 ? "" : "s");
  }
  if (failed > 0) fmt::print("{} failed\n", failed);
}

Table SourcesTable(const IngestReport& report) {
  Table table;
  table.columns = {{"path", "VARCHAR"},           {"status", "VARCHAR"},  {"format", "VARCHAR"},
                   {"format_version", "VARCHAR"}, {"records", "UBIGINT"}, {"rows", "UBIGINT"},
                   {"message", "VARCHAR"}};
  for (const SourceReport& source : report.sources) {
    table.rows.push_back({source.path, std::string(StatusName(source.status)), source.format,
                          source.format_version, source.records, source.rows, source.message});
  }
  return table;
}

void RunIngest(const IngestCommand& command, const GlobalOptions& global) {
#if defined(__GLIBC__)
  // Buffers of records come and go by the megabyte: given back to the kernel each time, a tenth of
  // the time went into page faults. At the end the kernel takes all at once in a fraction of it.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
#endif
  // A slip of the pen makes no store.
  const bool any_path = std::any_of(
      command.paths.begin(), command.paths.end(),
      [](const std::string& path) { return path == "-" || std::filesystem::exists(path); });
  if (!any_path) {
    throw CommandFailure(fmt::format("{}: no such file or folder", Visible(command.paths.front())));
  }
  std::unique_ptr<Store> store = ValueOrThrow(Store::Open(global.store, IngestStoreOptions()));
  IngestOptions options;
  options.paths = command.paths;
  options.run = command.run;
  options.threads = command.threads;
  options.log_zone_seconds = ZoneSeconds(command.log_zone).value_or(0);
  IngestReport report;
  Status related;
  {
    ProgressLine line(global.ShowProgress());
    std::mutex mutex;
    uint64_t drawn = 0;
    options.on_progress = [&](uint64_t done, uint64_t total) {
      const std::scoped_lock lock(mutex);
      if (done < drawn + (uint64_t{32} << 20)) return;
      drawn = done;
      line.Draw(fmt::format(
          "ingesting {} of {} ({:.0f} %)", BytesText(static_cast<double>(done)),
          BytesText(static_cast<double>(total)),
          100.0 * static_cast<double>(done) / static_cast<double>(std::max<uint64_t>(total, 1))));
    };
    report = ValueOrThrow(Ingest(*store, options));
    const auto start = std::chrono::steady_clock::now();
    related = evidence::LinkRequests(*store);
    report.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    // The sources are in the store; without kept answers its questions only take longer.
    if (const Status kept = collectives::KeepAnswers(*store); !kept) {
      fmt::print(stderr, "telltale: answers could not be kept: {}\n",
                 Visible(kept.error().message));
    }
  }
  KeepToTheEnd(std::move(store));
  size_t failed = 0;
  bool any = false;
  for (const SourceReport& source : report.sources) {
    any = any || source.status == SourceStatus::kIngested ||
          source.status == SourceStatus::kAlreadyThere;
    if (source.status != SourceStatus::kFailed) continue;
    ++failed;
    fmt::print(stderr, "telltale: {}: {}\n", Visible(source.path), Visible(source.message));
  }
  switch (global.format) {
    case Format::kJson:
      PrintJson(report, global.store);
      break;
    case Format::kTable:
      PrintText(report, global);
      break;
    case Format::kCsv:
    case Format::kMarkdown:
      PrintTable(SourcesTable(report), global, "ingest/1", "sources");
      break;
  }
  if (failed > 0) {
    throw CommandFailure(fmt::format("{} of {} sources failed", failed, report.sources.size()));
  }
  if (!any) throw CommandFailure("nothing to ingest was found");
  if (!related) {
    throw CommandFailure(
        fmt::format("the sources are in the store, but steps and requests could not be "
                    "related: {}",
                    Visible(related.error().message)));
  }
}

}  // namespace

void AddIngestCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<IngestCommand>();
  CLI::App* command = app.add_subcommand(
      "ingest", "read logs into the store; says what was read and what was lost");
  command->footer(kExamples);
  command->add_option("PATH", options->paths, "files or folders; - is standard input")->required();
  command->add_option("--run", options->run, "name of the run (default: one run for each folder)");
  command
      ->add_option("--log-zone", options->log_zone,
                   "zone of times in logs that name none, such as +02:00 (default: UTC)")
      ->check(CheckZone);
  command->add_option("--threads", options->threads, "threads to use (default: one for each core)");
  command->callback([options, &global] { RunIngest(*options, global); });
}

}  // namespace telltale::cli
