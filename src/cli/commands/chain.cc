// `telltale chain`: the call chain of a step as a tree.

#include <algorithm>
#include <array>
#include <cstdio>
#include <stdexcept>

#include "base/json_text.h"
#include "cli/commands/chain.h"
#include "cli/commands/list.h"
#include "cli/commands/requests.h"
#include "cli/output.h"
#include "cli/store_access.h"
#include "evidence/chain.h"
#include "evidence/steps.h"
#include "store/query.h"

namespace telltale::cli {
namespace {

using evidence::Chain;
using evidence::ChainNode;
using evidence::kNone;
using evidence::TraceEvents;

struct ChainCommand {
  std::string request;
  std::string run;
  std::optional<int64_t> rank;
  std::optional<size_t> step;
  std::optional<int64_t> event;
  size_t depth = 0;
  double min_us = 0;
  std::vector<std::string> kinds;
  size_t top = 4;
};

constexpr size_t kBarWidth = 32;

std::string DurationText(int64_t duration_ns) {
  if (duration_ns < 0) return "unfinished";
  const auto ns = static_cast<double>(duration_ns);
  if (duration_ns < 10'000) return fmt::format("{:.2f} us", ns / 1e3);
  if (duration_ns < 10'000'000) return fmt::format("{:.1f} us", ns / 1e3);
  return fmt::format("{:.1f} ms", ns / 1e6);
}

// Where the event lies in the step, as a bar.
std::string BarOf(int64_t start_ns, int64_t end_ns, int64_t from_ns, int64_t to_ns) {
  const double span = std::max<double>(static_cast<double>(to_ns - from_ns), 1);
  const auto column = [&](int64_t at_ns) {
    const double share = static_cast<double>(at_ns - from_ns) / span;
    return static_cast<size_t>(std::clamp(share, 0.0, 1.0) * kBarWidth);
  };
  const size_t begin = std::min(column(start_ns), kBarWidth - 1);
  const size_t end = std::max(column(end_ns), begin + 1);
  std::string bar;
  for (size_t i = 0; i < kBarWidth; ++i) bar += i >= begin && i < end ? "█" : "·";
  return bar;
}

evidence::EventKind KindOf(const std::string& name) {
  std::string all;
  for (size_t i = 0; i < trace::kEventKinds; ++i) {
    const auto kind = static_cast<trace::EventKind>(i);
    if (name == trace::EventKindName(kind)) return kind;
    all += (all.empty() ? "" : ", ") + std::string(trace::EventKindName(kind));
  }
  throw CommandFailure(fmt::format("there is no kind {}; kinds are {}", Visible(name), all),
                       kExitUsage);
}

void ListSteps(const TraceEvents& events, const std::vector<uint32_t>& steps,
               const GlobalOptions& global) {
  Table table;
  table.columns = {{"step", "BIGINT"},        {"run", "VARCHAR"},  {"rank", "BIGINT"},
                   {"process", "VARCHAR"},    {"name", "VARCHAR"}, {"start_ns", "BIGINT"},
                   {"duration_ns", "BIGINT"}, {"event", "BIGINT"}};
  for (size_t i = 0; i < steps.size(); ++i) {
    const evidence::TraceProcess& process = events.Process(steps[i]);
    table.rows.push_back({static_cast<int64_t>(i), process.run,
                          process.rank ? Cell(*process.rank) : Cell(), process.name,
                          events.Name(steps[i]), events.start_ns[steps[i]],
                          events.duration_ns[steps[i]], events.id[steps[i]]});
  }
  PrintTable(table, global, "chain.steps/1", "steps");
}

uint32_t ChosenRoot(const TraceEvents& events, const ChainCommand& options,
                    const std::vector<uint32_t>& steps) {
  if (options.event) {
    const auto at = std::lower_bound(events.id.begin(), events.id.end(), *options.event);
    if (at == events.id.end() || *at != *options.event) {
      throw CommandFailure(fmt::format("there is no event {}", *options.event));
    }
    return static_cast<uint32_t>(at - events.id.begin());
  }
  if (*options.step >= steps.size()) {
    throw CommandFailure(
        steps.empty()
            ? "the profile marks no steps; name an event with --event (view events, column event)"
            : fmt::format("there is no step {}; steps go from 0 to {}", *options.step,
                          steps.size() - 1));
  }
  return steps[*options.step];
}

// Steps that worked for the request, by time; `notes` says of each how that is known.
std::vector<uint32_t> StepsOfRequest(Connection& connection, const TraceEvents& events,
                                     const ChainCommand& options, std::vector<std::string>& notes) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Cell() : Cell(text); };
  const std::string request_id = ChosenRequest(connection, options.request, options.run);
  const std::array<Cell, 3> parameters = {or_null(options.run), Cell(request_id),
                                          options.rank ? Cell(*options.rank) : Cell()};
  const Table table =
      ValueOrThrow(connection.Query(ValueOrThrow(QueryText("requests/steps")), parameters));
  const auto column = [&](std::string_view name) {
    for (size_t i = 0; i < table.columns.size(); ++i) {
      if (table.columns[i].name == name) return i;
    }
    throw std::logic_error("a column of requests/steps is missing");
  };
  std::vector<uint32_t> steps;
  bool any_possible = false;
  for (const std::vector<Cell>& row : table.rows) {
    const std::string basis = CellText(row[column("basis")]);
    if (options.step && CellText(row[column("step")]) != std::to_string(*options.step)) continue;
    const auto* const event = std::get_if<int64_t>(&row[column("event")]);
    if (event == nullptr) continue;
    if (basis == "window") {
      any_possible = true;
      continue;
    }
    const auto at = std::lower_bound(events.id.begin(), events.id.end(), *event);
    if (at == events.id.end() || *at != *event) continue;
    steps.push_back(static_cast<uint32_t>(at - events.id.begin()));
    notes.push_back(fmt::format("step {} rank {}, {} of {} requests, basis {}",
                                CellText(row[column("step")]), CellText(row[column("rank")]),
                                CellText(row[column("phase")]), CellText(row[column("requests")]),
                                basis));
  }
  if (steps.empty()) {
    const std::string request = Visible(request_id);
    if (options.step) {
      throw CommandFailure(
          fmt::format("step {0} is not certain to be of request {1}; `telltale steps {1}` "
                      "lists its steps",
                      *options.step, request));
    }
    if (!any_possible) {
      throw CommandFailure(fmt::format(
          "no step of a profile is known to be of request {}; `telltale requests` lists requests",
          request));
    }
    throw CommandFailure(fmt::format(
        "no step is certain to be of request {0}; `telltale steps {0}` lists those that "
        "may be, and `telltale chain --event` shows one",
        request));
  }
  return steps;
}

void PrintTree(const TraceEvents& events, const evidence::CallTimes& times, const Chain& chain,
               uint32_t root) {
  constexpr size_t kNameWidth = 64;
  for (const ChainNode& node : chain.nodes) {
    std::string indent(2 * std::min<size_t>(node.depth, 20), ' ');
    if (node.event == kNone) {
      fmt::print("{}not attached\n", indent);
      for (const evidence::Unattached& row : chain.unattached) {
        fmt::print("{}  {} {}: {}\n", indent, row.count, trace::EventKindName(row.kind), row.cause);
      }
      continue;
    }
    const uint32_t event = node.event;
    const size_t room = kNameWidth - std::min(indent.size(), kNameWidth - 16);
    const std::string label = Shortened(Visible(events.Name(event)), room);
    const std::string gpu = !events.IsGpu(event) && times.gpu_ns[event] > 0
                                ? "gpu " + DurationText(times.gpu_ns[event])
                                : "";
    const bool other_track = node.parent != kNone && chain.nodes[node.parent].event != kNone &&
                             events.track[chain.nodes[node.parent].event] != events.track[event];
    fmt::print("{:<{}} {:<13} {:>12} {:>16} {}{}\n", indent + label, kNameWidth,
               trace::EventKindName(events.kind[event]), DurationText(events.duration_ns[event]),
               gpu,
               BarOf(events.start_ns[event], events.EndNs(event), events.start_ns[root],
                     events.EndNs(root)),
               other_track ? "  " + Visible(events.tracks[events.track[event]].label) : "");
  }
}

void PrintJson(const TraceEvents& events, const evidence::CallTimes& times, const Chain& chain) {
  std::string out = R"({"schema":"telltale/chain/1","nodes":[)";
  const auto id_of = [&](uint32_t node) {
    const uint32_t event = chain.nodes[node].event;
    return event == kNone ? int64_t{-1} : events.id[event];
  };
  for (size_t i = 0; i < chain.nodes.size(); ++i) {
    const ChainNode& node = chain.nodes[i];
    if (i > 0) out += ',';
    const std::string parent =
        node.parent == kNone ? "null" : fmt::format("{}", id_of(node.parent));
    if (node.event == kNone) {
      out += fmt::format(R"({{"id":-1,"parent":{},"kind":"unattached","name":"not attached"}})",
                         parent);
      continue;
    }
    const uint32_t event = node.event;
    out += fmt::format(R"({{"id":{},"parent":{},"kind":"{}","name":)", events.id[event], parent,
                       trace::EventKindName(events.kind[event]));
    AppendJsonString(out, events.Name(event));
    out += R"(,"track":)";
    AppendJsonString(out, events.tracks[events.track[event]].label);
    out += fmt::format(
        R"(,"start_ns":{},"duration_ns":{},"correlation":{},"gpu_ns":{})", events.start_ns[event],
        events.duration_ns[event] < 0 ? "null" : fmt::format("{}", events.duration_ns[event]),
        events.correlation[event] < 0 ? "null" : fmt::format("{}", events.correlation[event]),
        events.IsGpu(event) ? std::max<int64_t>(events.duration_ns[event], 0)
                            : times.gpu_ns[event]);
    if (!events.IsGpu(event))
      out += fmt::format(R"(,"exclusive_ns":{})", times.exclusive_ns[event]);
    out += '}';
  }
  out += R"(],"unattached":[)";
  out += UnattachedJson(chain.unattached);
  out += fmt::format("],\"hidden\":{}}}\n", chain.hidden);
  fmt::print("{}", out);
}

void PrintRows(const TraceEvents& events, const evidence::CallTimes& times, const Chain& chain,
               const GlobalOptions& global) {
  Table table;
  table.columns = {{"id", "BIGINT"},         {"parent", "BIGINT"},      {"depth", "BIGINT"},
                   {"kind", "VARCHAR"},      {"name", "VARCHAR"},       {"track", "VARCHAR"},
                   {"start_ns", "BIGINT"},   {"duration_ns", "BIGINT"}, {"gpu_ns", "BIGINT"},
                   {"correlation", "BIGINT"}};
  const auto id_of = [&](uint32_t node) {
    const uint32_t event = chain.nodes[node].event;
    return event == kNone ? int64_t{-1} : events.id[event];
  };
  for (const ChainNode& node : chain.nodes) {
    const Cell parent = node.parent == kNone ? Cell() : Cell(id_of(node.parent));
    const auto depth = static_cast<int64_t>(node.depth);
    if (node.event == kNone) {
      table.rows.push_back({int64_t{-1}, parent, depth, std::string("unattached"),
                            std::string("not attached"), Cell(), Cell(), Cell(), Cell(), Cell()});
      continue;
    }
    const uint32_t event = node.event;
    table.rows.push_back(
        {events.id[event], parent, depth, std::string(trace::EventKindName(events.kind[event])),
         events.Name(event), events.tracks[events.track[event]].label, events.start_ns[event],
         events.duration_ns[event] < 0 ? Cell() : Cell(events.duration_ns[event]),
         times.gpu_ns[event],
         events.correlation[event] < 0 ? Cell() : Cell(events.correlation[event])});
  }
  PrintTable(table, global, "chain/1", "nodes");
}

evidence::ChainOptions ChainOptionsOf(const ChainCommand& options) {
  evidence::ChainOptions chain_options;
  chain_options.most_depth = options.depth;
  chain_options.least_ns = static_cast<int64_t>(options.min_us * 1000);
  for (const std::string& kind : options.kinds) chain_options.kinds.insert(KindOf(kind));
  return chain_options;
}

void TellHidden(uint64_t hidden, const GlobalOptions& global) {
  if (hidden == 0 || global.quiet) return;
  (void)std::fflush(stdout);
  fmt::print(stderr, "{} events are not shown (--depth, --min-us, --kinds)\n", hidden);
}

// `more` behind `chain`, as one answer.
void Append(Chain& chain, const Chain& more) {
  const auto first = static_cast<uint32_t>(chain.nodes.size());
  for (ChainNode node : more.nodes) {
    if (node.parent != kNone) node.parent += first;
    chain.nodes.push_back(node);
  }
  chain.unattached.insert(chain.unattached.end(), more.unattached.begin(), more.unattached.end());
  chain.hidden += more.hidden;
}

void RunChainOfRequest(Connection& connection, const TraceEvents& events,
                       const ChainCommand& options, const GlobalOptions& global) {
  std::vector<std::string> notes;
  std::vector<uint32_t> steps = StepsOfRequest(connection, events, options, notes);
  const size_t all = steps.size();
  if (options.top > 0 && steps.size() > options.top) steps.resize(options.top);
  const evidence::ChainOptions chain_options = ChainOptionsOf(options);
  const evidence::CallTimes times = evidence::TimesOf(events);
  const evidence::CallTree tree = evidence::TreeOf(events);
  Chain whole;
  for (size_t i = 0; i < steps.size(); ++i) {
    const Chain chain = evidence::ChainOf(events, tree, times, steps[i], chain_options);
    if (global.format == Format::kTable) {
      fmt::print("{}{}\n", i > 0 ? "\n" : "", notes[i]);
      PrintTree(events, times, chain, steps[i]);
    }
    Append(whole, chain);
  }
  if (global.format == Format::kJson) {
    PrintJson(events, times, whole);
  } else if (global.format != Format::kTable) {
    PrintRows(events, times, whole, global);
  }
  TellHidden(global.format == Format::kTable ? whole.hidden : 0, global);
  if (steps.size() < all && !global.quiet) {
    (void)std::fflush(stdout);
    fmt::print(stderr, "{} of {} steps; --top 0 shows all, --step N one of them\n", steps.size(),
               all);
  }
}

void RunChain(const ChainCommand& options, const GlobalOptions& global) {
  const OpenStore opened = OpenForReading(global);
  const TraceEvents events =
      ValueOrThrow(evidence::LoadTraceEvents(*opened.connection, {options.run, options.rank}));
  if (!options.request.empty())
    return RunChainOfRequest(*opened.connection, events, options, global);
  const std::vector<uint32_t> steps = evidence::FindSteps(events);
  if (!options.step && !options.event) return ListSteps(events, steps, global);
  const evidence::ChainOptions chain_options = ChainOptionsOf(options);
  const uint32_t root = ChosenRoot(events, options, steps);
  const evidence::CallTimes times = evidence::TimesOf(events);
  const Chain chain =
      evidence::ChainOf(events, evidence::TreeOf(events), times, root, chain_options);
  if (global.format == Format::kJson) return PrintJson(events, times, chain);
  if (global.format != Format::kTable) return PrintRows(events, times, chain, global);
  PrintTree(events, times, chain, root);
  TellHidden(chain.hidden, global);
}

}  // namespace

std::string UnattachedJson(const std::vector<evidence::Unattached>& unattached) {
  std::string out;
  for (const evidence::Unattached& row : unattached) {
    out += fmt::format(R"({}{{"kind":"{}","count":{},"cause":"{}"}})", out.empty() ? "" : ",",
                       trace::EventKindName(row.kind), row.count, row.cause);
  }
  return out;
}

void AddChainCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<ChainCommand>();
  CLI::App* command = app.add_subcommand("chain",
                                         "the call chain of a step or a request: operators, calls, "
                                         "GPU work (neither: list the steps)");
  command->footer(
      "\nUnder the step's range lie the host events in it, and under each call the GPU work that "
      "it "
      "launched,\nalso where that ran later. Work without a known launch stands under \"not "
      "attached\".\n\nExamples:\n  telltale chain\n  telltale chain --step 0 --depth 4 --min-us "
      "100\n  telltale chain --step 2 --rank 0 --kinds operator,kernel\n  telltale chain "
      "cmpl-8001a336 --rank 0 --depth 3\n  telltale --json chain "
      "--step 0");
  command->add_option("REQUEST", options->request,
                      "id of a request, or how it begins: the chains of the steps that served it");
  command->add_option("--top", options->top, "of a request, so many steps (4); 0 for all")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--step", options->step,
                   "number of the step, as `telltale chain` lists it with the same --run and "
                   "--rank; of a request, "
                   "as `telltale steps` lists it")
      ->check(CLI::Range(0, 1 << 30));
  command->add_option("--event", options->event, "the chain below this event instead");
  command->add_option("--run", options->run, "only this run");
  command->add_option("--rank", options->rank, "only this global rank");
  command->add_option("--depth", options->depth, "levels to show; all if not given");
  command
      ->add_option("--min-us", options->min_us, "hide what is shorter, on the host and on the GPU")
      ->check(CLI::Range(0.0, 1e12));
  command
      ->add_option("--kinds", options->kinds, "show only these kinds; the others' children move up")
      ->delimiter(',');
  command->callback([options, &global] { RunChain(*options, global); });
}

}  // namespace telltale::cli
