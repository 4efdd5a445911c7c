#include "collectives/inspector_rules.h"

namespace telltale::collectives {
namespace {

void CheckPlugin(Examination& exam) {
  const std::string value = exam.Text(kPlugin);
  const std::string example = exam.IsRccl() ? "/path/to/librccl-profiler-inspector.so"
                                            : "/path/to/libnccl-profiler-inspector.so";
  if (value.empty()) {
    exam.Add(Severity::kProblem, "plugin_unset", kPlugin,
             fmt::format("everything: the plugin is not loaded (without this variable only "
                         "lib{}-profiler.so is tried)",
                         exam.IsRccl() ? "rccl" : "nccl"),
             Export(kPlugin, example));
    return;
  }
  if (value.find("inspector") == std::string::npos) {
    if (exam.IsUnknown(kPlugin)) return;
    exam.Add(
        Severity::kWarning, "plugin_other", kPlugin,
        "everything, if this is not the Inspector: only one profiler plugin is loaded, and the "
        "name does not say inspector",
        Export(kPlugin, example));
    return;
  }
  exam.Add(Severity::kOk, "plugin", kPlugin, "names the Inspector", "");
}

void CheckEnabled(Examination& exam) {
  if (exam.IsUnknown(kEnable)) return;
  if (!exam.IsOn(kEnable)) {
    exam.Add(Severity::kProblem, "not_enabled", kEnable,
             "everything: the plugin is loaded but does nothing", Export(kEnable, 1));
    return;
  }
  exam.Add(Severity::kOk, "enabled", kEnable, "the Inspector is on", "");
}

void CheckOutputFormat(Examination& exam) {
  if (exam.IsOn(kOtel)) {
    exam.Add(Severity::kWarning, "otel_instead_of_json", kOtel,
             "the JSON records: metrics go to an OTLP collector (plain http only) and no file is "
             "written, so there is no record of each operation and rank",
             Export(kOtel, 0));
    if (exam.IsOn(kProm)) {
      exam.Add(Severity::kWarning, "prometheus_ignored", kProm,
               "the Prometheus files: OTLP goes before them", Export(kProm, 0));
    }
  } else if (exam.IsOn(kProm)) {
    exam.Add(
        Severity::kWarning, "prometheus_instead_of_json", kProm,
        exam.Older(kFirstRings)
            ? "the JSON records: the files hold the last operation of each communicator, are "
              "overwritten every 30 s or more, and are removed at the end"
            : "the JSON records: the files hold means over all ranks' operations on one GPU, by "
              "size bucket, without rank or communicator id; they are overwritten every 30 s or "
              "more and removed at the end",
        Export(kProm, 0));
  }
  if (exam.IsOn(kPromStats) && !exam.WritesPrometheus()) {
    exam.Add(Severity::kInfo, "no_effect", kPromStats,
             "nothing; it has no effect without NCCL_INSPECTOR_PROM_DUMP=1", "");
  }
  if (exam.IsOn(kOtelVerbose) && !exam.IsOn(kOtel)) {
    exam.Add(Severity::kInfo, "no_effect", kOtelVerbose,
             "nothing; it has no effect without NCCL_INSPECTOR_OTEL_EXPORT=1", "");
  }
  if (exam.WritesPrometheus() && exam.IsRead(kPromStats) && !exam.IsOn(kPromStats)) {
    exam.Add(Severity::kInfo, "prometheus_loss_hidden", kPromStats, "the count of lost operations",
             Export(kPromStats, 1));
  }
}

void CheckDirectory(Examination& exam) {
  const std::string* value = exam.Set(kDirectory);
  if (!value) {
    exam.Add(
        Severity::kWarning, "directory_unset", kDirectory,
        "nothing, if you find it: the folder nccl-inspector-<SLURM_JOBID> or "
        "nccl-inspector-unknown-jobid is made in each process's working directory, which may be "
        "gone with its container, and mixes jobs",
        Export(kDirectory, "/path/to/logs/$SLURM_JOB_ID"));
    return;
  }
  if (value->empty()) {
    exam.Add(Severity::kProblem, "directory_empty", kDirectory,
             "everything: an empty path cannot be made, so nothing is written",
             Export(kDirectory, "/path/to/logs"));
    return;
  }
  if (value->starts_with('~')) {
    exam.Add(Severity::kProblem, "directory_tilde", kDirectory,
             "everything, or its place: the plugin does not expand ~",
             Export(kDirectory, "$HOME/..."));
    return;
  }
  if (!value->starts_with('/') && !value->starts_with('$')) {
    exam.Add(Severity::kWarning, "directory_relative", kDirectory,
             "nothing, if you find it: the folder is made in each process's working directory",
             Export(kDirectory, "/path/to/logs"));
    return;
  }
  exam.Add(
      Severity::kInfo, "directory", kDirectory,
      "everything, if the folder above it is missing: only the last level is made; and a later "
      "process with the same host name and process number overwrites the file of an earlier one",
      fmt::format("mkdir -p \"{}\" before the job, and use a folder for each job", *value));
}

void CheckVerbose(Examination& exam) {
  if (!exam.WritesJson() || exam.IsUnknown(kVerbose)) return;
  if (exam.IsOn(kVerbose)) {
    exam.Add(Severity::kInfo, "verbose", kVerbose,
             "disk: records are about 2.7 times as long (1280 bytes instead of 479 with 3 or 4 "
             "channels)",
             Export(kVerbose, 0));
    return;
  }
  exam.Add(
      Severity::kInfo, "no_event_times", kVerbose,
      "when each operation started and ended: without it a record only says when it was written",
      Export(kVerbose, 1) + " (records are then about 2.7 times as long)");
}

}  // namespace

void ExamineOutput(Examination& exam) {
  CheckPlugin(exam);
  CheckEnabled(exam);
  CheckOutputFormat(exam);
  CheckDirectory(exam);
  CheckVerbose(exam);
}

}  // namespace telltale::collectives
