#include "collectives/inspector_rules.h"

#include <algorithm>

namespace telltale::collectives {

std::string Examination::LibraryText() const {
  const std::string_view name = IsRccl() ? "RCCL" : "NCCL";
  return question_.version ? fmt::format("{} {}", name, question_.version->ToText())
                           : std::string(name);
}

const std::string* Examination::Set(std::string_view name) const {
  const auto found = question_.values.find(name);
  return found == question_.values.end() ? nullptr : &found->second;
}

bool Examination::IsRead(std::string_view name) const {
  return FindInspectorSetting(name)->DefaultIn(question_.version).has_value();
}

std::string Examination::Text(std::string_view name) const {
  const auto default_value = FindInspectorSetting(name)->DefaultIn(question_.version);
  if (!default_value) return "";
  const std::string* value = Set(name);
  return value ? *value : std::string(*default_value);
}

int64_t Examination::Number(std::string_view name) const {
  return ReadNumber(FindInspectorSetting(name)->kind, Text(name)).value;
}

bool Examination::IsUnknown(std::string_view name) const {
  const std::string* value = Set(name);
  return value && !question_.values_are_final && value->find('$') != std::string::npos;
}

std::optional<int64_t> Examination::IntervalUs() const {
  if (!IsOn(kThread)) return std::nullopt;
  const int64_t interval = Number(kIntervalName);
  if (Older(kFirstRings)) {
    if (WritesPrometheus()) return std::max(interval, kPromMinimumIntervalUs);
    if (interval <= 0) return std::nullopt;  // A negative one wraps to a wait without end.
    return interval;
  }
  if (interval < 0) return std::nullopt;
  return WritesPrometheus() ? std::max(interval, kPromMinimumIntervalUs) : interval;
}

void Examination::Add(Severity severity, std::string_view id, std::string_view name,
                      std::string effect, std::string change, std::string source) {
  const std::string* value = Set(name);
  const bool has_default = !value && FindInspectorSetting(name);
  findings_.push_back({severity, std::string(id), std::string(name),
                       value         ? *value
                       : has_default ? Text(name)
                                     : "",
                       !value, std::move(effect), std::move(change), std::move(source)});
}

void Examination::AddAboutVersion(Severity severity, std::string_view id, std::string effect,
                                  std::string change, std::string source) {
  findings_.push_back({severity, std::string(id), "version", LibraryText(), false,
                       std::move(effect), std::move(change), std::move(source)});
}

}  // namespace telltale::collectives
