#include "cli/settings_text.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace telltale::cli {
namespace {

using collectives::SettingValues;

SettingValues Read(std::string_view text) { return ReadSettingsText(text).values; }

TEST(SettingsText, KeyValueFiles) {
  EXPECT_EQ(Read("# comment\nNCCL_A=1\n\nNCCL_B=two words\r\nNCCL_C="),
            (SettingValues{{"NCCL_A", "1"}, {"NCCL_B", "two"}, {"NCCL_C", ""}}));
}

TEST(SettingsText, ShellScripts) {
  EXPECT_EQ(Read("#!/bin/bash\n"
                 "export NCCL_A=1  # why\n"
                 "export NCCL_B=\"two words\" NCCL_C='it''s'; NCCL_D=a\\ b ./run\n"
                 "NCCL_E=${JOB}/x#y\n"),
            (SettingValues{{"NCCL_A", "1"},
                           {"NCCL_B", "two words"},
                           {"NCCL_C", "its"},
                           {"NCCL_D", "a b"},
                           {"NCCL_E", "${JOB}/x#y"}}));
}

TEST(SettingsText, CommandLines) {
  EXPECT_EQ(
      Read("mpirun -x NCCL_A=1 -x PATH -x NCCL_B=\"2\" \\\n  --env NCCL_C=3 --env=NCCL_D=4 x"),
      (SettingValues{{"NCCL_A", "1"}, {"NCCL_B", "2"}, {"NCCL_C", "3"}, {"NCCL_D", "4"}}));
  EXPECT_EQ(Read("srun --export=ALL,NCCL_A=1,HOME=/x,RCCL_B=2 ./run"),
            (SettingValues{{"NCCL_A", "1"}, {"RCCL_B", "2"}}));
}

TEST(SettingsText, ProcessEnvironments) {
  const std::string text("NCCL_A=x y\0SECRET=1\0NCCL_B=\"q\"\0", 32);
  const SettingsText read = ReadSettingsText(text);
  EXPECT_TRUE(read.is_environment);
  EXPECT_EQ(read.values, (SettingValues{{"NCCL_A", "x y"}, {"NCCL_B", "\"q\""}}));
}

TEST(SettingsText, KeepsNothingElse) {
  EXPECT_EQ(Read("AWS_SECRET_ACCESS_KEY=x\nMY_NCCL_TOKEN=y\nexport TOKEN='NCCL_A=1'"),
            SettingValues{});
}

TEST(SettingsText, LastOneCountsAndOddTextIsPassedOver) {
  EXPECT_EQ(Read("NCCL_A=1\nNCCL_A=2\nNCCL_B=\"open\n\\\n=\n'"),
            (SettingValues{{"NCCL_A", "2"}, {"NCCL_B", "open"}}));
  EXPECT_EQ(Read(""), SettingValues{});
}

}  // namespace
}  // namespace telltale::cli
