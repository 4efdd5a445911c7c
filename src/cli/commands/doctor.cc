// `telltale doctor`: what the Inspector's settings and its output would lose, and how to change it.

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/byte_stream.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/settings_text.h"
#include "collectives/inspector_doctor.h"
#include "collectives/inspector_files.h"

namespace telltale::cli {
namespace {

using collectives::Advice;
using collectives::Library;
using collectives::LogFile;
using collectives::LogFileKind;
using collectives::LogFolder;
using collectives::SettingsQuestion;
using collectives::SettingState;
using collectives::Severity;

constexpr size_t kMaxSettingsFileBytes = 16 << 20;

constexpr const char* kExamples = R"(
Looks only at variables that start with NCCL_ or RCCL_; never shows others.

Examples:
  telltale doctor                                  the settings of this shell
  telltale doctor --nccl-version 2.29.7            what that release does with them
  telltale doctor --env-file job.sbatch            settings in a script, env file or /etc/nccl.conf
  telltale doctor --env-file /proc/4711/environ    settings of a running process
  telltale doctor --ops-per-second 3000            will the ring hold the operations?
  telltale doctor logs/                            what the Inspector has written there
  telltale doctor --json --fail-on problem         for scripts: exit code 3 if something is lost)";

struct DoctorOptions {
  std::string env_file;
  std::string nccl_version;
  std::string rccl_version;
  double operations_per_second = 0;
  std::string fail_on;
  std::vector<std::string> paths;
};

struct Diagnosis {
  SettingsQuestion question;
  std::string source;  // where the settings are from
  std::vector<LogFolder> folders;
  std::vector<Advice> findings;

  size_t Count(Severity severity) const {
    size_t count = 0;
    for (const Advice& finding : findings) count += finding.severity == severity ? 1 : 0;
    return count;
  }
};

// --- Asking ---

Result<SettingsText> ReadSettingsFile(const std::string& path) {
  TELLTALE_ASSIGN(OpenedStream stream, OpenByteStream(path));
  std::string text(kMaxSettingsFileBytes, '\0');
  TELLTALE_ASSIGN(const size_t length, stream.bytes->Read(text));
  if (length == text.size()) {
    return Fail("{}: larger than {} MiB, which is no file of settings", path,
                kMaxSettingsFileBytes >> 20);
  }
  return ReadSettingsText(std::string_view(text).substr(0, length));
}

void TakeVersion(const DoctorOptions& options, SettingsQuestion& question) {
  const bool is_rccl = !options.rccl_version.empty();
  const std::string& version = is_rccl ? options.rccl_version : options.nccl_version;
  if (version.empty()) {
    const auto plugin = question.values.find("NCCL_PROFILER_PLUGIN");
    const bool looks_like_rccl =
        plugin != question.values.end() && plugin->second.find("librccl") != std::string::npos;
    if (looks_like_rccl) question.library = Library::kRccl;
    return;
  }
  question.library = is_rccl ? Library::kRccl : Library::kNccl;
  const auto parsed = collectives::ParseLibraryVersion(version);
  if (!parsed) throw CommandFailure(parsed.error().message, kExitUsage);
  question.version = *parsed;
}

Diagnosis Diagnose(const DoctorOptions& options) {
  Diagnosis diagnosis;
  SettingsQuestion& question = diagnosis.question;
  if (options.env_file.empty()) {
    diagnosis.source = "environment";
    question.values = SettingsOfThisProcess();
  } else {
    diagnosis.source = options.env_file;
    SettingsText text = ValueOrThrow(ReadSettingsFile(options.env_file));
    question.values = std::move(text.values);
    question.values_are_final = text.is_environment;
  }
  TakeVersion(options, question);
  if (options.operations_per_second > 0) {
    question.operations_per_second = options.operations_per_second;
  }

  // Someone who points at logs and has no settings here asks about the logs.
  const bool asks_about_settings =
      options.paths.empty() || !options.env_file.empty() || !question.values.empty();
  if (asks_about_settings) {
    diagnosis.findings = CheckInspectorSettings(question);
    if (options.env_file.empty()) {
      const std::vector<Advice> here = collectives::CheckPathsHere(question.values);
      diagnosis.findings.insert(diagnosis.findings.end(), here.begin(), here.end());
    }
  }
  for (const std::string& path : options.paths) {
    diagnosis.folders.push_back(ValueOrThrow(collectives::GlanceAtLogs(path)));
    const std::vector<Advice> found = CheckLogs(diagnosis.folders.back());
    diagnosis.findings.insert(diagnosis.findings.end(), found.begin(), found.end());
  }
  SortBySeverity(diagnosis.findings);
  return diagnosis;
}

// --- Answering: JSON ---

std::string_view KindName(LogFileKind kind) {
  switch (kind) {
    case LogFileKind::kInspector:
      return "inspector_json";
    case LogFileKind::kPrometheus:
      return "prometheus";
    case LogFileKind::kEmpty:
      return "empty";
    case LogFileKind::kOther:
      return "other";
  }
  return "other";
}

std::string JsonOrNull(const std::optional<std::string_view>& text) {
  return text ? JsonString(*text) : "null";
}

std::string SettingJson(const SettingState& state) {
  const std::optional<std::string_view> value =
      state.value ? std::optional<std::string_view>(*state.value) : std::nullopt;
  return fmt::format(
      R"({{"name":{},"value":{},"is_read":{},"default":{},"effective":{},"since":"{}","meaning":{}}})",
      JsonString(state.setting->name), JsonOrNull(value), state.default_value.has_value(),
      JsonOrNull(state.default_value), state.default_value ? JsonString(state.effective) : "null",
      state.setting->SinceText(), JsonString(state.setting->meaning));
}

std::string FindingJson(const Advice& finding) {
  return fmt::format(
      R"({{"id":{},"severity":"{}","setting":{},"value":{},"is_default":{},"effect":{},"change":{},)"
      R"("source":{}}})",
      JsonString(finding.id), SeverityName(finding.severity), JsonString(finding.setting),
      JsonString(finding.value), finding.is_default, JsonString(finding.effect),
      JsonString(finding.change), JsonString(finding.source));
}

std::string FileJson(const LogFile& file) {
  return fmt::format(
      R"({{"path":{},"bytes":{},"kind":"{}","format_version":{},"communicator":{},"n_ranks":{}}})",
      JsonString(file.path), file.bytes, KindName(file.kind), JsonString(file.format_version),
      JsonString(file.communicator), file.n_ranks);
}

template <typename Items, typename ToJson>
std::string JsonList(const Items& items, ToJson to_json) {
  std::string list = "[";
  for (const auto& item : items) {
    if (list.size() > 1) list += ',';
    list += to_json(item);
  }
  return list + "]";
}

std::string FolderJson(const LogFolder& folder) {
  return fmt::format(R"({{"path":{},"other_files":{},"files":{}}})", JsonString(folder.path),
                     folder.other_files, JsonList(folder.files, FileJson));
}

void PrintJson(const Diagnosis& diagnosis) {
  const SettingsQuestion& question = diagnosis.question;
  const char* library = question.library == Library::kRccl   ? "\"rccl\""
                        : question.library == Library::kNccl ? "\"nccl\""
                                                             : "null";
  fmt::print(
      R"({{"schema":"telltale/doctor/1","source":{},"library":{},"version":{},"settings":{},)"
      R"("folders":{},"findings":{},"problems":{},"warnings":{}}})"
      "\n",
      JsonString(diagnosis.source), library,
      question.version ? JsonString(question.version->ToText()) : "null",
      JsonList(DescribeInspectorSettings(question), SettingJson),
      JsonList(diagnosis.folders, FolderJson), JsonList(diagnosis.findings, FindingJson),
      diagnosis.Count(Severity::kProblem), diagnosis.Count(Severity::kWarning));
}

// --- Answering: text ---

class Page {
 public:
  Page() : is_terminal_(isatty(STDOUT_FILENO) != 0) {
    const char* no_color = std::getenv("NO_COLOR");
    has_color_ = is_terminal_ && !(no_color && *no_color);
    winsize size{};
    if (is_terminal_ && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40) {
      width_ = std::min<size_t>(size.ws_col, 120);
    }
  }

  std::string Painted(std::string_view text, Severity severity) const {
    if (!has_color_) return std::string(text);
    const char* color = severity == Severity::kProblem   ? "31;1"
                        : severity == Severity::kWarning ? "33;1"
                        : severity == Severity::kOk      ? "32"
                                                         : "36";
    return fmt::format("\x1b[{}m{}\x1b[0m", color, text);
  }

  // Prints `text` behind `label`, broken between words, the lines after the first as far in.
  void Paragraph(std::string_view label, std::string_view text) const {
    std::string line(label);
    size_t used = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find(' '), text.size());
      const std::string_view word = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (used > 0 && line.size() + 1 + word.size() > width_) {
        fmt::print("{}\n", line);
        line.assign(label.size(), ' ');
        used = 0;
      }
      if (used++ > 0) line += ' ';
      line += word;
    }
    fmt::print("{}\n", line);
  }

 private:
  bool is_terminal_;
  bool has_color_ = false;
  size_t width_ = 100;
};

std::string Counted(size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// One line, with what could move a terminal's cursor made visible.
std::string Visible(std::string_view text) {
  std::string visible;
  unsigned char previous = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    const bool is_c1 = previous == 0xC2 && byte < 0xA0;  // U+0080 to U+009F
    if (is_c1) visible.pop_back();
    if (byte < 0x20 || byte == 0x7F || is_c1) {
      visible += fmt::format("\\x{:02x}", byte);
    } else {
      visible += character;
    }
    previous = byte;
  }
  return visible;
}

std::string ValueText(const Advice& finding) {
  if (finding.is_default) {
    return finding.value.empty() ? "not set" : finding.value + " (default)";
  }
  return finding.value.empty() ? "empty" : Visible(finding.value);
}

void PrintText(const Diagnosis& diagnosis) {
  const Page page;
  for (const Advice& finding : diagnosis.findings) {
    const std::string severity = fmt::format("{:<8}", SeverityName(finding.severity));
    fmt::print("{} {}: {}\n", page.Painted(severity, finding.severity), Visible(finding.setting),
               ValueText(finding));
    const bool is_ok = finding.severity == Severity::kOk;
    page.Paragraph(is_ok ? "         " : "         loses:  ", Visible(finding.effect));
    if (!finding.change.empty()) page.Paragraph("         change: ", Visible(finding.change));
    if (!finding.source.empty()) page.Paragraph("         source: ", Visible(finding.source));
  }
  for (const LogFolder& folder : diagnosis.folders) {
    size_t logs = 0;
    for (const LogFile& file : folder.files) logs += file.kind == LogFileKind::kInspector ? 1 : 0;
    fmt::print("\n{}: {}, {}\n", Visible(folder.path), Counted(logs, "Inspector log"),
               Counted(folder.files.size() - logs + folder.other_files, "other file"));
  }
  fmt::print("\n{}, {}, {}\n", Counted(diagnosis.Count(Severity::kProblem), "problem"),
             Counted(diagnosis.Count(Severity::kWarning), "warning"),
             Counted(diagnosis.Count(Severity::kInfo), "note"));
}

std::string CsvField(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"') quoted += '"';
    quoted += character;
  }
  return quoted + "\"";
}

void PrintCsv(const Diagnosis& diagnosis) {
  fmt::print("severity,id,setting,value,is_default,effect,change,source\n");
  for (const Advice& finding : diagnosis.findings) {
    fmt::print("{},{},{},{},{},{},{},{}\n", SeverityName(finding.severity), finding.id,
               CsvField(finding.setting), CsvField(finding.value), finding.is_default,
               CsvField(finding.effect), CsvField(finding.change), CsvField(finding.source));
  }
}

std::string MarkdownCell(std::string_view text) {
  std::string cell;
  for (const char character : Visible(text)) {
    if (character == '|') cell += '\\';
    cell += character;
  }
  return cell;
}

void PrintMarkdown(const Diagnosis& diagnosis) {
  fmt::print("| severity | setting | value | loses | change |\n|---|---|---|---|---|\n");
  for (const Advice& finding : diagnosis.findings) {
    fmt::print("| {} | {} | {} | {} | {} |\n", SeverityName(finding.severity),
               MarkdownCell(finding.setting), MarkdownCell(ValueText(finding)),
               MarkdownCell(finding.effect), MarkdownCell(finding.change));
  }
}

void Print(const Diagnosis& diagnosis, Format format) {
  switch (format) {
    case Format::kJson:
      return PrintJson(diagnosis);
    case Format::kCsv:
      return PrintCsv(diagnosis);
    case Format::kMarkdown:
      return PrintMarkdown(diagnosis);
    case Format::kTable:
      return PrintText(diagnosis);
  }
}

void RunDoctor(const DoctorOptions& options, const GlobalOptions& global) {
  const Diagnosis diagnosis = Diagnose(options);
  if (diagnosis.question.values.empty() && !options.env_file.empty() && !global.quiet) {
    fmt::print(stderr, "{}: no NCCL_ or RCCL_ variable in it; these are the defaults\n",
               options.env_file);
  }
  Print(diagnosis, global.format);
  const size_t problems = diagnosis.Count(Severity::kProblem);
  const size_t warnings = diagnosis.Count(Severity::kWarning);
  if (options.fail_on == "problem" && problems > 0) {
    throw CommandFailure(Counted(problems, "problem"), kExitGate);
  }
  if (options.fail_on == "warning" && problems + warnings > 0) {
    throw CommandFailure(
        fmt::format("{}, {}", Counted(problems, "problem"), Counted(warnings, "warning")),
        kExitGate);
  }
}

std::string SettingsHelp() {
  std::string help = "\n\nSettings (default, first release):";
  for (const collectives::InspectorSetting& setting : collectives::InspectorSettings()) {
    const std::string_view value = *setting.DefaultIn(std::nullopt);
    help += fmt::format("\n  {} ({}{})\n      {}", setting.name,
                        value.empty() ? "" : fmt::format("{}, ", value), setting.SinceText(),
                        setting.meaning);
  }
  return help;
}

}  // namespace

void AddDoctorCommand(CLI::App& app, GlobalOptions& global) {
  auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = app.add_subcommand(
      "doctor", "what the Inspector's settings and its output would lose, and how to change it");
  command->footer(kExamples + SettingsHelp());
  command->add_option("--env-file", options->env_file,
                      "read settings from this file instead of the environment");
  auto* nccl = command->add_option("--nccl-version", options->nccl_version,
                                   "the NCCL release in use, such as 2.30.7");
  auto* rccl = command->add_option("--rccl-version", options->rccl_version,
                                   "the RCCL release in use, such as 2.28.3");
  nccl->excludes(rccl);
  command
      ->add_option("--ops-per-second", options->operations_per_second,
                   "operations a second on the busiest communicator, of one rank")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--fail-on", options->fail_on, "end with exit code 3 if there is one, or worse")
      ->check(CLI::IsMember({"problem", "warning"}));
  command->add_option("PATH", options->paths, "Inspector logs, or folders of them");
  command->callback([options, &global] { RunDoctor(*options, global); });
}

}  // namespace telltale::cli
