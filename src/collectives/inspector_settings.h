#pragma once

// The environment variables of the NCCL (and RCCL) Inspector plugin, as data: help, documentation
// and the checks in inspector_doctor.h come from this one table. To add a variable: one row in
// inspector_settings.cc; if it can lose data, a rule in inspector_doctor.cc.
//
// Source: the plugin's README and env handling in NVIDIA/nccl plugins/profiler/inspector (releases
// 2.28.3 to 2.30.7, and the branches of pull requests 2304 and 2359), ROCm/rocm-systems for RCCL.

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::collectives {

// A release of NCCL, or of RCCL, which has NCCL's numbers.
struct LibraryVersion {
  int generation = 0;
  int release = 0;
  int patch = 0;

  auto operator<=>(const LibraryVersion&) const = default;
  std::string ToText() const;
};

// Reads "2.30.7", "v2.28.9-1", "2.30.3+cuda13.0" or "2.30" (patch 0).
Result<LibraryVersion> ParseLibraryVersion(std::string_view text);

enum class SettingKind {
  kPath,
  kText,
  kChoice,
  kBoolean,   // read with atoi: any number but 0 is on, and every word is off
  kCount,     // read with strtoull, base 0
  kBytes,     // read with strtoull, base 0
  kInterval,  // microseconds; read with strtoll, base 0
};

struct DefaultSince {
  LibraryVersion since;
  std::string_view value;
};

struct InspectorSetting {
  std::string_view name;
  SettingKind kind;
  // By the release from which on it holds, oldest first; the first one is where the variable
  // appeared. An unused second entry has generation 0.
  std::array<DefaultSince, 2> defaults;
  std::string_view meaning;

  LibraryVersion since() const { return defaults[0].since; }
  // "2.30.0", or "after 2.30.7" if it is in no release that was looked at.
  std::string SinceText() const;
  // The default in `version` (the newest one if not known); nothing if that release ignores the
  // variable.
  std::optional<std::string_view> DefaultIn(const std::optional<LibraryVersion>& version) const;
};

std::span<const InspectorSetting> InspectorSettings();
const InspectorSetting* FindInspectorSetting(std::string_view name);

// True for variables that `doctor` looks at: names that start with NCCL_ or RCCL_. No others are
// kept or shown, since environments hold secrets.
bool IsLibraryVariable(std::string_view name);

// The known variable that `name` was probably meant to be; empty if none is near.
std::string_view NearestSetting(std::string_view name);

// Variables by name.
using SettingValues = std::map<std::string, std::string, std::less<>>;

// A number as the plugin reads it, which is more forgiving than people expect: it takes what it can
// from the start of the text ("500us" is 500, "1e6" is 1, "true" is 0), "0x" is hexadecimal and a
// leading 0 octal.
struct NumberReading {
  int64_t value = 0;
  std::string complaint;  // why this is not what the writer meant; empty if it is a plain number
};
NumberReading ReadNumber(SettingKind kind, std::string_view text);

}  // namespace telltale::collectives
