#include "collectives/inspector_settings.h"

#include <set>

#include <gtest/gtest.h>

namespace telltale::collectives {
namespace {

TEST(LibraryVersion, Reads) {
  EXPECT_EQ(ParseLibraryVersion("2.30.7").value(), (LibraryVersion{2, 30, 7}));
  EXPECT_EQ(ParseLibraryVersion("v2.28.9-1").value(), (LibraryVersion{2, 28, 9}));
  EXPECT_EQ(ParseLibraryVersion("2.30.3+cuda13.0").value(), (LibraryVersion{2, 30, 3}));
  EXPECT_EQ(ParseLibraryVersion("2.30").value(), (LibraryVersion{2, 30, 0}));
  EXPECT_EQ(ParseLibraryVersion("2.30.7").value().ToText(), "2.30.7");
  EXPECT_LT((LibraryVersion{2, 29, 7}), (LibraryVersion{2, 30, 0}));
}

TEST(LibraryVersion, RefusesWhatIsNone) {
  for (const char* text : {"", "v", "2", "2.", "two", "2.30.7.1", "2.30x", "-2.30", "2.-3", "2.30.",
                           "99999999999.1"}) {
    EXPECT_FALSE(ParseLibraryVersion(text)) << text;
  }
}

TEST(InspectorSettings, TableIsSound) {
  std::set<std::string_view> names;
  for (const InspectorSetting& setting : InspectorSettings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name;
    EXPECT_TRUE(IsLibraryVariable(setting.name)) << setting.name;
    EXPECT_FALSE(setting.meaning.empty()) << setting.name;
    EXPECT_EQ(FindInspectorSetting(setting.name), &setting);
    EXPECT_TRUE(setting.DefaultIn(std::nullopt)) << setting.name;
    EXPECT_EQ(NearestSetting(setting.name), setting.name);
    const bool has_number =
        setting.kind == SettingKind::kBoolean || setting.kind == SettingKind::kCount ||
        setting.kind == SettingKind::kBytes || setting.kind == SettingKind::kInterval;
    if (!has_number) continue;
    EXPECT_EQ(ReadNumber(setting.kind, *setting.DefaultIn(std::nullopt)).complaint, "")
        << setting.name;
  }
}

TEST(InspectorSettings, DefaultsDependOnTheRelease) {
  const InspectorSetting* interval =
      FindInspectorSetting("NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS");
  EXPECT_EQ(interval->DefaultIn(LibraryVersion{2, 29, 7}), "0");
  EXPECT_EQ(interval->DefaultIn(LibraryVersion{2, 30, 0}), "-1");
  EXPECT_EQ(interval->DefaultIn(std::nullopt), "-1");
  EXPECT_EQ(interval->DefaultIn(LibraryVersion{2, 27, 0}), std::nullopt);
  const InspectorSetting* min_size = FindInspectorSetting("NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES");
  EXPECT_EQ(min_size->DefaultIn(LibraryVersion{2, 29, 7}), std::nullopt);
  EXPECT_EQ(min_size->DefaultIn(LibraryVersion{2, 30, 7}), "8192");
}

TEST(InspectorSettings, FindsWhatWasMeant) {
  EXPECT_EQ(NearestSetting("NCCL_INSPECTOR_ENABLED"), "NCCL_INSPECTOR_ENABLE");
  EXPECT_EQ(NearestSetting("NCCL_INSPECTR_ENABLE"), "NCCL_INSPECTOR_ENABLE");
  EXPECT_EQ(NearestSetting("RCCL_INSPECTOR_ENABLE"), "NCCL_INSPECTOR_ENABLE");
  EXPECT_EQ(NearestSetting("NCCL_PROFILER_PLUGINS"), "NCCL_PROFILER_PLUGIN");
  EXPECT_EQ(NearestSetting("NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_US"),
            "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS");
  EXPECT_EQ(NearestSetting("NCCL_INSPECTOR_DUMP_THREAD_INTERVAL"),
            "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS");
  EXPECT_EQ(NearestSetting("NCCL_INSPECTOR_DUMP_THREAD_SLEEP_TIME"), "");
  EXPECT_EQ(NearestSetting("NCCL_INSPECTOR_SOMETHING_ELSE_ALTOGETHER"), "");
}

TEST(ReadNumber, ReadsAsThePluginDoes) {
  EXPECT_EQ(ReadNumber(SettingKind::kInterval, "500").value, 500);
  EXPECT_EQ(ReadNumber(SettingKind::kInterval, "-1").value, -1);
  EXPECT_EQ(ReadNumber(SettingKind::kInterval, " 500 ").complaint, "");
  EXPECT_EQ(ReadNumber(SettingKind::kCount, "0x10").value, 16);
  EXPECT_EQ(ReadNumber(SettingKind::kCount, "0x10").complaint, "");
  EXPECT_EQ(ReadNumber(SettingKind::kBytes, "0").complaint, "");
  EXPECT_EQ(ReadNumber(SettingKind::kBoolean, "2").complaint, "");
}

TEST(ReadNumber, ComplainsOfWhatIsReadOtherwise) {
  struct Case {
    SettingKind kind;
    const char* text;
    int64_t value;
  };
  for (const Case& misread : std::initializer_list<Case>{{SettingKind::kBoolean, "true", 0},
                                                         {SettingKind::kBoolean, "on", 0},
                                                         {SettingKind::kBoolean, "", 0},
                                                         {SettingKind::kBoolean, "0x1", 0},
                                                         {SettingKind::kInterval, "500us", 500},
                                                         {SettingKind::kInterval, "1e6", 1},
                                                         {SettingKind::kInterval, "0500", 320},
                                                         {SettingKind::kCount, "1,024", 1},
                                                         {SettingKind::kCount, "-5", -5},
                                                         {SettingKind::kBytes, "8k", 8}}) {
    const NumberReading reading = ReadNumber(misread.kind, misread.text);
    EXPECT_EQ(reading.value, misread.value) << misread.text;
    EXPECT_NE(reading.complaint, "") << misread.text;
  }
  EXPECT_NE(ReadNumber(SettingKind::kCount, "99999999999999999999").complaint, "");
}

}  // namespace
}  // namespace telltale::collectives
