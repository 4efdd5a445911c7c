#include "readers/nccl_log/nccl_clues.h"

#include <array>

namespace telltale::nccl_log {
namespace {

using log::Between;
using log::Fields;
using log::LogEvent;
using log::NumberAfter;
using log::Observations;
using log::ObservedLine;
using log::Severity;

void ReadVersion(const ObservedLine& line, Observations& out) {
  if (!line.text.starts_with("NCCL version ")) return;
  out.events.push_back(
      {line.line,
       "nccl_version",
       Severity::kInfo,
       -1,
       -1,
       {},
       Fields().Text("version", Between(line.text, "NCCL version ", " ")).Finish()});
}

// ncclCommInitRankConfig comm 0x… rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 101d0 commId 0xb07… -
// Init START
void ReadInit(const ObservedLine& line, Observations& out) {
  const bool is_start = line.text.find("Init START") != std::string_view::npos;
  out.events.push_back({line.line,
                        is_start ? "nccl_init_start" : "nccl_init_complete",
                        Severity::kInfo,
                        -1,
                        -1,
                        {},
                        Fields()
                            .Text("communicator", Between(line.text, "commId ", " "))
                            .Number("communicator_rank", NumberAfter(line.text, " rank "))
                            .Number("ranks", NumberAfter(line.text, " nranks "))
                            .Number("cuda_device", NumberAfter(line.text, "cudaDev "))
                            .Text("bus", Between(line.text, "busId ", " "))
                            .Finish()});
}

// NET/IB : Got completion from peer 10.216.210.236<54862> with status=12 opcode=0 len=0 vendor err
// 129 (Recv) … hca mlx5_0, and its newer form "status=…(12) … vendor_err=129".
void ReadCompletion(const ObservedLine& line, Observations& out) {
  auto status = NumberAfter(line.text, "status=");
  if (!status) {
    // status=transport retry counter exceeded(12)
    const size_t at = line.text.find("status=");
    if (at != std::string_view::npos) status = NumberAfter(line.text.substr(at), "(");
  }
  auto vendor = NumberAfter(line.text, "vendor_err=");
  if (!vendor) vendor = NumberAfter(line.text, "vendor err ");
  // Verbs' IBV_WC_RETRY_EXC_ERR and IBV_WC_RNR_RETRY_EXC_ERR.
  const char* meaning = status == 12   ? "transport retries exceeded: the peer does not answer"
                        : status == 13 ? "receiver not ready, retries exceeded"
                        : status == 5  ? "flushed, after another error"
                                       : "";
  out.events.push_back({line.line,
                        "ib_completion_error",
                        Severity::kError,
                        -1,
                        -1,
                        {},
                        Fields()
                            .Text("peer", Between(line.text, "from peer ", " "))
                            .Number("status", status)
                            .Text("meaning", meaning)
                            .Number("vendor_error", vendor)
                            .Text("adapter", Between(line.text, " hca ", " "))
                            .Finish()});
}

void ReadAsyncEvent(const ObservedLine& line, Observations& out) {
  // "NET/IB : mlx5_0:1 …", newer ones without the first space.
  std::string_view adapter = Between(line.text, "NET/IB : ", " ");
  if (adapter.empty()) adapter = Between(line.text, "NET/IB: ", " ");
  out.events.push_back({line.line,
                        "ib_async_event",
                        Severity::kError,
                        -1,
                        -1,
                        {},
                        Fields()
                            .Text("adapter", adapter)
                            .Text("event", Between(line.text, "async fatal event: ", ""))
                            .Finish()});
}

void ReadClosed(const ObservedLine& line, Observations& out) {
  out.events.push_back({line.line,
                        "connection_closed",
                        Severity::kError,
                        -1,
                        -1,
                        {},
                        Fields().Text("peer", Between(line.text, "remote peer ", " ")).Finish()});
}

void ReadWarning(const ObservedLine& line, Observations& out) {
  // Where the warning says more, another clue has it.
  for (const char* known :
       {"Got completion from peer", "async fatal event", "Connection closed by remote peer"}) {
    if (line.text.find(known) != std::string_view::npos) return;
  }
  out.events.push_back({line.line,
                        "nccl_warning",
                        Severity::kWarning,
                        -1,
                        -1,
                        {},
                        Fields().Text("message", line.text).Finish()});
}

}  // namespace

std::span<const log::Clue> NcclClues() {
  static constexpr std::array<log::Clue, 7> kClues = {{
      {"NCCL version ", ReadVersion},
      {"Init START", ReadInit},
      {"Init COMPLETE", ReadInit},
      {"Got completion from peer", ReadCompletion},
      {"async fatal event", ReadAsyncEvent},
      {"Connection closed by remote peer", ReadClosed},
      {log::kLibraryWarning, ReadWarning},
  }};
  return kClues;
}

}  // namespace telltale::nccl_log
