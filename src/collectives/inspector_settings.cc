#include "collectives/inspector_settings.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <vector>

namespace telltale::collectives {
namespace {

// When things came.
constexpr LibraryVersion kFirst = {2, 28, 3};
constexpr LibraryVersion kPrometheus = {2, 29, 3};
constexpr LibraryVersion kRings = {2, 30, 0};
// In no release that was looked at: the number after the newest one that is known not to have it.
constexpr LibraryVersion kDumpStats = {2, 30, 8};   // pull request 2304 and others
constexpr LibraryVersion kProxyTrace = {2, 32, 4};  // pull request 2359, open when 2.32.3 came

constexpr size_t kMaxTypingErrors = 5;

using enum SettingKind;

constexpr InspectorSetting Setting(std::string_view name, SettingKind kind, LibraryVersion since,
                                   std::string_view value, std::string_view meaning) {
  return {name, kind, {DefaultSince{since, value}, DefaultSince{}}, meaning};
}

constexpr InspectorSetting kSettings[] = {
    Setting("NCCL_PROFILER_PLUGIN", kPath, kFirst, "",
            "the profiler plugin to load: the path of libnccl-profiler-inspector.so "
            "(RCCL: librccl-profiler-inspector.so)"),
    Setting("NCCL_INSPECTOR_ENABLE", kBoolean, kFirst, "0", "turns the Inspector on"),
    Setting("NCCL_INSPECTOR_ENABLE_P2P", kBoolean, kRings, "1", "records Send and Recv"),
    Setting("NCCL_INSPECTOR_ENABLE_PROXY", kBoolean, kProxyTrace, "0",
            "records the steps of the network proxy (JSON output only)"),
    Setting("NCCL_INSPECTOR_DUMP_THREAD_ENABLE", kBoolean, kFirst, "1",
            "runs the thread that writes the records"),
    {"NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS",
     kInterval,
     {DefaultSince{kFirst, "0"}, DefaultSince{kRings, "-1"}},
     "time between two writes; off is 0 in 2.28 and 2.29 and -1 from 2.30 on, where 0 writes "
     "without "
     "a pause"},
    Setting("NCCL_INSPECTOR_DUMP_DIR", kPath, kFirst, "",
            "folder for the output; without it nccl-inspector-<SLURM_JOBID> or "
            "nccl-inspector-unknown-jobid in the working directory"),
    Setting("NCCL_INSPECTOR_DUMP_VERBOSE", kBoolean, kFirst, "0",
            "adds the time and order of each operation's start, kernels and end"),
    Setting("NCCL_INSPECTOR_PROM_DUMP", kBoolean, kPrometheus, "0",
            "writes Prometheus text files instead of JSON"),
    Setting("NCCL_INSPECTOR_PROM_DUMP_STATS", kBoolean, kDumpStats, "0",
            "adds counters of recorded and lost operations to the Prometheus files"),
    Setting("NCCL_INSPECTOR_OTEL_EXPORT", kBoolean, kDumpStats, "0",
            "sends metrics over OTLP instead of writing JSON"),
    Setting("NCCL_INSPECTOR_OTEL_VERBOSE", kBoolean, kDumpStats, "0",
            "sends one OTLP point for each operation"),
    Setting("NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", kBytes, kRings, "8192",
            "operations on smaller messages are not recorded"),
    Setting("NCCL_INSPECTOR_DUMP_COLL_RING_SIZE", kCount, kRings, "1024",
            "finished collectives that a communicator keeps until the next write"),
    Setting("NCCL_INSPECTOR_DUMP_P2P_RING_SIZE", kCount, kRings, "1024",
            "finished Send and Recv operations that a communicator keeps until the next write"),
    Setting("NCCL_INSPECTOR_DUMP_PROXY_RING_SIZE", kCount, kProxyTrace, "1024",
            "proxy records that a communicator keeps until the next write; each step takes one"),
    Setting("NCCL_INSPECTOR_DUMP_PROXY_STEPS", kBoolean, kProxyTrace, "1",
            "writes each proxy step, not only each proxy operation"),
    Setting("NCCL_INSPECTOR_PROXY_OUTPUT_MODE", kChoice, kProxyTrace, "nested",
            "nested: steps inside their operation; flat: one line each"),
    Setting("NCCL_INSPECTOR_DUMP_PROXY_EVENT_TRACE_SN", kBoolean, kProxyTrace, "0",
            "adds the order of the proxy's callbacks"),
    Setting("NCCL_INSPECTOR_COLL_POOL_SIZE", kCount, kRings, "256",
            "collectives in flight at first, and by how many more the pool grows"),
    Setting("NCCL_INSPECTOR_P2P_POOL_SIZE", kCount, kRings, "256",
            "Send and Recv operations in flight at first, and by how many more the pool grows"),
    Setting("NCCL_INSPECTOR_COMM_POOL_SIZE", kCount, kRings, "256",
            "communicators at first, and by how many more the pool grows"),
    Setting("NCCL_INSPECTOR_PROXY_OP_POOL_SIZE", kCount, kProxyTrace, "1024",
            "proxy operations in flight; this pool does not grow"),
    Setting("NCCL_INSPECTOR_PROXY_STEP_POOL_SIZE", kCount, kProxyTrace, "4096",
            "proxy steps in flight; this pool does not grow"),
    Setting("NCCL_INSPECTOR_POOL_GROW", kBoolean, kRings, "1", "lets the pools grow"),
    Setting("NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING", kBoolean, kRings, "1",
            "drops operations that have no time from the GPU"),
    Setting("NCCL_INSPECTOR_CLUSTER", kText, kDumpStats, "",
            "RCCL: the cluster label of the Prometheus files"),
};

bool IsSpace(char character) {
  return character == ' ' || (character >= '\t' && character <= '\r');
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Levenshtein distance.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

// The one known variable that starts with `start`; empty if there is none or more than one.
std::string_view OnlySettingThatStartsWith(std::string_view start) {
  std::string_view only;
  for (const InspectorSetting& setting : kSettings) {
    if (!setting.name.starts_with(start)) continue;
    if (!only.empty()) return "";
    only = setting.name;
  }
  return only;
}

}  // namespace

std::string LibraryVersion::ToText() const {
  return fmt::format("{}.{}.{}", generation, release, patch);
}

Result<LibraryVersion> ParseLibraryVersion(std::string_view text) {
  const std::string_view given = text;
  if (!text.empty() && (text[0] == 'v' || text[0] == 'V')) text.remove_prefix(1);
  std::array<int, 3> parts = {0, 0, 0};
  size_t count = 0;
  bool expects_number = true;
  while (expects_number && count < parts.size()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parts[count]);
    if (error != std::errc() || parts[count] < 0) break;
    ++count;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    expects_number = text.starts_with('.');
    if (expects_number) text.remove_prefix(1);
  }
  const bool ends_well = !expects_number && (text.empty() || text[0] == '-' || text[0] == '+');
  if (count < 2 || !ends_well) {
    return Fail("\"{}\" is not a version: expected numbers such as 2.30.7", given);
  }
  return LibraryVersion{parts[0], parts[1], parts[2]};
}

std::optional<std::string_view> InspectorSetting::DefaultIn(
    const std::optional<LibraryVersion>& version) const {
  std::optional<std::string_view> found;
  for (const DefaultSince& entry : defaults) {
    if (entry.since.generation == 0) break;
    if (!version || *version >= entry.since) found = entry.value;
  }
  return found;
}

std::string InspectorSetting::SinceText() const {
  if (since() == kDumpStats) return "after 2.30.7";
  if (since() == kProxyTrace) return "after 2.32.3";
  return since().ToText();
}

std::span<const InspectorSetting> InspectorSettings() { return kSettings; }

const InspectorSetting* FindInspectorSetting(std::string_view name) {
  const auto* found = std::ranges::find(kSettings, name, &InspectorSetting::name);
  return found == std::end(kSettings) ? nullptr : found;
}

bool IsLibraryVariable(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("RCCL_");
}

std::string_view NearestSetting(std::string_view name) {
  // RCCL reads the variables under NCCL's names.
  std::string as_nccl(name);
  if (as_nccl.starts_with("RCCL_")) as_nccl[0] = 'N';
  std::string_view best;
  size_t best_distance = kMaxTypingErrors + 1;
  for (const InspectorSetting& setting : kSettings) {
    const size_t distance = EditDistance(as_nccl, setting.name);
    if (distance >= best_distance) continue;
    best = setting.name;
    best_distance = distance;
  }
  if (best.empty()) best = OnlySettingThatStartsWith(as_nccl);
  // ..._INTERVAL_US for ..._INTERVAL_MICROSECONDS.
  if (best.empty()) best = OnlySettingThatStartsWith(as_nccl.substr(0, as_nccl.rfind('_') + 1));
  return best;
}

NumberReading ReadNumber(SettingKind kind, std::string_view text) {
  const std::string trimmed(Trim(text));
  if (trimmed.empty()) return {0, "is empty and is read as 0"};

  const int base = kind == kBoolean ? 10 : 0;
  char* end = nullptr;
  errno = 0;
  const int64_t value = std::strtoll(trimmed.c_str(), &end, base);
  const bool out_of_range = errno == ERANGE;
  const std::string_view rest(end);

  if (end == trimmed.c_str()) return {0, "is not a number and is read as 0"};
  if (!rest.empty()) return {value, fmt::format("is read as {}: \"{}\" is ignored", value, rest)};
  if (out_of_range) return {value, "is out of range"};
  if (value < 0 && (kind == kCount || kind == kBytes)) {
    return {value, "is negative and is read as a huge number"};
  }
  const bool octal = base == 0 && value != 0 &&
                     trimmed.find_first_not_of("+-") != std::string::npos &&
                     trimmed[trimmed.find_first_not_of("+-")] == '0' &&
                     trimmed.find_first_of("xX") == std::string::npos;
  if (octal) return {value, fmt::format("starts with 0 and is read as octal: {}", value)};
  return {value, ""};
}

}  // namespace telltale::collectives
