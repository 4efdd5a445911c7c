#include "collectives/inspector_doctor.h"

#include <algorithm>
#include <functional>

#include "collectives/inspector_rules.h"

namespace telltale::collectives {
namespace {

std::string Effective(const InspectorSetting& setting, const std::string& text) {
  switch (setting.kind) {
    case SettingKind::kBoolean:
      return ReadNumber(setting.kind, text).value != 0 ? "on" : "off";
    case SettingKind::kCount:
    case SettingKind::kBytes:
    case SettingKind::kInterval:
      return std::to_string(ReadNumber(setting.kind, text).value);
    case SettingKind::kChoice:
      return text == "flat" ? "flat" : "nested";
    case SettingKind::kPath:
    case SettingKind::kText:
      return text;
  }
  return text;
}

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kProblem:
      return "problem";
  }
  return "ok";
}

void SortBySeverity(std::vector<Advice>& findings) {
  std::ranges::stable_sort(findings, std::greater(), &Advice::severity);
}

std::vector<Advice> CheckInspectorSettings(const SettingsQuestion& question) {
  Examination exam(question);
  ExamineRelease(exam);
  if (!exam.Older(kFirstInspector)) {
    ExamineSpelling(exam);
    ExamineOutput(exam);
    ExamineTiming(exam);
    ExamineContent(exam);
  }
  std::vector<Advice> findings = exam.TakeFindings();
  SortBySeverity(findings);
  return findings;
}

std::vector<SettingState> DescribeInspectorSettings(const SettingsQuestion& question) {
  std::vector<SettingState> states;
  for (const InspectorSetting& setting : InspectorSettings()) {
    SettingState state;
    state.setting = &setting;
    const auto found = question.values.find(setting.name);
    if (found != question.values.end()) state.value = found->second;
    state.default_value = setting.DefaultIn(question.version);
    if (state.default_value) {
      state.effective =
          Effective(setting, state.value ? *state.value : std::string(*state.default_value));
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace telltale::collectives
