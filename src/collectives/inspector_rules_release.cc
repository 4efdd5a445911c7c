#include "collectives/inspector_rules.h"

namespace telltale::collectives {
namespace {

void CheckCrash(Examination& exam) {
  const bool was_reported = exam.Older({2, 29, 0});
  exam.AddAboutVersion(
      was_reported ? Severity::kProblem : Severity::kWarning, "teardown_crash",
      was_reported ? "perhaps the whole job: segmentation faults and deadlocks in the plugin "
                     "were reported for 2.28.9"
                   : "perhaps the whole job: 2.29 frees its records in the same way as 2.28.9, "
                     "for which segmentation faults and deadlocks were reported",
      "use 2.30 or newer, which keeps records in pools", "NVIDIA/nccl 1992, 2000");
}

void CheckNcclVersion(Examination& exam) {
  const LibraryVersion version = *exam.question().version;
  if (version.generation == 2 && version.release == 31) {
    exam.AddAboutVersion(
        Severity::kWarning, "profiling_overhead",
        "speed: kernel timing made AllReduce of 128 KiB to 4 MiB 4.3 to 13.3 % slower "
        "in 2.31.2 (0.1 to 1.1 % in 2.29.7, 8 A100)",
        "use 2.30.7, or a release that has pull request 2357", "NVIDIA/nccl 2355, 2357");
  }
  if (version >= kFirstRings && version <= kLastNameHang) {
    exam.AddAboutVersion(Severity::kInfo, "name_hang",
                         "all later output, and the process hangs at ncclCommFinalize, if a "
                         "communicator's name holds a control character or is not UTF-8",
                         "give communicators plain names", "seen with 2.30.7");
  }
}

void CheckRcclVersion(Examination& exam) {
  if (*exam.question().version < LibraryVersion{2, 29, 0}) {
    exam.AddAboutVersion(
        Severity::kProblem, "rccl_units",
        "the numbers: times are a tenth and bandwidths ten times of what they were; "
        "files are often empty, and the process may hang at teardown",
        "use RCCL 2.30 or a build with rocm-systems 4725", "ROCm/rocm-systems 4725");
  }
  const std::string* dda = exam.Set("RCCL_DDA_ENABLE");
  if (!dda || ReadNumber(SettingKind::kBoolean, *dda).value != 0) {
    exam.Add(
        Severity::kWarning, "rccl_dda", "RCCL_DDA_ENABLE",
        "collectives that direct device access takes over, such as AllReduce of 8 ranks on one "
        "host: no profiler sees them",
        Export("RCCL_DDA_ENABLE", 0), "RCCL documentation");
  }
}

void CheckVersion(Examination& exam) {
  if (!exam.question().version) {
    exam.AddAboutVersion(Severity::kInfo, "version_unknown",
                         "2.30 or newer is assumed; what older releases lose is not looked for",
                         "give --nccl-version or --rccl-version", "");
    return;
  }
  if (exam.Older(kFirstInspector)) {
    exam.AddAboutVersion(Severity::kProblem, "no_inspector",
                         "everything: the Inspector came with 2.28.3", "use 2.30 or newer", "");
    return;
  }
  if (exam.Older(kFirstRings)) {
    exam.AddAboutVersion(
        Severity::kWarning, "single_slot",
        "most operations: a communicator keeps only the last finished one until the next write, "
        "so the output is a sample and counts and byte totals are too small; Send and Recv and "
        "communicator names are never written",
        "use 2.30 or newer; until then a shorter interval loses less", "NVIDIA/nccl 1945");
    CheckCrash(exam);
  }
  if (exam.IsRccl()) {
    CheckRcclVersion(exam);
  } else {
    CheckNcclVersion(exam);
  }
}

}  // namespace

void ExamineRelease(Examination& exam) { CheckVersion(exam); }

}  // namespace telltale::collectives
