#include "readers/engine_log/watchdog_clues.h"

#include <array>

namespace telltale::engine_log {
namespace {

using log::Between;
using log::Fields;
using log::NumberAfter;
using log::Observations;
using log::ObservedLine;
using log::Severity;

// [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3,
// OpType=_ALLGATHER_BASE, NumelIn=97239680, NumelOut=777917440, Timeout(ms)=300000) ran for 300051
// milliseconds before timing out.
void ReadTimeout(const ObservedLine& line, Observations& out) {
  // The same words come again in the error that is thrown, and in the one that ends the process.
  if (!line.text.starts_with("[Rank ") && !line.text.starts_with("Watchdog caught")) return;
  out.events.push_back({line.line,
                        "nccl_watchdog_timeout",
                        Severity::kFatal,
                        NumberAfter(line.text, "[Rank ").value_or(-1),
                        -1,
                        {},
                        Fields()
                            .Number("sequence", NumberAfter(line.text, "SeqNum="))
                            .Text("operation", Between(line.text, "OpType=", ",)"))
                            .Number("elements_in", NumberAfter(line.text, "NumelIn="))
                            .Number("elements_out", NumberAfter(line.text, "NumelOut="))
                            .Number("timeout_ms", NumberAfter(line.text, "Timeout(ms)="))
                            .Number("ran_ms", NumberAfter(line.text, " ran for "))
                            .Finish()});
}

// [PG ID 0 PG GUID 0(default_pg) Rank 0]  failure detected by watchdog at work sequence id: 3 PG
// status: last enqueued work: 3, last started work: -1 (), last completed work: 2
// Older: [PG 1 Rank 0] Exception (either an error or timeout) detected by watchdog at work: 1580,
// last enqueued NCCL work: 1582, last completed NCCL work: 1579.
void ReadStatus(const ObservedLine& line, Observations& out) {
  const auto number = [&](std::string_view newer, std::string_view older) {
    const auto value = NumberAfter(line.text, newer);
    return value ? value : NumberAfter(line.text, older);
  };
  const std::string_view head = Between(line.text, "[", "]");
  std::string_view group = Between(head, "PG GUID ", " ");
  if (group.empty()) group = Between(head, "PG ", " ");
  out.events.push_back(
      {line.line,
       "nccl_watchdog_status",
       Severity::kError,
       NumberAfter(head, "Rank ").value_or(-1),
       -1,
       {},
       Fields()
           .Text("group", group.substr(0, group.find('(')))
           .Text("group_name", Between(group, "(", ")"))
           .Number("sequence", number("at work sequence id: ", "at work: "))
           .Number("last_enqueued", number("last enqueued work: ", "last enqueued NCCL work: "))
           .Number("last_started", number("last started work: ", "last started NCCL work: "))
           .Number("last_completed", number("last completed work: ", "last completed NCCL work: "))
           .Finish()});
}

void ReadHeartbeat(const ObservedLine& line, Observations& out) {
  out.events.push_back({line.line,
                        "nccl_heartbeat_timeout",
                        Severity::kFatal,
                        -1,
                        -1,
                        {},
                        Fields().Text("message", line.text).Finish()});
}

}  // namespace

std::span<const log::Clue> WatchdogClues() {
  static constexpr std::array<log::Clue, 3> kClues = {{
      {"Watchdog caught collective operation timeout", ReadTimeout},
      {"detected by watchdog at work", ReadStatus},
      {"Heartbeat monitor timed out", ReadHeartbeat},
  }};
  return kClues;
}

}  // namespace telltale::engine_log
