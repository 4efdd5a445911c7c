#include "collectives/inspector_rules.h"

namespace telltale::collectives {
namespace {

// Names that nothing reads, and names that this release does not read.
void CheckNames(Examination& exam) {
  for (const auto& [name, value] : exam.question().values) {
    const InspectorSetting* setting = FindInspectorSetting(name);
    if (setting) {
      if (!exam.IsRead(name)) {
        exam.Add(Severity::kWarning, "not_in_release", name,
                 fmt::format("this setting: {} ignores it, it came {}{}", exam.LibraryText(),
                             setting->SinceText().starts_with("after") ? "" : "with ",
                             setting->SinceText()),
                 fmt::format("unset {}, or use a newer release", name));
      }
      continue;
    }
    const bool is_meant_for_inspector = name.find("INSPECT") != std::string::npos;
    const bool is_near_plugin =
        name.starts_with("NCCL_PROFILER_PL") || name.starts_with("RCCL_PROFILER_PL");
    if (!is_meant_for_inspector && !is_near_plugin) continue;
    const std::string_view nearest = NearestSetting(name);
    exam.Add(
        nearest.empty() ? Severity::kWarning : Severity::kProblem, "unknown_setting", name,
        "this setting: the Inspector does not know the name and ignores it",
        nearest.empty() ? fmt::format("unset {}", name) : fmt::format("did you mean {}?", nearest));
  }
}

void CheckProxyMode(Examination& exam, const std::string& value) {
  if (value == "nested" || value == "flat") return;
  exam.Add(Severity::kProblem, "value_misread", kProxyMode,
           "what you meant: an unknown word is read as nested", Export(kProxyMode, "nested"));
}

// Values that the plugin reads as something else than was meant.
void CheckValues(Examination& exam) {
  for (const auto& [name, value] : exam.question().values) {
    const InspectorSetting* setting = FindInspectorSetting(name);
    if (!setting || !exam.IsRead(name) || setting->kind == SettingKind::kPath ||
        setting->kind == SettingKind::kText) {
      continue;
    }
    if (exam.IsUnknown(name)) {
      exam.Add(Severity::kInfo, "value_unknown", name,
               "nothing that is known here: the value depends on a shell variable",
               "run telltale doctor in the job's environment");
      continue;
    }
    if (setting->kind == SettingKind::kChoice) {
      CheckProxyMode(exam, value);
      continue;
    }
    const NumberReading reading = ReadNumber(setting->kind, value);
    if (reading.complaint.empty()) continue;
    exam.Add(Severity::kProblem, "value_misread", name,
             fmt::format("what you meant: the value {}", reading.complaint),
             setting->kind == SettingKind::kBoolean
                 ? fmt::format("set {} to 0 or 1", name)
                 : fmt::format("set {} to a plain number", name));
  }
}

}  // namespace

void ExamineSpelling(Examination& exam) {
  CheckNames(exam);
  CheckValues(exam);
}

}  // namespace telltale::collectives
