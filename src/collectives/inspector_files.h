#pragma once

// What lies on this machine's disk, seen from its first lines: the files that the Inspector wrote,
// and the paths that its settings name. Cheap: reads at most kGlanceBytes of each file.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "collectives/inspector_doctor.h"
#include "collectives/inspector_settings.h"

namespace telltale::collectives {

constexpr size_t kGlanceBytes = 64 << 10;
constexpr size_t kMaxGlancedFiles = 100'000;

enum class LogFileKind {
  kInspector,   // Inspector JSON lines
  kPrometheus,  // a Prometheus text file of the Inspector
  kEmpty,
  kOther,
};

struct LogFile {
  std::string path;
  uint64_t bytes = 0;
  LogFileKind kind = LogFileKind::kOther;
  std::string format_version;           // such as "v4.0", of the first line that has one
  bool starts_without_context = false;  // the first line has no header: part of a v4.3 file
  bool has_communicator_name = false;
  bool ends_in_mid_line = false;
  uint64_t broken_lines = 0;  // whole lines that are not JSON, among those of an Inspector file
  // The largest communicator among the first lines.
  int64_t n_ranks = 0;
  std::string communicator;
  std::set<int64_t> ranks;  // of this process in it
  std::string host_and_process;
  std::string damage;  // why it could not be read, if it could not
};

struct LogFolder {
  std::string path;
  std::vector<LogFile> files;  // sorted by path
  uint64_t other_files = 0;    // that have no name like the Inspector's
  bool stopped_early = false;  // at kMaxGlancedFiles
};

// Looks at a file, or at all files below a folder.
Result<LogFolder> GlanceAtLogs(const std::string& path);

std::vector<Advice> CheckLogs(const LogFolder& folder);

// Whether the plugin and the output folder of these settings exist here.
std::vector<Advice> CheckPathsHere(const SettingValues& values);

}  // namespace telltale::collectives
