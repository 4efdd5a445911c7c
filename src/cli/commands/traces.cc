// `telltale kernels`, `ops`, `gaps` and `overlap`: where the time of a profile went.

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "cli/commands/list.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "evidence/gpu_time.h"
#include "evidence/operation_times.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

using evidence::EventKind;
using evidence::TraceEvents;

struct TraceCommand {
  std::string run;
  std::optional<int64_t> rank;
  size_t top = 50;
  bool memory = false;
  bool python = false;
  double min_us = 10;
  bool each = false;
};

TraceEvents Load(Connection& connection, const TraceCommand& options) {
  return ValueOrThrow(evidence::LoadTraceEvents(connection, {options.run, options.rank}));
}

Cell Count(uint64_t count) { return Cell(static_cast<int64_t>(count)); }
Cell Percent(int64_t part, int64_t whole) {
  return whole > 0 ? Cell(100.0 * static_cast<double>(part) / static_cast<double>(whole)) : Cell();
}

void Print(Table& table, const TraceCommand& options, const GlobalOptions& global,
           const std::string& name) {
  KeepTop(table, options.top, global);
  if (global.format == Format::kTable) CutTexts(table, 72);
  PrintTable(table, global, name + "/1", name);
}

void AddFilters(CLI::App& command, TraceCommand& options) {
  command.add_option("--run", options.run, "only this run");
  command.add_option("--rank", options.rank, "only this global rank");
}

std::string ProcessLabel(const evidence::TraceProcess& process) {
  if (process.rank) return fmt::format("rank {}", *process.rank);
  std::string label = process.name.empty() ? "process" : process.name;
  if (process.pid) label += fmt::format(" {}", *process.pid);
  return label;
}

void RunKernels(const TraceCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  OkOrThrow(evidence::RequireTracks(*opened.connection, {options.run, options.rank}));
  const std::array<Cell, 3> parameters = {options.run.empty() ? Cell() : Cell(options.run),
                                          options.rank ? Cell(*options.rank) : Cell(),
                                          Cell(options.memory)};
  Table table =
      ValueOrThrow(opened.connection->Query(ValueOrThrow(QueryText("traces/kernels")), parameters));
  Print(table, options, global, "kernels");
}

void RunOps(const TraceCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const TraceEvents events = Load(*opened.connection, options);
  std::vector<EventKind> kinds = {EventKind::kOperator, EventKind::kRange,
                                  EventKind::kCommunication};
  if (options.python) kinds.push_back(EventKind::kPython);
  Table table;
  table.columns = {{"name", "VARCHAR"},
                   {"kind", "VARCHAR"},
                   {"calls", "BIGINT"},
                   {"inclusive_ns", "BIGINT"},
                   {"exclusive_ns", "BIGINT"},
                   {"gpu_ns", "BIGINT"},
                   {"mean_inclusive_ns", "BIGINT"}};
  for (const evidence::NamedTimes& row :
       evidence::HostTimesByName(events, evidence::TimesOf(events), kinds)) {
    table.rows.push_back({row.name, std::string(trace::EventKindName(row.kind)), Count(row.calls),
                          row.inclusive_ns, row.exclusive_ns, row.gpu_ns,
                          row.inclusive_ns / static_cast<int64_t>(row.calls)});
  }
  Print(table, options, global, "ops");
}

void RunOverlap(const TraceCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const TraceEvents events = Load(*opened.connection, options);
  Table table;
  table.columns = {{"run", "VARCHAR"},
                   {"process", "VARCHAR"},
                   {"device", "BIGINT"},
                   {"span_ns", "BIGINT"},
                   {"computation_ns", "BIGINT"},
                   {"communication_ns", "BIGINT"},
                   {"memory_ns", "BIGINT"},
                   {"overlapped_ns", "BIGINT"},
                   {"exposed_ns", "BIGINT"},
                   {"idle_ns", "BIGINT"},
                   {"computation_percent", "DOUBLE"},
                   {"overlapped_percent", "DOUBLE"},
                   {"exposed_percent", "DOUBLE"},
                   {"idle_percent", "DOUBLE"}};
  for (const evidence::Overlap& overlap : evidence::OverlapOf(events)) {
    const evidence::TraceProcess& process = events.processes[overlap.process];
    table.rows.push_back(
        {process.run, ProcessLabel(process), overlap.device, overlap.span_ns,
         overlap.computation_ns, overlap.communication_ns, overlap.memory_ns, overlap.overlapped_ns,
         overlap.exposed_ns, overlap.idle_ns, Percent(overlap.computation_ns, overlap.span_ns),
         Percent(overlap.overlapped_ns, overlap.communication_ns),
         Percent(overlap.exposed_ns, overlap.span_ns), Percent(overlap.idle_ns, overlap.span_ns)});
  }
  Print(table, options, global, "overlap");
}

Table EachGap(const TraceEvents& events, const std::vector<evidence::Gap>& gaps) {
  const auto name_of = [&](uint32_t event) {
    return event == evidence::kNone ? Cell() : Cell(events.Name(event));
  };
  Table table;
  table.columns = {{"run", "VARCHAR"},        {"process", "VARCHAR"},     {"device", "BIGINT"},
                   {"start_ns", "BIGINT"},    {"duration_ns", "BIGINT"},  {"cause", "VARCHAR"},
                   {"because_of", "VARCHAR"}, {"work_before", "VARCHAR"}, {"work_after", "VARCHAR"},
                   {"event_after", "BIGINT"}};
  for (const evidence::Gap& gap : gaps) {
    const evidence::TraceProcess& process = events.processes[gap.process];
    table.rows.push_back({process.run, ProcessLabel(process), gap.device, gap.start_ns,
                          gap.duration_ns, std::string(evidence::GapCauseName(gap.cause)),
                          name_of(gap.blame), name_of(gap.before), name_of(gap.after),
                          events.id[gap.after]});
  }
  std::stable_sort(table.rows.begin(), table.rows.end(), [](const auto& a, const auto& b) {
    return std::get<int64_t>(a[4]) > std::get<int64_t>(b[4]);
  });
  return table;
}

Table GapsByCause(const TraceEvents& events, const std::vector<evidence::Gap>& gaps) {
  struct Sum {
    int64_t count = 0, total_ns = 0, longest_ns = 0;
  };
  std::map<std::tuple<uint32_t, int64_t, evidence::GapCause>, Sum> sums;
  for (const evidence::Gap& gap : gaps) {
    Sum& sum = sums[{gap.process, gap.device, gap.cause}];
    ++sum.count;
    sum.total_ns += gap.duration_ns;
    sum.longest_ns = std::max(sum.longest_ns, gap.duration_ns);
  }
  std::map<std::pair<uint32_t, int64_t>, int64_t> span_ns;
  for (const evidence::Overlap& overlap : evidence::OverlapOf(events)) {
    span_ns[{overlap.process, overlap.device}] = overlap.span_ns;
  }
  Table table;
  table.columns = {{"run", "VARCHAR"},       {"process", "VARCHAR"},    {"device", "BIGINT"},
                   {"cause", "VARCHAR"},     {"gaps", "BIGINT"},        {"total_ns", "BIGINT"},
                   {"longest_ns", "BIGINT"}, {"span_percent", "DOUBLE"}};
  for (const auto& [key, sum] : sums) {
    const auto& [process, device, cause] = key;
    table.rows.push_back({events.processes[process].run, ProcessLabel(events.processes[process]),
                          device, std::string(evidence::GapCauseName(cause)), sum.count,
                          sum.total_ns, sum.longest_ns,
                          Percent(sum.total_ns, span_ns[{process, device}])});
  }
  return table;
}

void RunGaps(const TraceCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const TraceEvents events = Load(*opened.connection, options);
  const auto gaps =
      evidence::GapsOf(events, std::max<int64_t>(static_cast<int64_t>(options.min_us * 1000), 1));
  Table table = options.each ? EachGap(events, gaps) : GapsByCause(events, gaps);
  Print(table, options, global, "gaps");
}

}  // namespace

void AddTraceCommands(CLI::App& app, GlobalOptions& global) {
  {
    auto options = std::make_shared<TraceCommand>();
    CLI::App* command = app.add_subcommand("kernels", "which GPU kernels take the time");
    command->footer(
        "\nTimes are sums of durations, as Nsight Systems sums them; `overlap` counts each moment "
        "once.\n\nExamples:\n  telltale kernels\n  telltale --format csv kernels --rank 0 --top 0");
    AddFilters(*command, *options);
    AddTopOption(*command, options->top);
    command->add_flag("--memory", options->memory, "copies and memsets too");
    command->callback([options, &global] { RunKernels(*options, global); });
  }
  {
    auto options = std::make_shared<TraceCommand>();
    CLI::App* command =
        app.add_subcommand("ops", "operators and ranges: inclusive, exclusive and GPU time");
    command->footer(
        "\ninclusive_ns   on the host, from begin to end; of a recursion only the outermost call\n"
        "exclusive_ns   on the host, without what is nested in it\n"
        "gpu_ns         while GPU work ran that was launched within it; each moment once\n"
        "\nExamples:\n  telltale ops\n  telltale ops --rank 0 --python --top 20");
    AddFilters(*command, *options);
    AddTopOption(*command, options->top);
    command->add_flag("--python", options->python, "Python functions too");
    command->callback([options, &global] { RunOps(*options, global); });
  }
  {
    auto options = std::make_shared<TraceCommand>();
    CLI::App* command = app.add_subcommand("gaps", "when a GPU had nothing to do, and why");
    command->footer(
        "\nA gap is a time without computation or copies on a GPU. Its cause:\n"
        "  communication  a kernel of NCCL or RCCL ran in at least half of it\n"
        "  dependency     the next work had been launched before the gap began: it waited on the "
        "GPU\n"
        "  host_sync      the launching thread spent at least half of it in a synchronising call\n"
        "  launch_bound   the launching thread was busy with calls and operators\n"
        "  host           the launching thread did something that the profile does not show\n"
        "  unknown        the next work has no launch in the profile\n"
        "\nExamples:\n  telltale gaps\n  telltale gaps --each --min-us 100 --rank 0");
    AddFilters(*command, *options);
    command->add_option("--min-us", options->min_us, "only gaps of at least so long (10)")
        ->check(CLI::Range(0.0, 1e12));
    command->add_flag("--each", options->each, "each gap, the longest first");
    AddTopOption(*command, options->top);
    command->callback([options, &global] { RunGaps(*options, global); });
  }
  {
    auto options = std::make_shared<TraceCommand>();
    CLI::App* command =
        app.add_subcommand("overlap", "computation and communication: at once, exposed, idle");
    command->footer(
        "\nEach moment counts once. exposed_ns is communication while neither computation nor a "
        "copy ran.\n\nExample:\n  telltale overlap");
    AddFilters(*command, *options);
    command->callback([options, &global] { RunOverlap(*options, global); });
  }
}

}  // namespace telltale::cli
