#pragma once

// What a set of Inspector settings would lose, and how to change it. Pure: looks at nothing but its
// argument (inspector_files.h looks at the disk).
//
// Where the rules come from: the plugin's sources and the NCCL, RCCL and rocm-systems issues named
// in Advice::source.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/inspector_settings.h"

namespace telltale::collectives {

// Ordered: a gate at one level also fails for those after it.
enum class Severity { kOk, kInfo, kWarning, kProblem };
std::string_view SeverityName(Severity severity);

struct Advice {
  Severity severity = Severity::kOk;
  std::string id;       // stable name of the rule, for programs
  std::string setting;  // the variable, "version", or the file or folder that it is about
  std::string value;    // as found, or the default
  bool is_default = false;
  std::string effect;  // what is lost; for kOk what holds
  std::string change;  // what to do; empty if nothing
  std::string source;  // where this is known from; empty if from the plugin's README
};

enum class Library { kUnknown, kNccl, kRccl };

struct SettingsQuestion {
  SettingValues values;
  Library library = Library::kUnknown;
  std::optional<LibraryVersion> version;
  // False for values out of a script, where a '$' stands for something that is not known here.
  bool values_are_final = true;
  // Finished operations a second on the busiest communicator, of one rank.
  std::optional<double> operations_per_second;
};

// The worst ones first.
std::vector<Advice> CheckInspectorSettings(const SettingsQuestion& question);

// One variable of the table in that setting of things.
struct SettingState {
  const InspectorSetting* setting = nullptr;
  std::optional<std::string> value;  // as set
  std::optional<std::string_view>
      default_value;      // of that version; nothing: the version ignores it
  std::string effective;  // what the plugin makes of it; empty if it ignores the variable
};
std::vector<SettingState> DescribeInspectorSettings(const SettingsQuestion& question);

void SortBySeverity(std::vector<Advice>& findings);

}  // namespace telltale::collectives
