// `telltale events`: what logs tell of faults, on one timeline.

#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "evidence/log_timeline.h"

namespace telltale::cli {
namespace {

struct EventsCommand {
  evidence::TimelineFilter filter;
  size_t top = 200;
};

Cell OrNull(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
Cell OrNull(std::optional<int64_t> number) { return number ? Cell(*number) : Cell(); }

void RunEvents(const EventsCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  if (!options.filter.run.empty()) RequireRun(*opened.connection, options.filter.run);
  const auto events = ValueOrThrow(evidence::LogTimeline(*opened.connection, options.filter));
  Table table;
  table.columns = {{"time_ns", "BIGINT"}, {"severity", "VARCHAR"}, {"kind", "VARCHAR"},
                   {"count", "UBIGINT"},  {"host", "VARCHAR"},     {"process", "VARCHAR"},
                   {"pid", "BIGINT"},     {"rank", "BIGINT"},      {"gpu", "VARCHAR"},
                   {"step", "BIGINT"},    {"cause", "VARCHAR"},    {"text", "VARCHAR"},
                   {"path", "VARCHAR"},   {"line", "BIGINT"}};
  const bool is_table = global.format == Format::kTable;
  if (!is_table) {
    table.columns.insert(table.columns.end(),
                         {{"last_time_ns", "BIGINT"}, {"fields", "VARCHAR"}, {"run", "VARCHAR"}});
  }
  for (const evidence::TimelineEvent& event : events) {
    table.rows.push_back(
        {OrNull(event.time_ns), event.severity, event.kind, event.count, OrNull(event.host),
         OrNull(event.process.empty() ? event.roles : event.process), OrNull(event.pid),
         OrNull(event.rank), OrNull(event.gpu), OrNull(event.step), OrNull(event.cause), event.text,
         event.path, event.line});
    if (!is_table) {
      table.rows.back().insert(table.rows.back().end(),
                               {OrNull(event.last_time_ns), Cell(event.fields), Cell(event.run)});
    }
  }
  if (events.empty() && !global.quiet) {
    fmt::print(stderr, "no events: logs of engines, of NCCL or of the kernel tell of them\n");
  }
  KeepTop(table, options.top, global);
  if (is_table) {
    WriteTimes(table, {"time_ns"});
    CutTexts(table, 100);
  }
  PrintTable(table, global, "events/1", "events");
}

}  // namespace

void AddEventsCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<EventsCommand>();
  CLI::App* command = app.add_subcommand(
      "events", "faults that logs tell of: out of memory, Xid, watchdogs, dead engines");
  command->footer(
      "\nRepeats of one fault are one event with a count. cause says what other lines and ranks "
      "tell of it:\nwho lags behind when a watchdog gives up, which error ended an engine, which "
      "process holds a GPU's\nmemory. step is the last one that had begun.\n\nExamples:\n  "
      "telltale ingest run.log dmesg.txt\n  telltale events\n  telltale events --kind xid\n  "
      "telltale --json events --all | jq '.events[] | select(.severity == \"fatal\")'");
  command->add_option("--run", options->filter.run, "only this run");
  command->add_option("--kind", options->filter.kind, "only this kind");
  command->add_flag("--all", options->filter.with_information,
                    "what is no fault too: versions, requests, training steps");
  AddTopOption(*command, options->top);
  command->callback([options, &global] { RunEvents(*options, global); });
}

}  // namespace telltale::cli
