#include "collectives/inspector_rules.h"

#include <algorithm>

namespace telltale::collectives {
namespace {

void CheckFilters(Examination& exam) {
  // A default that hides records may be unknown to whoever relies on it; a set value is wanted.
  if (exam.IsRead(kMinSize) && !exam.IsUnknown(kMinSize) && exam.Number(kMinSize) != 0) {
    exam.Add(
        exam.Set(kMinSize) ? Severity::kInfo : Severity::kWarning, "min_size", kMinSize,
        fmt::format("operations on messages below {} bytes, and the gaps that they leave in the "
                    "sequence numbers look like losses",
                    exam.Number(kMinSize)),
        Export(kMinSize, 0));
  }
  if (exam.IsOn(kKernelTiming) && !exam.IsUnknown(kKernelTiming)) {
    std::string effect =
        "operations without a time from the GPU: they are dropped and not counted, so all output "
        "may be empty";
    if (exam.IsRccl() && !exam.AtLeast(kRcclFinalDump)) {
      effect += "; before rocm-systems 10660 this drops all Send and Recv";
    }
    exam.Add(exam.Set(kKernelTiming) ? Severity::kInfo : Severity::kWarning, "kernel_timing",
             kKernelTiming, effect,
             Export(kKernelTiming, 0) + " (coll_timing_source then tells the times apart)");
  }
  if (exam.IsRead(kP2p) && !exam.IsUnknown(kP2p) && !exam.IsOn(kP2p)) {
    exam.Add(Severity::kWarning, "no_p2p", kP2p,
             "Send and Recv: pipeline stages, all-to-all and KV cache transfers", Export(kP2p, 1));
  }
}

void CheckPools(Examination& exam) {
  if (!exam.IsRead(kPoolGrow) || exam.IsUnknown(kPoolGrow) || exam.IsOn(kPoolGrow)) return;
  exam.Add(
      Severity::kWarning, "pool_fixed", kPoolGrow,
      fmt::format("operations beyond {} collectives or {} Send and Recv in flight in a process",
                  std::max<int64_t>(exam.Number("NCCL_INSPECTOR_COLL_POOL_SIZE"), 10),
                  std::max<int64_t>(exam.Number("NCCL_INSPECTOR_P2P_POOL_SIZE"), 10)),
      Export(kPoolGrow, 1));
}

void CheckProxy(Examination& exam) {
  if (exam.IsUnknown(kProxy)) return;
  const bool is_wanted =
      exam.Set(kProxy) && ReadNumber(SettingKind::kBoolean, *exam.Set(kProxy)).value != 0;
  if (!is_wanted) {
    for (const auto& [name, value] : exam.question().values) {
      if (name.find("PROXY") == std::string::npos || name == kProxy) continue;
      if (!FindInspectorSetting(name) || !exam.IsRead(name)) continue;
      exam.Add(Severity::kInfo, "no_effect", name,
               "nothing; it has no effect without NCCL_INSPECTOR_ENABLE_PROXY=1", "");
    }
    return;
  }
  if (!exam.IsRead(kProxy)) return;  // CheckNames has said so.
  if (!exam.WritesJson()) {
    exam.Add(Severity::kWarning, "proxy_inactive", kProxy,
             "the proxy records: they exist in JSON output only", Export(kProxy, 0));
    return;
  }
  exam.Add(
      Severity::kWarning, "proxy_cost", kProxy,
      "speed and disk: a measurement in review gave 40 times the output and 15.6 % less "
      "bandwidth "
      "(4 GB200, sockets); its pools do not grow, and steps beyond them are counted as dropped. "
      "It needs output format v4.3 or newer; a release without it ignores the setting",
      Export("NCCL_INSPECTOR_DUMP_PROXY_STEPS", 0) + " leaves only the operations",
      "NVIDIA/nccl 2239, 2359");
}

}  // namespace

void ExamineContent(Examination& exam) {
  CheckFilters(exam);
  CheckPools(exam);
  CheckProxy(exam);
}

}  // namespace telltale::collectives
