// Commands on profiles, as a person uses them.

#include "tests/program.h"

namespace telltale::tests {
namespace {

class CliTraces : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    for (const char* name : {"old", "new"}) {
      const std::string path = *folder_ / (std::string(name) + ".json");
      ASSERT_EQ(Telltale({"simulate", "profile", "--out", path, "--layers", "2", "--steps",
                          std::string(name) == "old" ? "2" : "3"})
                    .code,
                0);
      ASSERT_EQ(Run({"ingest", "--run", name, path}).code, 0);
    }
    const std::string report = *folder_ / "report.sqlite";
    ASSERT_EQ(Telltale({"simulate", "profile", "--kind", "nsight", "--out", report, "--layers", "2",
                        "--steps", "2"})
                  .code,
              0);
    ASSERT_EQ(Run({"ingest", "--run", "nsys", report}).code, 0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--store", *folder_ / "s.duckdb"});
    return Telltale(arguments);
  }
  static inline Folder* folder_ = nullptr;
};

TEST_F(CliTraces, BothFormatsHoldTheSameChain) {
  // The generator writes the same steps in both, so operators and kernels have the same times.
  for (const char* kind : {"operator", "kernel"}) {
    const auto rows = [&](const std::string& run) {
      return Run({"--format", "csv", "sql",
                  "SELECT name, count(*), sum(duration_ns)::BIGINT, count(parent) FROM events "
                  "WHERE run = '" +
                      run + "' AND kind = '" + kind + "' GROUP BY name ORDER BY ALL"})
          .out;
    };
    EXPECT_EQ(rows("old"), rows("nsys")) << kind;
    EXPECT_NE(rows("old").find('\n'), rows("old").rfind('\n')) << kind;
  }
}

TEST_F(CliTraces, ChainIsJsonOfTheDocumentedShape) {
  const Outcome outcome = Run({"--json", "chain", "--run", "old", "--step", "1"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/chain/1");
  EXPECT_EQ(json.Text("/nodes/0/name"), "ProfilerStep#1");
  for (const char* key :
       {"id", "parent", "kind", "name", "track", "start_ns", "duration_ns", "correlation"}) {
    EXPECT_TRUE(json.Has(std::string("/nodes/0/") + key)) << key;
  }
  EXPECT_TRUE(json.Has("/unattached"));
  EXPECT_GT(json.Size("/nodes"), 50U);
}

TEST_F(CliTraces, ChainIsATreeOnATerminal) {
  const Outcome steps = Run({"chain", "--run", "old"});
  EXPECT_NE(steps.out.find("ProfilerStep#1"), std::string::npos);
  const Outcome tree =
      Run({"chain", "--run", "old", "--step", "0", "--depth", "2", "--kinds", "range,operator"});
  EXPECT_EQ(tree.out.rfind("ProfilerStep#0", 0), 0U) << tree.out;
  EXPECT_NE(tree.out.find("\n  aten::layer_norm"), std::string::npos) << tree.out;
  EXPECT_NE(tree.err.find("not shown"), std::string::npos);
}

TEST_F(CliTraces, TablesAnswer) {
  for (const char* command : {"kernels", "ops", "gaps", "overlap"}) {
    const Outcome outcome = Run({"--json", command, "--run", "old"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json(outcome.out);
    ASSERT_TRUE(json.valid()) << outcome.out;
    EXPECT_GT(json.Size(std::string("/") + command), 0U) << command;
  }
  // Times of two steps against three of the same kind: by the step they are alike.
  const Outcome compared = Run({"--json", "compare", "old", "new", "--top", "3"});
  const Json json(compared.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Size("/compare"), 3U);
  EXPECT_TRUE(json.Has("/compare/0/time_a_ns_per_step"));
}

TEST_F(CliTraces, PerfettoGetsAFile) {
  const std::string path = *folder_ / "perfetto.json";
  const Outcome outcome = Run({"export", "perfetto", "--run", "old", "--out", path});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json(ReadFile(path));
  ASSERT_TRUE(json.valid());
  EXPECT_GT(json.Size("/traceEvents"), 100U);
  const Outcome piped = Run({"--quiet", "export", "perfetto", "--run", "old", "--out", "-"});
  EXPECT_EQ(piped.out, ReadFile(path));
}

TEST_F(CliTraces, ErrorsSayWhatToDo) {
  EXPECT_EQ(Run({"chain", "--run", "old", "--step", "9"}).code, 1);
  EXPECT_NE(Run({"chain", "--run", "old", "--step", "9"}).err.find("steps go from 0 to 1"),
            std::string::npos);
  EXPECT_EQ(Run({"chain", "--step", "0", "--kinds", "kernle"}).code, 2);
  EXPECT_NE(Run({"ops", "--run", "none"}).err.find("telltale sources"), std::string::npos);
  EXPECT_EQ(Run({"export", "perfetto", "--run", "old", "--out", "/nowhere/x.json"}).code, 1);
}

}  // namespace
}  // namespace telltale::tests
