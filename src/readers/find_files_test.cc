#include "readers/find_files.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace telltale {
namespace {

namespace fs = std::filesystem;

class FindFilesTest : public testing::Test {
 protected:
  FindFilesTest() {
    if (mkdtemp(folder_.data()) == nullptr) std::abort();
    folder_ = fs::canonical(folder_);
  }
  ~FindFilesTest() override { fs::remove_all(folder_); }

  std::string operator/(const std::string& name) const { return folder_ + "/" + name; }

  std::string Write(const std::string& name, const std::string& text = "x\n") const {
    const std::string path = folder_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  // Names below the folder, in the order found; with the error, if there is one.
  std::vector<std::string> Names(const std::vector<std::string>& paths) const {
    std::vector<std::string> names;
    for (const FoundFile& file : FindFiles(paths)) {
      std::string name = file.path;
      if (name.starts_with(folder_ + "/")) name.erase(0, folder_.size() + 1);
      if (!file.error.empty()) name += ": " + file.error;
      names.push_back(name);
    }
    return names;
  }

  std::string folder_ = testing::TempDir() + "telltale-find-XXXXXX";
};

using Strings = std::vector<std::string>;

TEST_F(FindFilesTest, WalksFoldersInTheOrderOfNames) {
  Write("b.log");
  Write("a/2.log");
  Write("a/10.log");
  Write("a/deep/er/x");
  Write("c/.hidden");
  EXPECT_EQ(Names({folder_}),
            (Strings{"a/10.log", "a/2.log", "a/deep/er/x", "b.log", "c/.hidden"}));
  EXPECT_EQ(Names({*this / "b.log", *this / "a"}),
            (Strings{"b.log", "a/10.log", "a/2.log", "a/deep/er/x"}));
}

TEST_F(FindFilesTest, DescribesAFile) {
  const std::string path = Write("run7/a.log", "12345");
  const std::vector<FoundFile> named = FindFiles({path});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].path, path);
  EXPECT_EQ(named[0].absolute_path, path);
  EXPECT_EQ(named[0].folder, *this / "run7");
  EXPECT_EQ(named[0].size_bytes, 5U);
  EXPECT_TRUE(named[0].is_regular);
  EXPECT_TRUE(named[0].named_directly);
  EXPECT_EQ(named[0].error, "");
  const std::vector<FoundFile> walked = FindFiles({folder_ + "//run7/"});
  ASSERT_EQ(walked.size(), 1U);
  EXPECT_EQ(walked[0].absolute_path, path);
  EXPECT_EQ(walked[0].folder, *this / "run7");
  EXPECT_FALSE(walked[0].named_directly);
}

TEST_F(FindFilesTest, ReadsAFileOnceHoweverItIsNamed) {
  Write("a/x.log");
  EXPECT_EQ(Names({*this / "a/x.log", *this / "a/x.log", *this / "a"}), (Strings{"a/x.log"}));
  EXPECT_EQ(Names({*this / "a/x.log", *this / "a/../a/./x.log"}), (Strings{"a/x.log"}));
  EXPECT_EQ(Names({*this / "a", folder_ + "//a/"}), (Strings{"a/x.log"}));
  fs::create_symlink("x.log", *this / "a/link.log");
  EXPECT_EQ(Names({*this / "a"}).size(), 1U);
  EXPECT_EQ(Names({"-", "-"}), (Strings{"-"}));
}

TEST_F(FindFilesTest, FollowsLinksToFilesButNotToFolders) {
  Write("elsewhere/x.log");
  Write("job/own.log");
  fs::create_symlink("../elsewhere/x.log", *this / "job/linked.log");
  fs::create_directory_symlink("../elsewhere", *this / "job/linked");
  fs::create_directory_symlink("..", *this / "job/loop");
  EXPECT_EQ(Names({*this / "job"}), (Strings{"job/linked.log", "job/own.log"}));
  // One that is named is meant.
  EXPECT_EQ(Names({*this / "job/linked"}), (Strings{"job/linked/x.log"}));
}

TEST_F(FindFilesTest, SaysWhatIsMissing) {
  Write("a.log");
  EXPECT_EQ(Names({*this / "nosuch", *this / "a.log", *this / "a.log/x", ""}),
            (Strings{"nosuch: No such file or directory", "a.log", "a.log/x: Not a directory",
                     ": No such file or directory"}));
}

TEST_F(FindFilesTest, ALinkToNothingIsNotPassedOver) {
  Write("job/a.log");
  fs::create_symlink("gone.log", *this / "job/b.log");
  EXPECT_EQ(Names({*this / "job"}), (Strings{"job/a.log", "job/b.log: No such file or directory"}));
}

TEST_F(FindFilesTest, PassesOverPipesInFoldersButTakesThemByName) {
  Write("job/a.log");
  ASSERT_EQ(mkfifo((*this / "job/pipe").c_str(), 0600), 0);
  EXPECT_EQ(Names({*this / "job"}), (Strings{"job/a.log"}));
  const std::vector<FoundFile> named = FindFiles({*this / "job/pipe"});
  ASSERT_EQ(named.size(), 1U);
  EXPECT_FALSE(named[0].is_regular);
  EXPECT_EQ(named[0].error, "");
}

TEST_F(FindFilesTest, TakesStandardInputFromItsName) {
  const std::vector<FoundFile> found = FindFiles({"-"});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].folder, "standard input");
  EXPECT_FALSE(found[0].is_regular);
}

TEST_F(FindFilesTest, AnEmptyFolderHoldsNothing) {
  fs::create_directory(*this / "empty");
  EXPECT_EQ(Names({*this / "empty"}), Strings{});
}

TEST_F(FindFilesTest, SaysWhichFolderCannotBeRead) {
  Write("job/a.log");
  Write("job/closed/b.log");
  fs::permissions(folder_, fs::perms::all);
  fs::permissions(*this / "job/closed", fs::perms::none);
  // Root may read everything: look as somebody else.
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    const Strings expected = {"job/a.log", "job/closed: Permission denied"};
    _exit(Names({*this / "job"}) == expected ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fs::permissions(*this / "job/closed", fs::perms::all);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "root that cannot become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(FindFilesTest, TakesNamesOfAnyBytes) {
  for (const std::string name :
       {" ", "a b.log", "quote'\".log", "new\nline", "\xff\xfe.log", "*?[x]"}) {
    Write("odd/" + name);
  }
  const std::vector<FoundFile> found = FindFiles({*this / "odd"});
  EXPECT_EQ(found.size(), 6U);
  for (const FoundFile& file : found) EXPECT_TRUE(fs::exists(file.absolute_path)) << file.path;
}

}  // namespace
}  // namespace telltale
