#include "collectives/inspector_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/byte_stream.h"

namespace telltale::collectives {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNothingWritten =
    "the plugin was not loaded or not enabled; the interval was not set (the default writes "
    "nothing); "
    "the folder could not be made; or the job ended before the first write";
constexpr std::string_view kNothingRecorded =
    "the thread ran but recorded nothing: all messages were below the minimum size (8192 bytes), "
    "or "
    "none had a time from the GPU (NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=1); or the process was "
    "killed "
    "before its first flush";

// <host>-pid<number>.log, perhaps with .gz and the like; also .jsonl, which other tools write.
bool HasInspectorName(std::string_view name) {
  return name.find("-pid") != std::string_view::npos && name.find(".log") != std::string_view::npos;
}
bool HasPrometheusName(std::string_view name) { return name.ends_with(".prom"); }
bool HasLineName(std::string_view name) {
  return name.find(".jsonl") != std::string_view::npos ||
         name.find(".log") != std::string_view::npos;
}

bool EndsInMidLine(const std::string& path, uint64_t bytes) {
  if (bytes == 0) return false;
  auto tail = OpenFileAt(path, bytes - 1);
  char last = '\n';
  if (!tail || !(*tail)->Read({&last, 1})) return false;
  return last != '\n';
}

void TakeHeader(const simdjson::dom::object& header, LogFile& file) {
  int64_t n_ranks = 0;
  int64_t rank = 0;
  std::string_view id;
  std::string_view name;
  if (header["comm_name"].get(name) == simdjson::SUCCESS) file.has_communicator_name = true;
  if (header["n_ranks"].get(n_ranks) != simdjson::SUCCESS) return;
  if (header["rank"].get(rank) != simdjson::SUCCESS) return;
  if (header["id"].get(id) != simdjson::SUCCESS) return;
  if (n_ranks > file.n_ranks) {
    file.n_ranks = n_ranks;
    file.communicator = id;
    file.ranks.clear();
  }
  if (id == file.communicator) file.ranks.insert(rank);
}

void TakeMetadata(const simdjson::dom::object& metadata, LogFile& file) {
  std::string_view text;
  uint64_t process = 0;
  if (file.format_version.empty() &&
      metadata["inspector_output_format_version"].get(text) == simdjson::SUCCESS) {
    file.format_version = text;
  }
  if (file.host_and_process.empty() && metadata["hostname"].get(text) == simdjson::SUCCESS &&
      metadata["pid"].get(process) == simdjson::SUCCESS) {
    file.host_and_process = fmt::format("{}-pid{}", text, process);
  }
}

bool IsInspectorPayload(const simdjson::dom::object& record) {
  for (const char* key : {"coll_perf", "p2p_perf", "dump_stats", "proxy_trace"}) {
    if (record[key].error() == simdjson::SUCCESS) return true;
  }
  return false;
}

// Reads the lines at the start of a file; the last one may be cut and is then passed over.
void TakeLines(std::string_view text, LogFile& file) {
  simdjson::dom::parser parser;
  bool is_first = true;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const bool is_whole = end < text.size();
    const simdjson::padded_string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    simdjson::dom::object record;
    const bool is_json = parser.parse(line).get(record) == simdjson::SUCCESS;
    if (!is_json && is_whole) ++file.broken_lines;
    if (!is_json || !IsInspectorPayload(record)) {
      is_first = false;
      continue;
    }
    file.kind = LogFileKind::kInspector;
    simdjson::dom::object part;
    const bool has_header = record["header"].get(part) == simdjson::SUCCESS;
    if (has_header) TakeHeader(part, file);
    if (is_first && !has_header) file.starts_without_context = true;
    if (record["metadata"].get(part) == simdjson::SUCCESS) TakeMetadata(part, file);
    is_first = false;
  }
}

LogFile GlanceAtFile(const fs::path& path) {
  LogFile file;
  file.path = path.string();
  std::error_code error;
  file.bytes = fs::file_size(path, error);
  if (error) {
    file.bytes = 0;
    file.damage = error.message();
    return file;
  }
  if (file.bytes == 0) {
    file.kind = LogFileKind::kEmpty;
    return file;
  }
  auto stream = OpenByteStream(file.path);
  if (!stream) {
    file.damage = stream.error().message;
    return file;
  }
  std::string text(kGlanceBytes, '\0');
  const auto length = stream->bytes->Read(text);
  if (!length) {
    file.damage = length.error().message;
    return file;
  }
  text.resize(*length);
  if (text.empty()) file.kind = LogFileKind::kEmpty;
  TakeLines(text, file);
  if (file.kind == LogFileKind::kOther && HasPrometheusName(file.path) &&
      text.find("nccl_") != std::string::npos) {
    file.kind = LogFileKind::kPrometheus;
  }
  if (stream->compression == Compression::kNone) {
    file.ends_in_mid_line = EndsInMidLine(file.path, file.bytes);
  }
  return file;
}

std::string Files(size_t count) { return fmt::format("{} file{}", count, count == 1 ? "" : "s"); }
std::string Are(size_t count) { return Files(count) + (count == 1 ? " is" : " are"); }

class FolderCheck {
 public:
  explicit FolderCheck(const LogFolder& folder) : folder_(folder) {
    for (const LogFile& file : folder.files) {
      if (file.kind == LogFileKind::kInspector) logs_.push_back(&file);
    }
  }

  std::vector<Advice> Run() {
    if (folder_.stopped_early) {
      Add(Severity::kWarning, "too_many_files", Files(folder_.files.size()),
          "the rest of the folder: no more files were looked at", "name the folders one by one");
    }
    if (folder_.files.empty()) {
      Add(Severity::kProblem, "no_logs", folder_.other_files == 0 ? "empty" : "other files only",
          fmt::format("everything: no file has a name such as <host>-pid<number>.log. Probably {}",
                      kNothingWritten),
          "run telltale doctor in the job's environment");
      return std::move(findings_);
    }
    CheckContents();
    CheckVersions();
    CheckRanks();
    if (findings_.empty()) {
      Add(Severity::kOk, "logs", Files(logs_.size()),
          fmt::format("Inspector logs, format {}", logs_.front()->format_version), "");
    }
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, std::string_view id, std::string value, std::string effect,
           std::string change) {
    findings_.push_back({severity, std::string(id), folder_.path, std::move(value), false,
                         std::move(effect), std::move(change), ""});
  }

  // Names the first file and says how many there are: "a.log and 3 more".
  template <typename Predicate>
  std::pair<size_t, std::string> Count(Predicate predicate) const {
    size_t count = 0;
    std::string first;
    for (const LogFile& file : folder_.files) {
      if (!predicate(file)) continue;
      if (count++ == 0) first = fs::path(file.path).filename().string();
    }
    return {count, count > 1 ? fmt::format("{} and {} more", first, count - 1) : first};
  }

  void CheckContents() {
    const auto kind_is = [](LogFileKind kind) {
      return [kind](const LogFile& file) { return file.kind == kind && file.damage.empty(); };
    };
    if (const auto [count, names] = Count(kind_is(LogFileKind::kEmpty)); count > 0) {
      const bool all = logs_.empty();
      Add(all ? Severity::kProblem : Severity::kWarning, "empty_files", names,
          fmt::format("what {} of {} should hold: {}", count, Files(folder_.files.size()),
                      kNothingRecorded),
          "set NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES=0 and NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING=0");
    }
    if (const auto [count, names] = Count(kind_is(LogFileKind::kPrometheus)); count > 0) {
      Add(Severity::kWarning, "prometheus_files", names,
          fmt::format("each operation: {} Prometheus text, which is overwritten at each write and "
                      "removed at the end",
                      Are(count)),
          "set NCCL_INSPECTOR_PROM_DUMP=0 for JSON records");
    }
    if (const auto [count, names] = Count(kind_is(LogFileKind::kOther)); count > 0) {
      Add(Severity::kWarning, "not_inspector", names,
          fmt::format("{}: the first lines are not the Inspector's", Files(count)),
          "remove what is not a log");
    }
    if (const auto [count, names] = Count([](const LogFile& file) { return !file.damage.empty(); });
        count > 0) {
      Add(Severity::kProblem, "unreadable", names,
          fmt::format("{} that could not be read: {}", Files(count), FirstDamage()),
          "make them readable");
    }
    if (const auto [count, names] =
            Count([](const LogFile& file) { return file.ends_in_mid_line; });
        count > 0) {
      Add(Severity::kInfo, "cut_files", names,
          fmt::format("the last record of {}, cut in the middle of a line: the process was killed "
                      "or is still writing",
                      Files(count)),
          "");
    }
    if (const auto [count, names] = Count([](const LogFile& file) {
          return file.kind == LogFileKind::kInspector && file.broken_lines > 0;
        });
        count > 0) {
      Add(Severity::kWarning, "broken_lines", names,
          fmt::format("records of {}: some of the first lines are not JSON. The plugin of 2.30.7 "
                      "stops like this at a communicator name with a control character",
                      Files(count)),
          "give communicators plain names");
    }
    if (const auto [count, names] =
            Count([](const LogFile& file) { return file.starts_without_context; });
        count > 0) {
      Add(Severity::kProblem, "no_context", names,
          fmt::format("which communicator the first records belong to, in {}: from format v4.3 on "
                      "only the dump_stats line before them says so",
                      Files(count)),
          "do not split, filter, sort or merge such files");
    }
  }

  std::string FirstDamage() const {
    const auto found = std::ranges::find_if(
        folder_.files, [](const LogFile& file) { return !file.damage.empty(); });
    return found == folder_.files.end() ? "" : found->damage;
  }

  void CheckVersions() {
    std::map<std::string, size_t> versions;
    size_t old_files = 0;
    for (const LogFile* log : logs_) {
      ++versions[log->format_version.empty() ? "no version" : log->format_version];
      if (log->format_version == "v4.0" && !log->has_communicator_name) ++old_files;
    }
    if (versions.size() > 1) {
      std::string list;
      for (const auto& [version, count] : versions) {
        list += fmt::format("{}{} ({})", list.empty() ? "" : ", ", version, Files(count));
      }
      Add(Severity::kWarning, "mixed_versions", list,
          "comparability: the files are from different plugins, or from several jobs",
          "use the same plugin on all hosts, and a folder for each job");
    }
    if (old_files > 0) {
      Add(Severity::kWarning, "sampled", Files(old_files),
          "most operations: 2.28 and 2.29 wrote these files, which keep only the last operation of "
          "a communicator at each write; they are a sample",
          "use the plugin of 2.30 or newer");
    }
  }

  // A process has one file, and one or more ranks of a communicator.
  void CheckRanks() {
    const LogFile* largest = nullptr;
    for (const LogFile* log : logs_) {
      if (!largest || log->n_ranks > largest->n_ranks) largest = log;
    }
    if (!largest || largest->n_ranks == 0) return;
    size_t ranks_per_process = 1;
    std::set<std::string> processes;
    for (const LogFile* log : logs_) {
      processes.insert(log->host_and_process);
      if (log->communicator == largest->communicator) {
        ranks_per_process = std::max(ranks_per_process, log->ranks.size());
      }
    }
    const auto ranks = static_cast<size_t>(largest->n_ranks);
    const size_t expected = (ranks + ranks_per_process - 1) / ranks_per_process;
    if (processes.size() < logs_.size()) {
      Add(Severity::kWarning, "process_twice",
          fmt::format("{} of {} processes", Files(logs_.size()), processes.size()),
          "comparability: several files are from the same host and process number",
          "use a folder for each job");
    }
    if (processes.size() >= expected) return;
    Add(Severity::kWarning, "ranks_missing",
        fmt::format("{} of {} files", processes.size(), expected),
        fmt::format(
            "ranks: communicator {} has {} ranks, {} in a process, but only {} records",
            largest->communicator, ranks, ranks_per_process,
            processes.size() == 1 ? "1 file has" : fmt::format("{} files have", processes.size())),
        "look for hosts that write elsewhere, or where the plugin is not loaded");
  }

  const LogFolder& folder_;
  std::vector<const LogFile*> logs_;
  std::vector<Advice> findings_;
};

Advice AboutPath(Severity severity, std::string_view id, std::string_view setting,
                 const std::string& value, std::string effect, std::string change) {
  return {severity, std::string(id),   std::string(setting), value,
          false,    std::move(effect), std::move(change),    "this machine's disk"};
}

void CheckDirectoryHere(const std::string& value, std::vector<Advice>& findings) {
  constexpr std::string_view kName = "NCCL_INSPECTOR_DUMP_DIR";
  std::error_code error;
  if (fs::exists(value, error)) {
    if (!fs::is_directory(value, error)) {
      findings.push_back(AboutPath(Severity::kProblem, "directory_is_file", kName, value,
                                   "everything: it is not a folder", "name a folder"));
    } else if (access(value.c_str(), W_OK) != 0) {
      findings.push_back(AboutPath(Severity::kProblem, "directory_read_only", kName, value,
                                   "everything: the folder cannot be written to",
                                   "make it writable, or name another one"));
    }
    return;
  }
  fs::path parent = fs::path(value).parent_path();
  if (fs::path(value).filename().empty()) parent = parent.parent_path();  // "a/b/"
  if (parent.empty() || fs::exists(parent, error)) return;
  findings.push_back(AboutPath(Severity::kProblem, "directory_parent_missing", kName, value,
                               fmt::format("everything: {} does not exist here, and only the last "
                                           "level of the path is made",
                                           parent.string()),
                               fmt::format("mkdir -p \"{}\"", parent.string())));
}

}  // namespace

Result<LogFolder> GlanceAtLogs(const std::string& path) {
  LogFolder folder;
  folder.path = path;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Fail("{}: no such file or folder", path);
  if (!fs::is_directory(status)) {
    if (!fs::is_regular_file(status)) return Fail("{}: neither a file nor a folder", path);
    folder.files.push_back(GlanceAtFile(path));
    return folder;
  }
  std::vector<fs::path> paths;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(path, options, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code vanished;
    if (!entry->is_regular_file(vanished)) continue;
    const std::string name = entry->path().filename().string();
    if (!HasInspectorName(name) && !HasPrometheusName(name) && !HasLineName(name)) {
      ++folder.other_files;
      continue;
    }
    if (paths.size() == kMaxGlancedFiles) {
      folder.stopped_early = true;
      break;
    }
    paths.push_back(entry->path());
  }
  if (error) return Fail("{}: {}", path, error.message());
  std::ranges::sort(paths);
  for (const fs::path& file : paths) {
    LogFile glance = GlanceAtFile(file);
    const bool is_someone_elses = glance.kind == LogFileKind::kOther && glance.damage.empty() &&
                                  !HasInspectorName(file.filename().string());
    if (is_someone_elses) {
      ++folder.other_files;
    } else {
      folder.files.push_back(std::move(glance));
    }
  }
  return folder;
}

std::vector<Advice> CheckLogs(const LogFolder& folder) { return FolderCheck(folder).Run(); }

std::vector<Advice> CheckPathsHere(const SettingValues& values) {
  std::vector<Advice> findings;
  const auto plugin = values.find("NCCL_PROFILER_PLUGIN");
  std::error_code error;
  if (plugin != values.end() && plugin->second.find('/') != std::string::npos &&
      !fs::exists(plugin->second, error)) {
    findings.push_back(AboutPath(
        Severity::kProblem, "plugin_missing", "NCCL_PROFILER_PLUGIN", plugin->second,
        "everything: there is no such file here, so nothing is loaded", "correct the path"));
  }
  const auto directory = values.find("NCCL_INSPECTOR_DUMP_DIR");
  if (directory != values.end() && !directory->second.empty() &&
      !directory->second.starts_with('~')) {
    CheckDirectoryHere(directory->second, findings);
  }
  return findings;
}

}  // namespace telltale::collectives
