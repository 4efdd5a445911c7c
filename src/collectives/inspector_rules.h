#pragma once

// The parts of inspector_doctor.cc: the settings in question, seen as the plugin sees them, and the
// groups of rules that examine them. To add a rule: a function in the group's file
// (inspector_rules_<group>.cc), and its call at the end of that file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collectives/inspector_doctor.h"

namespace telltale::collectives {

constexpr std::string_view kPlugin = "NCCL_PROFILER_PLUGIN";
constexpr std::string_view kEnable = "NCCL_INSPECTOR_ENABLE";
constexpr std::string_view kThread = "NCCL_INSPECTOR_DUMP_THREAD_ENABLE";
constexpr std::string_view kIntervalName = "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS";
constexpr std::string_view kDirectory = "NCCL_INSPECTOR_DUMP_DIR";
constexpr std::string_view kVerbose = "NCCL_INSPECTOR_DUMP_VERBOSE";
constexpr std::string_view kProm = "NCCL_INSPECTOR_PROM_DUMP";
constexpr std::string_view kPromStats = "NCCL_INSPECTOR_PROM_DUMP_STATS";
constexpr std::string_view kOtel = "NCCL_INSPECTOR_OTEL_EXPORT";
constexpr std::string_view kOtelVerbose = "NCCL_INSPECTOR_OTEL_VERBOSE";
constexpr std::string_view kP2p = "NCCL_INSPECTOR_ENABLE_P2P";
constexpr std::string_view kProxy = "NCCL_INSPECTOR_ENABLE_PROXY";
constexpr std::string_view kProxyMode = "NCCL_INSPECTOR_PROXY_OUTPUT_MODE";
constexpr std::string_view kMinSize = "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES";
constexpr std::string_view kCollRing = "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE";
constexpr std::string_view kP2pRing = "NCCL_INSPECTOR_DUMP_P2P_RING_SIZE";
constexpr std::string_view kPoolGrow = "NCCL_INSPECTOR_POOL_GROW";
constexpr std::string_view kKernelTiming = "NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING";

constexpr LibraryVersion kFirstInspector = {2, 28, 3};
constexpr LibraryVersion kFirstRings = {2, 30, 0};
constexpr LibraryVersion kLastUnitBug = {2, 29, 3};
constexpr LibraryVersion kLastNameHang = {2, 30, 7};
// The first RCCL release line after rocm-systems 10660 (merged September 2026).
constexpr LibraryVersion kRcclFinalDump = {2, 31, 0};

constexpr int64_t kMicrosecondsPerSecond = 1'000'000;
constexpr int64_t kPromMinimumIntervalUs = 30 * kMicrosecondsPerSecond;
constexpr int64_t kSuggestedIntervalUs = 500;  // as in the plugin's README

// "export NAME=value".
template <typename Value>
std::string Export(std::string_view name, const Value& value) {
  return fmt::format("export {}={}", name, value);
}

class Examination {
 public:
  explicit Examination(const SettingsQuestion& question) : question_(question) {}

  const SettingsQuestion& question() const { return question_; }
  std::vector<Advice> TakeFindings() { return std::move(findings_); }

  // False for both if the release is not known.
  bool Older(LibraryVersion than) const { return question_.version && *question_.version < than; }
  bool AtLeast(LibraryVersion version) const {
    return question_.version && *question_.version >= version;
  }
  bool IsRccl() const { return question_.library == Library::kRccl; }
  std::string LibraryText() const;  // "NCCL 2.30.7"

  // The value as set; null if it is not.
  const std::string* Set(std::string_view name) const;
  // True if the release that is asked about reads the variable at all.
  bool IsRead(std::string_view name) const;
  // What is set, else the default; empty if the release does not read it.
  std::string Text(std::string_view name) const;
  int64_t Number(std::string_view name) const;
  bool IsOn(std::string_view name) const { return IsRead(name) && Number(name) != 0; }
  // True for a value of which not even the plugin's view is known: `$VARIABLE` in a script.
  bool IsUnknown(std::string_view name) const;

  bool WritesJson() const { return !IsOn(kOtel) && !IsOn(kProm); }
  bool WritesPrometheus() const { return !IsOn(kOtel) && IsOn(kProm); }
  // The time between two writes; nothing if there are none.
  std::optional<int64_t> IntervalUs() const;

  void Add(Severity severity, std::string_view id, std::string_view name, std::string effect,
           std::string change, std::string source = "");
  void AddAboutVersion(Severity severity, std::string_view id, std::string effect,
                       std::string change, std::string source);

 private:
  const SettingsQuestion& question_;
  std::vector<Advice> findings_;
};

// What the release itself loses, whatever the settings.
void ExamineRelease(Examination& exam);
// Names and values that the plugin does not read as they were meant.
void ExamineSpelling(Examination& exam);
// Whether there is output, in which form and where.
void ExamineOutput(Examination& exam);
// How often is written, and whether the rings hold what finishes in between.
void ExamineTiming(Examination& exam);
// Which operations are recorded.
void ExamineContent(Examination& exam);

}  // namespace telltale::collectives
