#include "readers/kernel_log/kernel_clues.h"

#include <algorithm>
#include <array>

#include "base/pci.h"

namespace telltale::kernel_log {
namespace {

using log::Between;
using log::Fields;
using log::LogEvent;
using log::NumberAfter;
using log::Observations;
using log::ObservedLine;
using log::Severity;

// The bus id in the form that all sources share; as written where it is none.
std::string Gpu(std::string_view bus) { return NormalPciBusId(bus).value_or(std::string(bus)); }

// Errors of the application or what follows from them; memory; links; the GPU or its firmware.
// Nvidia's "XID Errors" page.
struct XidKind {
  int64_t xid;
  const char* what;
  Severity severity;
};
constexpr XidKind kXids[] = {
    {13, "graphics engine exception", Severity::kError},
    {31, "GPU memory page fault", Severity::kError},
    {32, "invalid or corrupted push buffer stream", Severity::kError},
    {38, "driver firmware error", Severity::kError},
    {43, "GPU stopped processing", Severity::kError},
    {45, "preemptive cleanup, due to previous errors", Severity::kWarning},
    {48, "double bit ECC error", Severity::kFatal},
    {61, "internal microcontroller breakpoint", Severity::kError},
    {62, "internal microcontroller halt", Severity::kFatal},
    {63, "ECC page retirement or row remapping", Severity::kWarning},
    {64, "ECC page retirement or row remapping failure", Severity::kFatal},
    {68, "video processor exception", Severity::kError},
    {69, "graphics engine class error", Severity::kError},
    {74, "NVLink error", Severity::kFatal},
    {79, "GPU has fallen off the bus", Severity::kFatal},
    {92, "high single-bit ECC error rate", Severity::kWarning},
    {94, "contained ECC error", Severity::kError},
    {95, "uncontained ECC error", Severity::kFatal},
    {119, "GSP RPC timeout", Severity::kFatal},
    {120, "GSP error", Severity::kFatal},
    {121, "corrected errors on the link between chips", Severity::kWarning},
    {137, "NVLink flow control violation", Severity::kError},
    {140, "unrecovered ECC error", Severity::kFatal},
    {143, "GPU initialisation error", Severity::kFatal},
    {144, "NVLink: SAW error", Severity::kError},
    {145, "NVLink: RLW error", Severity::kError},
    {146, "NVLink: TLW error", Severity::kError},
    {147, "NVLink: TREX error", Severity::kError},
    {148, "NVLink: NVLPW error", Severity::kError},
    {149, "NVLink: NETIR error", Severity::kError},
    {150, "NVLink: MSE error", Severity::kError},
    {154, "GPU recovery action changed", Severity::kWarning},
};

// NVRM: Xid (PCI:0000:9b:00): 119, pid=2024380, name=nvidia-smi, Timeout after 6s …
void ReadXid(const ObservedLine& line, Observations& out) {
  // "Xid (0000:02:00): 6" in old drivers; of a GPU that is divided "(PCI:0000:03:00 GPU-I:05)".
  std::string_view bus = Between(line.text, "Xid (", " )");
  if (bus.starts_with("PCI:")) bus.remove_prefix(4);
  const auto xid = NumberAfter(line.text, "): ");
  if (bus.empty() || !xid) return;
  LogEvent event{line.line, "xid", Severity::kError, -1, -1, Gpu(bus), {}};
  const char* what = "";
  for (const XidKind& kind : kXids) {
    if (kind.xid == *xid) {
      what = kind.what;
      event.severity = kind.severity;
    }
  }
  if (line.text.find(" Fatal") != std::string_view::npos) event.severity = Severity::kFatal;
  if (const auto pid = NumberAfter(line.text, "pid=")) event.pid = *pid;
  std::string_view name = Between(line.text, ", name=", ",");
  if (name == "<unknown>") name = {};
  // The message stands behind the name, or right behind the number in lines of old drivers.
  std::string_view message = line.text.substr(line.text.find("): "));
  size_t at = message.find(", name=");
  at = message.find(", ", at == std::string_view::npos ? 0 : at + 2);
  message = at == std::string_view::npos ? std::string_view() : message.substr(at + 2);
  Fields fields;
  fields.Number("xid", xid).Text("meaning", what).Text("process", name).Text("message", message);
  if (message.find("GSP") != std::string_view::npos) {
    fields.Text("expected_function", Between(message, "Expected function ", ".!"));
  }
  event.fields = fields.Finish();
  out.events.push_back(std::move(event));
}

// nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 61 egress non-posted PRIV error
void ReadSxid(const ObservedLine& line, Observations& out) {
  const std::string_view bus = Between(line.text, "SXid (PCI:", ")");
  const auto sxid = NumberAfter(line.text, "): ");
  if (bus.empty() || !sxid) return;
  const bool is_fatal = line.text.find(", Fatal") != std::string_view::npos;
  out.events.push_back(
      {line.line, "sxid", is_fatal ? Severity::kFatal : Severity::kWarning, -1, -1, Gpu(bus),
       Fields().Number("sxid", sxid).Number("link", NumberAfter(line.text, "Link ")).Finish()});
}

// detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical
// id 3 port 61
void ReadSwitchError(const ObservedLine& line, Observations& out) {
  const auto error = NumberAfter(line.text, "error ");
  if (!error) return;
  const bool is_fatal = line.text.find("non-fatal") == std::string_view::npos;
  out.events.push_back({line.line, "sxid", is_fatal ? Severity::kFatal : Severity::kWarning, -1, -1,
                        Gpu(Between(line.text, "pci bus id ", " ")),
                        Fields()
                            .Number("sxid", error)
                            .Number("fabric_id", NumberAfter(line.text, "fid "))
                            .Number("switch_physical_id", NumberAfter(line.text, "physical id "))
                            .Number("port", NumberAfter(line.text, "port "))
                            .Finish()});
}

// NVRM: GPU at PCI:0000:9b:00: GPU-509665ad-b600-ac93-3616-d754b23d636d
void ReadGpuName(const ObservedLine& line, Observations& out) {
  const size_t at = line.text.find(": GPU-");
  if (at == std::string_view::npos) return;
  const size_t bus = line.text.find("PCI:") + 4;
  if (bus > at) return;
  out.events.push_back(
      {line.line, "gpu_name", Severity::kInfo, -1, -1, Gpu(line.text.substr(bus, at - bus)),
       Fields().Text("uuid", Between(line.text.substr(at), ": ", " ,;")).Finish()});
}

void ReadLostGpu(const ObservedLine& line, Observations& out) {
  // The line of Xid 79 says the same and is read as one.
  if (line.text.find("Xid (") != std::string_view::npos) return;
  std::string_view bus = Between(line.text, "PCI:", " ,)");
  if (bus.empty()) {
    // NVRM: GPU 0000:08:00.0: GPU has fallen off the bus.
    bus = Between(line.text, "GPU ", " ");
    if (bus.ends_with(':')) bus.remove_suffix(1);
  }
  out.events.push_back({line.line, "gpu_lost", Severity::kFatal, -1, -1, Gpu(bus), "{}"});
}

void ReadNeedsReset(const ObservedLine& line, Observations& out) {
  out.events.push_back({line.line, "gpu_needs_reset", Severity::kFatal, -1, -1,
                        Gpu(Between(line.text, "PCI:", " ,)")), "{}"});
}

// Out of memory: Killed process 123 (python), UID 48, …
void ReadKilled(const ObservedLine& line, Observations& out) {
  auto pid = NumberAfter(line.text, "Killed process ");
  if (!pid) pid = NumberAfter(line.text, "Kill process ");
  if (!pid) return;
  out.events.push_back({line.line,
                        "oom_kill",
                        Severity::kFatal,
                        -1,
                        *pid,
                        {},
                        Fields()
                            .Text("process", Between(line.text, "(", ")"))
                            .Number("anonymous_kib", NumberAfter(line.text, "anon-rss:"))
                            .Finish()});
}

// oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=…,task=node,pid=863987,uid=0
void ReadOomConstraint(const ObservedLine& line, Observations& out) {
  const auto pid = NumberAfter(line.text, ",pid=");
  out.events.push_back({line.line,
                        "oom_kill",
                        Severity::kFatal,
                        -1,
                        pid.value_or(-1),
                        {},
                        Fields()
                            .Text("constraint", Between(line.text, "constraint=", ","))
                            .Text("process", Between(line.text, ",task=", ","))
                            .Text("memory_cgroup", Between(line.text, "oom_memcg=", ","))
                            .Finish()});
}

void ReadReaped(const ObservedLine& line, Observations& out) {
  const auto pid = NumberAfter(line.text, "reaped process ");
  if (!pid) return;
  out.events.push_back({line.line,
                        "oom_kill",
                        Severity::kFatal,
                        -1,
                        *pid,
                        {},
                        Fields().Text("process", Between(line.text, "(", ")")).Finish()});
}

void ReadPeerMemory(const ObservedLine& line, Observations& out) {
  if (line.text.find("ERROR") == std::string_view::npos) return;
  out.events.push_back({line.line,
                        "peer_memory_error",
                        Severity::kError,
                        -1,
                        -1,
                        {},
                        Fields().Text("message", Between(line.text, "ERROR ", "")).Finish()});
}

// Names of tasks hold colons and spaces; the last colon stands before the number.
void ReadHungTask(const ObservedLine& line, Observations& out) {
  constexpr std::string_view kBlocked = " blocked for more than ";
  const auto seconds = NumberAfter(line.text, kBlocked);
  std::string_view task = line.text.substr(0, line.text.find(kBlocked));
  task.remove_prefix(std::min(task.size(), task.find("task ") + 5));
  const size_t colon = task.rfind(':');
  if (!seconds || colon == std::string_view::npos) return;
  out.events.push_back(
      {line.line,
       "hung_task",
       Severity::kError,
       -1,
       NumberAfter(task.substr(colon), ":").value_or(-1),
       {},
       Fields().Text("process", task.substr(0, colon)).Number("blocked_s", seconds).Finish()});
}

void ReadHardwareError(const ObservedLine& line, Observations& out) {
  out.events.push_back({line.line,
                        "hardware_error",
                        Severity::kError,
                        -1,
                        -1,
                        {},
                        Fields().Text("message", line.text).Finish()});
}

}  // namespace

std::span<const log::Clue> KernelClues() {
  static constexpr std::array<log::Clue, 13> kClues = {{
      {"NVRM: Xid (", ReadXid},
      {"SXid (", ReadSxid},
      {"detected NVSwitch", ReadSwitchError},
      {"NVRM: GPU at PCI:", ReadGpuName},
      {"has fallen off the bus", ReadLostGpu},
      {"GPU likely needs to be reset", ReadNeedsReset},
      {"Out of memory: ", ReadKilled},
      {"oom-kill:constraint=", ReadOomConstraint},
      {"oom_reaper: ", ReadReaped},
      {"nvidia-peermem", ReadPeerMemory},
      {"blocked for more than ", ReadHungTask},
      {"[Hardware Error]", ReadHardwareError},
      {"Memory cgroup out of memory: ", ReadKilled},
  }};
  return kClues;
}

}  // namespace telltale::kernel_log
