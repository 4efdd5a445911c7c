#include "readers/engine_log/engine_clues.h"

#include <algorithm>
#include <string>

#include "readers/engine_log/engine_values.h"

namespace telltale::engine_log {
namespace {

using log::Between;
using log::BytesAfter;
using log::Fields;
using log::LogEvent;
using log::NumberAfter;
using log::Observations;
using log::ObservedLine;
using log::Severity;

void Add(const ObservedLine& line, Observations& out, const char* kind, Severity severity,
         const Fields& fields) {
  out.events.push_back({line.line, kind, severity, -1, -1, {}, fields.Finish()});
}

// torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 170.00 MiB. GPU 5 has a total
// capacity of 178.35 GiB of which 81.44 MiB is free. Process 540791 has 100.14 GiB memory in use.
// Including non-PyTorch memory, this process has 78.11 GiB memory in use. …
void ReadOutOfMemory(const ObservedLine& line, Observations& out) {
  const auto tried = BytesAfter(line.text, "Tried to allocate ");
  if (!tried) return;
  LogEvent event{line.line, "cuda_out_of_memory", Severity::kFatal, -1, -1, {}, {}};
  if (const auto gpu = NumberAfter(line.text, "GPU ")) event.gpu = std::to_string(*gpu);
  // In torchrun's summary it stands among the lines of the rank that failed.
  if (line.text.starts_with(' ')) event.rank = out.recent.rank;
  // A process that is named with its number is another one: this one says "this process".
  std::string others;
  std::string_view rest = line.text;
  for (size_t at = rest.find("Process "); at != std::string_view::npos;
       at = rest.find("Process ")) {
    rest.remove_prefix(at);
    const auto pid = NumberAfter(rest.substr(0, 32), "Process ");
    const auto bytes = BytesAfter(rest.substr(0, 64), " has ");
    if (pid && bytes) {
      others += (others.empty() ? "[" : ",") +
                Fields().Number("pid", pid).Number("bytes", bytes).Finish();
    }
    rest.remove_prefix(8);
  }
  // PyTorch before 2.1: (GPU 0; 79.15 GiB total capacity; 1.00 GiB already allocated; 2.00 GiB
  // free; 2.1 has a slip of the pen.
  const std::string_view old = Between(line.text, "(GPU ", ")");
  auto capacity = BytesAfter(line.text, "total capacity of ");
  if (!capacity) capacity = BytesAfter(line.text, "total capacty of ");
  if (!capacity) capacity = BytesAfter(old, "; ");
  Fields fields;
  fields.Number("tried_bytes", tried)
      .Number("capacity_bytes", capacity)
      .Number("free_bytes", BytesAfter(line.text, "of which "))
      .Number("own_bytes", BytesAfter(line.text, "this process has "))
      .Number("allocated_by_pytorch_bytes", BytesAfter(line.text, "allocated memory "))
      .Number("reserved_but_unallocated_bytes", BytesAfter(line.text, "in use. Of the allocated"));
  if (!others.empty()) fields.Json("other_processes", others + "]");
  event.fields = fields.Finish();
  out.events.push_back(std::move(event));
}

void ReadEngineDeath(const ObservedLine& line, Observations& out) {
  Add(line, out, "engine_death", Severity::kFatal, Fields().Text("message", line.text));
}

// The processes around an engine that died say so too: once each, not for every request.
void ReadEngineDeadError(const ObservedLine& line, Observations& out) {
  if (line.text.find("EngineDeadError:") == std::string_view::npos) return;
  Add(line, out, "engine_dead_error", Severity::kError, Fields().Text("message", line.text));
}

// Dumping scheduler output for model execution: SchedulerOutput(scheduled_new_reqs=[NewRequestData(
// req_id=…)], …, num_scheduled_tokens={id: 6}, total_num_scheduled_tokens=6, …)
void ReadSchedulerDump(const ObservedLine& line, Observations& out) {
  std::string_view rest = Between(line.text, "num_scheduled_tokens={", "}");
  std::string requests;
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find(", "));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 2));
    const size_t colon = pair.rfind(": ");
    if (colon == std::string_view::npos) continue;
    // Older versions write ids in quotes.
    std::string_view id = pair.substr(0, colon);
    if (id.size() > 1 && id.front() == '\'') id = id.substr(1, id.size() - 2);
    requests += (requests.empty() ? "[" : ",") +
                Fields()
                    .Text("request", id)
                    .Number("tokens", NumberAfter(pair.substr(colon), ": "))
                    .Finish();
  }
  if (requests.empty()) {
    const std::string_view id = Between(line.text, "req_id=", ",)");
    if (!id.empty()) requests = "[" + Fields().Text("request", id).Finish();
  }
  Fields fields;
  fields.Number("tokens", NumberAfter(line.text, "total_num_scheduled_tokens="));
  if (!requests.empty()) fields.Json("requests", requests + "]");
  Add(line, out, "scheduler_dump", Severity::kError, fields);
}

// Sequence group 0 is preempted by PreemptionMode.RECOMPUTE mode because …
// total_cumulative_preemption_cnt=1
void ReadPreemption(const ObservedLine& line, Observations& out) {
  Add(line, out, "preemption", Severity::kWarning,
      Fields()
          .Text("request", Between(line.text, "Sequence group ", " "))
          .Text("mode", Between(line.text, "PreemptionMode.", " "))
          .Number("total", NumberAfter(line.text, "total_cumulative_preemption_cnt=")));
}

// KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.9998 -> 1.0000
void ReadRetraction(const ObservedLine& line, Observations& out) {
  Add(line, out, "retraction", Severity::kWarning,
      Fields().Number("requests", NumberAfter(line.text, "#retracted_reqs: ")));
}

void ReadEngineWatchdog(const ObservedLine& line, Observations& out) {
  Add(line, out, "engine_watchdog_timeout", Severity::kFatal,
      Fields().Real("timeout_s", log::RealAfter(line.text, "watchdog_timeout=")));
}

// Request ids may hold anything that a client sent but spaces and, at the end, punctuation.
std::string_view RequestAfter(std::string_view text, std::string_view before) {
  std::string_view id = Between(text, before, " ");
  while (id.ends_with('.') || id.ends_with(':') || id.ends_with(',')) id.remove_suffix(1);
  return id;
}

// Received request ID: …, Added request ID., Aborted request ID., Request ID aborted., Request ID
// failed
void ReadRequest(const ObservedLine& line, Observations& out) {
  static constexpr std::pair<std::string_view, const char*> kBegins[] = {
      {"Received request ", "request_received"},
      {"Added request ", "request_added"},
      {"Aborted request(s) ", "request_aborted"},
      {"Aborted request ", "request_aborted"},
      {"Finished request ", "request_finished"}};
  for (const auto& [begin, kind] : kBegins) {
    if (!line.text.starts_with(begin)) continue;
    std::string_view ids = RequestAfter(line.text, begin);
    // A line that ends with the id was cut while it was written: so may be the id.
    if (begin.size() + ids.size() == line.text.size()) return;
    while (!ids.empty()) {
      const std::string_view id =
          begin.find("(s)") == begin.npos ? ids : ids.substr(0, ids.find(','));
      if (!id.empty()) Add(line, out, kind, Severity::kInfo, Fields().Text("request", id));
      ids.remove_prefix(std::min(ids.size(), id.size() + 1));
    }
    return;
  }
  if (!line.text.starts_with("Request ")) return;
  const std::string_view id = Between(line.text, "Request ", " ");
  const std::string_view rest = line.text.substr(std::min(line.text.size(), 9 + id.size()));
  const bool has_failed = rest.starts_with("failed");
  if (id.empty() || (!has_failed && !rest.starts_with("aborted"))) return;
  Add(line, out, has_failed ? "request_failed" : "request_aborted",
      has_failed ? Severity::kError : Severity::kInfo, Fields().Text("request", id));
}

// failed (exitcode: -6) local_rank: 1 (pid: 2763828) of binary: …
void ReadFailedProcess(const ObservedLine& line, Observations& out) {
  const auto code = NumberAfter(line.text, "(exitcode: ");
  const auto pid = NumberAfter(line.text, "(pid: ");
  if (!code || !pid) return;
  out.events.push_back({line.line,
                        "process_failed",
                        Severity::kFatal,
                        -1,
                        *pid,
                        {},
                        Fields()
                            .Number("exit_code", code)
                            .Number("local_rank", NumberAfter(line.text, "local_rank: "))
                            .Finish()});
}

// The summary of torchrun has a value on each line:
//   Root Cause (first observed failure):
//     host      : node7
//     rank      : 1 (local_rank: 1)
//     exitcode  : -6 (pid: 2763828)  (SIGABRT)
void ReadSummaryRoot(const ObservedLine& line, Observations& out) {
  out.recent = {line.line, -1, {}, true};
}
void ReadSummaryHost(const ObservedLine& line, Observations& out) {
  if (!line.text.starts_with("  host      : ")) return;
  out.recent.host = Between(line.text, ": ", " ");
}
void ReadSummaryRank(const ObservedLine& line, Observations& out) {
  if (!line.text.starts_with("  rank      : ")) return;
  out.recent.rank = NumberAfter(line.text, ": ").value_or(-1);
  out.recent.line = line.line;
}
void ReadSummaryExit(const ObservedLine& line, Observations& out) {
  const auto code = NumberAfter(line.text, "exitcode  : ");
  if (!code || !line.text.starts_with("  exitcode")) return;
  const bool has_rank = out.recent.rank >= 0 && out.recent.line + 1 == line.line;
  const std::string_view signal = Between(line.text, "  (", ")");
  out.events.push_back(
      {line.line,
       "rank_failed",
       out.recent.is_root_cause ? Severity::kFatal : Severity::kError,
       has_rank ? out.recent.rank : -1,
       NumberAfter(line.text, "(pid: ").value_or(-1),
       {},
       Fields()
           .Text("host", has_rank ? std::string_view(out.recent.host) : std::string_view())
           .Number("exit_code", code)
           .Text("signal", signal)
           .Json("is_root_cause", out.recent.is_root_cause ? "true" : "false")
           .Finish()});
  out.recent.is_root_cause = false;
}

void ReadPythonFatal(const ObservedLine& line, Observations& out) {
  Add(line, out, "python_fatal_error", Severity::kFatal,
      Fields().Text("error", Between(line.text, "Fatal Python error: ", "")));
}

void ReadCudaError(const ObservedLine& line, Observations& out) {
  Add(line, out, "cuda_error", Severity::kFatal,
      Fields().Text("error", Between(line.text, "CUDA error: ", "")));
}

void ReadNcclError(const ObservedLine& line, Observations& out) {
  Add(line, out, "nccl_error", Severity::kFatal,
      Fields().Text("error", Between(line.text, "NCCL error in: ", "")));
}

void ReadServerError(const ObservedLine& line, Observations& out) {
  Add(line, out, "http_error", Severity::kError,
      Fields()
          .Text("request", Between(line.text, "\"", "\""))
          .Number("status", NumberAfter(line.text, "HTTP/1.1\" ")));
}

constexpr log::Clue kOwnClues[] = {
    {"CUDA out of memory", ReadOutOfMemory},
    {"EngineCore encountered a fatal error", ReadEngineDeath},
    {"EngineCore failed to start", ReadEngineDeath},
    {"Received sigquit from a child proces", ReadEngineDeath},
    {"Engine loop is not running", ReadEngineDeath},
    {"EngineDeadError", ReadEngineDeadError},
    {"Dumping scheduler output for model execution", ReadSchedulerDump},
    {"is preempted by PreemptionMode", ReadPreemption},
    {"Retract requests", ReadRetraction},
    {"Decode out of memory happened", ReadRetraction},
    {"atchdog timeout (self.watchdog_timeout", ReadEngineWatchdog},
    {"Received request ", ReadRequest},
    {"Added request ", ReadRequest},
    {"Aborted request", ReadRequest},
    {" aborted.", ReadRequest},
    {" failed", ReadRequest},
    {"Finished request ", ReadRequest},
    {"failed (exitcode: ", ReadFailedProcess},
    {"Root Cause (first observed failure)", ReadSummaryRoot},
    {"  host      : ", ReadSummaryHost},
    {"  rank      : ", ReadSummaryRank},
    {"  exitcode  : ", ReadSummaryExit},
    {"Fatal Python error: ", ReadPythonFatal},
    {"CUDA error: ", ReadCudaError},
    {"NCCL error in: ", ReadNcclError},
    {"HTTP/1.1\" 5", ReadServerError},
    {"Avg prompt throughput: ", ReadVllmStatistics},
    {"Prefill batch", ReadSglangBatch},
    {"Decode batch", ReadSglangBatch},
    {"loss:", ReadTrainStep},
    {"Iteration(", ReadIteration},
};

}  // namespace

std::span<const log::Clue> EngineClues() { return kOwnClues; }

}  // namespace telltale::engine_log
