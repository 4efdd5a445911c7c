// What the program says about a small simulated job, kept in tests/golden. After a change that is
// meant, TELLTALE_UPDATE_GOLDEN=1 writes the files anew; then read the difference.

#include <cstdlib>

#include "tests/program.h"

namespace telltale::tests {
namespace {

using Strings = std::vector<std::string>;

class CliGoldenTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    SimulateSmallJob(*folder_ / "job");
    const Outcome outcome =
        Telltale({"--store", *folder_ / "s.duckdb", "ingest", *folder_ / "job"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }

  static void Expect(const std::string& name, const Strings& command) {
    Strings arguments = {"--store", *folder_ / "s.duckdb"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome outcome = Telltale(arguments);
    std::string text = "$ telltale";
    for (const std::string& word : command) text += " " + word;
    text += "\n" + outcome.out + "--- standard error, exit code " + std::to_string(outcome.code) +
            "\n" + outcome.err;
    text = Replaced(text, folder_->path(), "FOLDER");
    const std::string path = std::string(TELLTALE_SOURCE_DIR) + "/tests/golden/" + name + ".txt";
    const char* update = std::getenv("TELLTALE_UPDATE_GOLDEN");
    if (update != nullptr && *update != '\0') WriteFile(path, text);
    EXPECT_EQ(text, ReadFile(path)) << "TELLTALE_UPDATE_GOLDEN=1 writes " << path << " anew";
  }

  static inline Folder* folder_ = nullptr;
};

// Markdown has no padding, which would depend on the folder's name.
TEST_F(CliGoldenTest, Sources) { Expect("sources", {"--format", "markdown", "sources"}); }
TEST_F(CliGoldenTest, Losses) { Expect("losses", {"losses"}); }
TEST_F(CliGoldenTest, LossesInDetail) {
  Expect("losses_detail", {"--format", "csv", "losses", "--detail"});
}
TEST_F(CliGoldenTest, CollectivesSummary) {
  Expect("collectives_summary", {"collectives", "summary"});
}
TEST_F(CliGoldenTest, CollectivesCoverage) {
  Expect("collectives_coverage", {"collectives", "coverage"});
}

}  // namespace
}  // namespace telltale::tests
