#include "collectives/inspector_doctor.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include <gtest/gtest.h>

namespace telltale::collectives {
namespace {

constexpr const char* kPlugin = "NCCL_PROFILER_PLUGIN";
constexpr const char* kEnable = "NCCL_INSPECTOR_ENABLE";
constexpr const char* kInterval = "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS";

// Settings that record everything with 2.30.7.
SettingsQuestion Sound(const char* version = "2.30.7") {
  SettingsQuestion question;
  question.values = {{kPlugin, "/opt/nccl/libnccl-profiler-inspector.so"},
                     {kEnable, "1"},
                     {kInterval, "500"},
                     {"NCCL_INSPECTOR_DUMP_DIR", "/logs/17"}};
  question.version = ParseLibraryVersion(version).value();
  if (*question.version >= LibraryVersion{2, 30, 0}) {
    question.values["NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES"] = "0";
    question.values["NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING"] = "0";
  }
  question.library = Library::kNccl;
  return question;
}

SettingsQuestion With(SettingsQuestion question,
                      std::initializer_list<std::pair<const char*, const char*>> changes) {
  for (const auto& [name, value] : changes) {
    if (value) {
      question.values[name] = value;
    } else {
      question.values.erase(name);
    }
  }
  return question;
}

// The finding of that rule; one of kOk without an id if there is none.
Advice Find(const SettingsQuestion& question, std::string_view id) {
  const std::vector<Advice> findings = CheckInspectorSettings(question);
  const auto found = std::ranges::find(findings, id, &Advice::id);
  return found == findings.end() ? Advice{} : *found;
}

bool Has(const SettingsQuestion& question, std::string_view id) {
  return !Find(question, id).id.empty();
}

Severity Worst(const SettingsQuestion& question) {
  return CheckInspectorSettings(question).front().severity;
}

TEST(InspectorDoctor, IsContentWithSoundSettings) {
  EXPECT_LE(Worst(Sound()), Severity::kInfo);
  EXPECT_EQ(Find(Sound(), "plugin").severity, Severity::kOk);
  EXPECT_EQ(Find(Sound(), "enabled").severity, Severity::kOk);
  EXPECT_EQ(Find(Sound(), "interval").severity, Severity::kOk);
}

TEST(InspectorDoctor, SaysThatTheDefaultsWriteNothing) {
  const SettingsQuestion nothing;
  const std::vector<Advice> findings = CheckInspectorSettings(nothing);
  EXPECT_EQ(findings[0].severity, Severity::kProblem);
  for (const char* id : {"plugin_unset", "not_enabled", "interval_off"}) {
    EXPECT_EQ(Find(nothing, id).severity, Severity::kProblem) << id;
    EXPECT_TRUE(Find(nothing, id).is_default) << id;
  }
  for (const char* id : {"min_size", "kernel_timing", "directory_unset"}) {
    EXPECT_EQ(Find(nothing, id).severity, Severity::kWarning) << id;
  }
  EXPECT_EQ(Find(nothing, "interval_off").value, "-1");
  EXPECT_TRUE(std::ranges::is_sorted(findings, std::greater(), &Advice::severity));
}

TEST(InspectorDoctor, EveryFindingIsWhole) {
  for (const SettingsQuestion& question :
       {SettingsQuestion{}, Sound(), Sound("2.28.9"), Sound("2.29.7"), Sound("2.31.2"),
        With(Sound(), {{"NCCL_INSPECTOR_PROM_DUMP", "1"}}),
        With(Sound("2.33.0"), {{"NCCL_INSPECTOR_ENABLE_PROXY", "1"}})}) {
    for (const Advice& finding : CheckInspectorSettings(question)) {
      EXPECT_FALSE(finding.id.empty());
      EXPECT_FALSE(finding.setting.empty()) << finding.id;
      EXPECT_FALSE(finding.effect.empty()) << finding.id;
      const bool needs_change = finding.severity >= Severity::kWarning;
      EXPECT_TRUE(!needs_change || !finding.change.empty()) << finding.id;
    }
  }
}

TEST(InspectorDoctor, Plugin) {
  EXPECT_TRUE(Has(With(Sound(), {{kPlugin, nullptr}}), "plugin_unset"));
  EXPECT_TRUE(Has(With(Sound(), {{kPlugin, ""}}), "plugin_unset"));
  EXPECT_TRUE(Has(With(Sound(), {{kPlugin, "/opt/libnccl-profiler.so"}}), "plugin_other"));
  EXPECT_TRUE(Has(With(Sound(), {{kPlugin, "inspector"}}), "plugin"));
}

TEST(InspectorDoctor, BooleansThatAreWordsAreOff) {
  const SettingsQuestion question = With(Sound(), {{kEnable, "true"}});
  EXPECT_EQ(Find(question, "value_misread").severity, Severity::kProblem);
  EXPECT_EQ(Find(question, "value_misread").setting, kEnable);
  EXPECT_TRUE(Has(question, "not_enabled"));
}

TEST(InspectorDoctor, NumbersThatAreNone) {
  const SettingsQuestion question = With(Sound(), {{kInterval, "1e6"}});
  EXPECT_EQ(Find(question, "value_misread").setting, kInterval);
  EXPECT_NE(Find(question, "value_misread").effect.find("read as 1"), std::string::npos);
}

TEST(InspectorDoctor, IntervalOffAndContinuous) {
  EXPECT_TRUE(Has(With(Sound(), {{kInterval, nullptr}}), "interval_off"));
  EXPECT_TRUE(Has(With(Sound(), {{kInterval, "-7"}}), "interval_off"));
  EXPECT_EQ(Find(With(Sound(), {{kInterval, "0"}}), "interval_continuous").severity,
            Severity::kWarning);
  // In 2.28 and 2.29, 0 is off.
  EXPECT_TRUE(Has(With(Sound("2.29.7"), {{kInterval, "0"}}), "interval_off"));
  EXPECT_TRUE(Has(With(Sound("2.29.7"), {{kInterval, "-1"}}), "interval_off"));
  EXPECT_TRUE(Has(With(Sound(), {{"NCCL_INSPECTOR_DUMP_THREAD_ENABLE", "0"}}), "thread_off"));
}

TEST(InspectorDoctor, UnitBugUpTo2_29_3) {
  EXPECT_NE(Find(Sound("2.29.3"), "interval_unit").effect.find("waits 500 ns"), std::string::npos);
  EXPECT_FALSE(Has(Sound("2.29.7"), "interval_unit"));
  EXPECT_FALSE(Has(With(Sound("2.28.9"), {{kInterval, "2000000"}}), "interval_unit"));
  EXPECT_NE(Find(With(Sound("2.28.9"), {{kInterval, "1500000"}}), "interval_unit")
                .effect.find("1 s and 500000 ns"),
            std::string::npos);
}

TEST(InspectorDoctor, LastIntervalIsLost) {
  EXPECT_EQ(Find(Sound(), "last_interval").severity, Severity::kInfo);
  EXPECT_EQ(Find(With(Sound(), {{kInterval, "2000000"}}), "last_interval").severity,
            Severity::kWarning);
}

TEST(InspectorDoctor, RingAgainstInterval) {
  // 1024 / 500 us: far beyond any rate.
  EXPECT_EQ(Find(Sound(), "ring_limit").severity, Severity::kInfo);
  const SettingsQuestion slow = With(Sound(), {{kInterval, "3000000"}});
  EXPECT_EQ(Find(slow, "ring_limit").severity, Severity::kWarning);
  EXPECT_NE(Find(slow, "ring_limit").effect.find("beyond 341 a second"), std::string::npos);
}

TEST(InspectorDoctor, RingAtAKnownRate) {
  SettingsQuestion question = With(Sound(), {{kInterval, "1000000"}});
  question.operations_per_second = 2048;
  const Advice overwritten = Find(question, "ring_overwrites");
  EXPECT_EQ(overwritten.severity, Severity::kProblem);
  EXPECT_NE(overwritten.effect.find("50.0 %"), std::string::npos) << overwritten.effect;
  EXPECT_NE(overwritten.change.find("MICROSECONDS=200000"), std::string::npos)
      << overwritten.change;
  EXPECT_NE(overwritten.change.find("RING_SIZE=4096"), std::string::npos) << overwritten.change;

  question.operations_per_second = 1000;
  EXPECT_EQ(Find(question, "ring_tight").severity, Severity::kWarning);
  question.operations_per_second = 100;
  EXPECT_EQ(Find(question, "ring").severity, Severity::kOk);

  // What it suggests is enough.
  question.operations_per_second = 2048;
  EXPECT_TRUE(Has(With(question, {{kInterval, "200000"}}), "ring"));
  EXPECT_TRUE(Has(With(question, {{"NCCL_INSPECTOR_DUMP_COLL_RING_SIZE", "4096"}}), "ring"));
}

TEST(InspectorDoctor, Filters) {
  EXPECT_EQ(
      Find(With(Sound(), {{"NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", "4096"}}), "min_size").severity,
      Severity::kInfo);
  EXPECT_EQ(
      Find(With(Sound(), {{"NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES", nullptr}}), "min_size").severity,
      Severity::kWarning);
  EXPECT_TRUE(Has(With(Sound(), {{"NCCL_INSPECTOR_ENABLE_P2P", "0"}}), "no_p2p"));
  EXPECT_TRUE(Has(With(Sound(), {{"NCCL_INSPECTOR_POOL_GROW", "0"}}), "pool_fixed"));
  // 2.29 has none of them.
  for (const char* id : {"min_size", "kernel_timing", "no_p2p", "ring_limit"}) {
    EXPECT_FALSE(Has(Sound("2.29.7"), id)) << id;
  }
}

TEST(InspectorDoctor, OutputsThatReplaceJson) {
  const SettingsQuestion prom = With(Sound(), {{"NCCL_INSPECTOR_PROM_DUMP", "1"}});
  EXPECT_TRUE(Has(prom, "prometheus_instead_of_json"));
  EXPECT_TRUE(Has(prom, "interval_raised"));
  EXPECT_FALSE(Has(prom, "last_interval"));
  const SettingsQuestion both = With(
      Sound("2.33.0"), {{"NCCL_INSPECTOR_PROM_DUMP", "1"}, {"NCCL_INSPECTOR_OTEL_EXPORT", "1"}});
  EXPECT_TRUE(Has(both, "otel_instead_of_json"));
  EXPECT_TRUE(Has(both, "prometheus_ignored"));
  EXPECT_FALSE(Has(both, "prometheus_instead_of_json"));
  // 2.29.3 writes Prometheus files every 30 s without an interval.
  EXPECT_FALSE(Has(With(Sound("2.29.3"), {{"NCCL_INSPECTOR_PROM_DUMP", "1"}, {kInterval, nullptr}}),
                   "interval_off"));
  EXPECT_TRUE(Has(With(Sound(), {{"NCCL_INSPECTOR_PROM_DUMP", "1"}, {kInterval, nullptr}}),
                  "interval_off"));
}

TEST(InspectorDoctor, Directory) {
  constexpr const char* kDirectory = "NCCL_INSPECTOR_DUMP_DIR";
  EXPECT_TRUE(Has(With(Sound(), {{kDirectory, nullptr}}), "directory_unset"));
  EXPECT_EQ(Find(With(Sound(), {{kDirectory, ""}}), "directory_empty").severity,
            Severity::kProblem);
  EXPECT_TRUE(Has(With(Sound(), {{kDirectory, "~/logs"}}), "directory_tilde"));
  EXPECT_TRUE(Has(With(Sound(), {{kDirectory, "logs"}}), "directory_relative"));
}

TEST(InspectorDoctor, Releases) {
  EXPECT_TRUE(Has(Sound("2.27.3"), "no_inspector"));
  EXPECT_EQ(CheckInspectorSettings(Sound("2.27.3")).size(), 1U);
  EXPECT_EQ(Find(Sound("2.28.9"), "teardown_crash").severity, Severity::kProblem);
  EXPECT_EQ(Find(Sound("2.29.7"), "teardown_crash").severity, Severity::kWarning);
  EXPECT_TRUE(Has(Sound("2.29.7"), "single_slot"));
  EXPECT_FALSE(Has(Sound("2.30.3"), "single_slot"));
  EXPECT_TRUE(Has(Sound("2.30.7"), "name_hang"));
  EXPECT_TRUE(Has(Sound("2.31.2"), "profiling_overhead"));
  EXPECT_FALSE(Has(Sound("2.30.7"), "profiling_overhead"));
  SettingsQuestion unknown = Sound();
  unknown.version.reset();
  EXPECT_TRUE(Has(unknown, "version_unknown"));
}

TEST(InspectorDoctor, Rccl) {
  SettingsQuestion question = Sound("2.28.3");
  question.library = Library::kRccl;
  EXPECT_EQ(Find(question, "rccl_units").severity, Severity::kProblem);
  EXPECT_TRUE(Has(question, "rccl_dda"));
  EXPECT_FALSE(Has(With(question, {{"RCCL_DDA_ENABLE", "0"}}), "rccl_dda"));
  EXPECT_FALSE(Has(Sound("2.28.3"), "rccl_units"));

  SettingsQuestion newer = With(Sound("2.31.0"), {{kInterval, nullptr}});
  newer.library = Library::kRccl;
  EXPECT_EQ(Find(newer, "interval_off").severity, Severity::kWarning);
  EXPECT_FALSE(Has(newer, "profiling_overhead"));
}

TEST(InspectorDoctor, NamesThatNothingReads) {
  const Advice typo = Find(With(Sound(), {{"NCCL_INSPECTOR_ENABEL", "1"}}), "unknown_setting");
  EXPECT_EQ(typo.severity, Severity::kProblem);
  EXPECT_EQ(typo.change, "did you mean NCCL_INSPECTOR_ENABLE?");
  EXPECT_TRUE(Has(With(Sound(), {{"RCCL_INSPECTOR_ENABLE", "1"}}), "unknown_setting"));
  EXPECT_TRUE(Has(With(Sound(), {{"NCCL_PROFILER_PLUGN", "x"}}), "unknown_setting"));
  EXPECT_FALSE(Has(With(Sound(), {{"NCCL_DEBUG", "INFO"}, {"NCCL_PROFILE_EVENT_MASK", "7"}}),
                   "unknown_setting"));
  const Advice newer = Find(With(Sound("2.29.7"), {{"NCCL_INSPECTOR_DUMP_COLL_RING_SIZE", "4096"}}),
                            "not_in_release");
  EXPECT_EQ(newer.severity, Severity::kWarning);
  EXPECT_NE(newer.effect.find("came with 2.30.0"), std::string::npos) << newer.effect;
}

TEST(InspectorDoctor, Proxy) {
  EXPECT_TRUE(Has(With(Sound("2.30.7"), {{"NCCL_INSPECTOR_ENABLE_PROXY", "1"}}), "not_in_release"));
  EXPECT_TRUE(Has(With(Sound("2.33.0"), {{"NCCL_INSPECTOR_ENABLE_PROXY", "1"}}), "proxy_cost"));
  EXPECT_TRUE(Has(With(Sound("2.33.0"),
                       {{"NCCL_INSPECTOR_ENABLE_PROXY", "1"}, {"NCCL_INSPECTOR_PROM_DUMP", "1"}}),
                  "proxy_inactive"));
  EXPECT_TRUE(Has(With(Sound("2.33.0"), {{"NCCL_INSPECTOR_DUMP_PROXY_STEPS", "0"}}), "no_effect"));
  EXPECT_TRUE(Has(With(Sound("2.33.0"), {{"NCCL_INSPECTOR_ENABLE_PROXY", "1"},
                                         {"NCCL_INSPECTOR_PROXY_OUTPUT_MODE", "tree"}}),
                  "value_misread"));
}

TEST(InspectorDoctor, ShellVariablesInScriptsAreNotJudged) {
  SettingsQuestion question = With(Sound(), {{kInterval, "$INTERVAL"}});
  question.values_are_final = false;
  EXPECT_TRUE(Has(question, "value_unknown"));
  EXPECT_FALSE(Has(question, "interval_off"));
  EXPECT_FALSE(Has(question, "value_misread"));
  question.values_are_final = true;
  EXPECT_TRUE(Has(question, "value_misread"));
}

TEST(InspectorDoctor, DescribesAllSettings) {
  const SettingsQuestion question = With(Sound(), {{"NCCL_INSPECTOR_DUMP_VERBOSE", "yes"}});
  const std::vector<SettingState> states = DescribeInspectorSettings(question);
  ASSERT_EQ(states.size(), InspectorSettings().size());
  for (const SettingState& state : states) {
    if (state.setting->name == "NCCL_INSPECTOR_DUMP_VERBOSE") {
      EXPECT_EQ(state.value, "yes");
      EXPECT_EQ(state.effective, "off");
    } else if (state.setting->name == kInterval) {
      EXPECT_EQ(state.effective, "500");
    } else if (state.setting->name == "NCCL_INSPECTOR_ENABLE_PROXY") {
      EXPECT_EQ(state.default_value, std::nullopt);
    }
  }
}

}  // namespace
}  // namespace telltale::collectives
