#include "collectives/inspector_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace telltale::collectives {
namespace {

namespace fs = std::filesystem;

std::string Line(int rank, int n_ranks, int process, const char* version = "v4.0",
                 const char* id = "0xabc") {
  return fmt::format(
      R"({{"header":{{"id":"{}","comm_name":"WORLD","rank":{},"n_ranks":{},"nnodes":1}},)"
      R"("metadata":{{"inspector_output_format_version":"{}","git_rev":"","rec_mechanism":"x",)"
      R"("dump_timestamp_us":1,"hostname":"host","pid":{}}},"coll_perf":{{"coll":"AllReduce"}}}})"
      "\n",
      id, rank, n_ranks, version, process);
}

class InspectorFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::path(testing::TempDir()) / fmt::format("inspector_files_{}", test->name());
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& name, const std::string& text) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }

  std::vector<Advice> Check() const { return CheckLogs(GlanceAtLogs(root_.string()).value()); }
  Advice Find(std::string_view id) const {
    const std::vector<Advice> findings = Check();
    const auto found = std::ranges::find(findings, id, &Advice::id);
    return found == findings.end() ? Advice{} : *found;
  }

  fs::path root_;
};

TEST_F(InspectorFiles, WholeFolder) {
  Write("host-pid1.log", Line(0, 2, 1));
  Write("host-pid2.log", Line(1, 2, 2));
  Write("README", "not a log");
  const LogFolder folder = GlanceAtLogs(root_.string()).value();
  ASSERT_EQ(folder.files.size(), 2U);
  EXPECT_EQ(folder.other_files, 1U);
  EXPECT_EQ(folder.files[0].kind, LogFileKind::kInspector);
  EXPECT_EQ(folder.files[0].format_version, "v4.0");
  EXPECT_EQ(folder.files[0].n_ranks, 2);
  EXPECT_EQ(folder.files[0].host_and_process, "host-pid1");
  ASSERT_EQ(Check().size(), 1U);
  EXPECT_EQ(Check()[0].severity, Severity::kOk);
}

TEST_F(InspectorFiles, EmptyFolder) {
  EXPECT_EQ(Find("no_logs").severity, Severity::kProblem);
  EXPECT_EQ(Find("no_logs").value, "empty");
  Write("train.log", "step 1\n");
  EXPECT_EQ(Find("no_logs").value, "other files only");
}

TEST_F(InspectorFiles, EmptyFiles) {
  Write("host-pid1.log", "");
  EXPECT_EQ(Find("empty_files").severity, Severity::kProblem);
  Write("host-pid2.log", Line(0, 1, 2));
  EXPECT_EQ(Find("empty_files").severity, Severity::kWarning);
  EXPECT_EQ(Find("empty_files").value, "host-pid1.log");
}

TEST_F(InspectorFiles, MissingRanks) {
  Write("a/host-pid1.log", Line(0, 4, 1) + Line(0, 2, 1, "v4.0", "0xdef"));
  Write("b/host-pid2.log", Line(3, 4, 2));
  EXPECT_EQ(Find("ranks_missing").value, "2 of 4 files");
  // Two ranks in each process: nothing is missing.
  Write("a/host-pid1.log", Line(0, 4, 1) + Line(1, 4, 1));
  Write("b/host-pid2.log", Line(2, 4, 2) + Line(3, 4, 2));
  EXPECT_EQ(Find("ranks_missing").id, "");
}

TEST_F(InspectorFiles, MixedVersions) {
  Write("host-pid1.log", Line(0, 2, 1));
  Write("host-pid2.log", Line(1, 2, 2, "v4.2"));
  EXPECT_EQ(Find("mixed_versions").value, "v4.0 (1 file), v4.2 (1 file)");
}

TEST_F(InspectorFiles, OldFormatIsASample) {
  std::string line = Line(0, 1, 1);
  const std::string name = R"("comm_name":"WORLD",)";
  line.erase(line.find(name), name.size());
  Write("host-pid1.log", line);
  EXPECT_EQ(Find("sampled").severity, Severity::kWarning);
}

TEST_F(InspectorFiles, PartOfAMarkerFile) {
  Write("host-pid1.log", R"({"coll_perf":{"coll":"AllReduce"}})"
                         "\n");
  EXPECT_EQ(Find("no_context").severity, Severity::kProblem);
}

TEST_F(InspectorFiles, BrokenLines) {
  Write("host-pid1.log", Line(0, 1, 1) + "{\"header\":{\"comm_name\":,\n" + Line(0, 1, 1));
  EXPECT_EQ(Find("broken_lines").severity, Severity::kWarning);
}

TEST_F(InspectorFiles, CutAndForeignFiles) {
  Write("host-pid1.log", Line(0, 1, 1) + "{\"header\":");
  EXPECT_EQ(Find("cut_files").value, "host-pid1.log");
  Write("host-pid2.log", "\x01\x02 something\xff\n");
  EXPECT_EQ(Find("not_inspector").value, "host-pid2.log");
  Write("nccl_inspector_metrics_0.prom", "nccl_bus_bandwidth_gbs{} 1\n");
  EXPECT_EQ(Find("prometheus_files").value, "nccl_inspector_metrics_0.prom");
}

TEST_F(InspectorFiles, SingleFileAndNoFile) {
  Write("anything.txt", Line(0, 1, 1));
  const LogFolder folder = GlanceAtLogs((root_ / "anything.txt").string()).value();
  EXPECT_EQ(folder.files.at(0).kind, LogFileKind::kInspector);
  EXPECT_FALSE(GlanceAtLogs((root_ / "missing").string()));
}

TEST_F(InspectorFiles, PathsOfTheSettings) {
  const auto ids = [&](const SettingValues& values) {
    std::string list;
    for (const Advice& finding : CheckPathsHere(values)) list += finding.id + " ";
    return list;
  };
  const std::string root = root_.string();
  EXPECT_EQ(ids({}), "");
  EXPECT_EQ(ids({{"NCCL_PROFILER_PLUGIN", "inspector"}}), "");
  EXPECT_EQ(ids({{"NCCL_PROFILER_PLUGIN", root + "/no.so"}}), "plugin_missing ");
  EXPECT_EQ(ids({{"NCCL_INSPECTOR_DUMP_DIR", root}}), "");
  EXPECT_EQ(ids({{"NCCL_INSPECTOR_DUMP_DIR", root + "/new/"}}), "");
  EXPECT_EQ(ids({{"NCCL_INSPECTOR_DUMP_DIR", root + "/new/job"}}), "directory_parent_missing ");
  Write("file", "");
  EXPECT_EQ(ids({{"NCCL_INSPECTOR_DUMP_DIR", root + "/file"}}), "directory_is_file ");
}

}  // namespace
}  // namespace telltale::collectives
