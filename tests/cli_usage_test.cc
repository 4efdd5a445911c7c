// The command line as such: help, exit codes, global options, formats.

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/program.h"

namespace telltale::tests {
namespace {

using Strings = std::vector<std::string>;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(CliHelp, EveryCommandHasHelpWithExamples) {
  for (const Strings& command : {Strings{},
                                 {"ingest"},
                                 {"sources"},
                                 {"losses"},
                                 {"collectives"},
                                 {"sql"},
                                 {"export", "parquet"},
                                 {"simulate", "training"},
                                 {"doctor"}}) {
    for (const std::string flag : {"--help", "-h"}) {
      Strings arguments = command;
      arguments.push_back(flag);
      const Outcome outcome = Telltale(arguments);
      EXPECT_EQ(outcome.code, 0) << testing::PrintToString(arguments);
      EXPECT_TRUE(Contains(outcome.out, "Examples:")) << testing::PrintToString(arguments);
      EXPECT_TRUE(Contains(outcome.out, "telltale ")) << testing::PrintToString(arguments);
      EXPECT_EQ(outcome.err, "");
    }
  }
}

TEST(CliHelp, NamesEveryCommand) {
  const Outcome outcome = Telltale({"--help"});
  for (const std::string command :
       {"ingest", "sources", "losses", "collectives", "sql", "export", "simulate", "doctor"}) {
    EXPECT_TRUE(Contains(outcome.out, "\n  " + command)) << command;
  }
  EXPECT_TRUE(Contains(outcome.out, "Exit: 0 done"));
}

TEST(CliHelp, TellsItsVersion) {
  const Outcome outcome = Telltale({"--version"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("telltale ")) << outcome.out;
}

TEST(CliUsage, WrongUsageIsExitCode2AndSaysWhy) {
  for (const Strings& arguments : {Strings{},
                                   {"nosuch"},
                                   {"--nosuch"},
                                   {"sources", "--nosuch"},
                                   {"sources", "extra"},
                                   {"ingest"},
                                   {"sql"},
                                   {"export"},
                                   {"export", "parquet"},
                                   {"simulate"},
                                   {"simulate", "training"},
                                   {"--format", "xml", "sources"},
                                   {"--json", "--format", "csv", "sources"},
                                   {"losses", "--class", "nosuch"},
                                   {"collectives", "nosuch"},
                                   {"ingest", "--threads", "x", "."},
                                   {"simulate", "training", "--out", "x", "--fault", "nosuch"},
                                   {"doctor", "--fail-on", "nosuch"},
                                   {"doctor", "--nccl-version", "x.y"}}) {
    const Outcome outcome = Telltale(arguments);
    EXPECT_EQ(outcome.code, 2) << testing::PrintToString(arguments) << outcome.err;
    EXPECT_EQ(outcome.out, "") << testing::PrintToString(arguments);
    EXPECT_NE(outcome.err, "") << testing::PrintToString(arguments);
  }
  EXPECT_FALSE(std::filesystem::exists("x"));
}

TEST(CliUsage, AnUnknownQueryPointsToTheList) {
  const Outcome outcome = Telltale({"collectives", "nosuch\x1b[31m"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_EQ(outcome.err,
            "telltale: there is no query nosuch\\x1b[31m; `telltale collectives` lists them\n");
}

TEST(CliUsage, AMissingStoreIsExitCode1AndMakesNone) {
  const Folder folder;
  const std::string store = folder / "none.duckdb";
  for (const Strings& command : {Strings{"sources"},
                                 {"losses"},
                                 {"collectives", "summary"},
                                 {"sql", "SELECT 1"},
                                 {"export", "parquet", "--out", folder / "out"}}) {
    Strings arguments = {"--store", store};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome outcome = Telltale(arguments);
    EXPECT_EQ(outcome.code, 1) << command[0];
    EXPECT_EQ(outcome.out, "") << command[0];
    EXPECT_TRUE(outcome.err.starts_with("telltale: there is no store " + store)) << outcome.err;
  }
  EXPECT_TRUE(FilesOf(folder.path()).empty());
}

TEST(CliUsage, TheListOfQueriesNeedsNoStore) {
  const Outcome outcome = Telltale({"--store", "/nonexistent", "collectives"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(Contains(outcome.out, "summary"));
  const Json json(Telltale({"collectives", "--json"}).out);
  EXPECT_EQ(json.Text("/schema"), "telltale/collectives/1");
  EXPECT_GE(json.Size("/queries"), 2U);
  EXPECT_NE(json.Text("/queries/0/question"), "");
}

TEST(CliUsage, AGateThatDoesNotHoldIsExitCode3) {
  Call call;
  call.arguments = {"doctor", "--json", "--fail-on", "problem"};
  call.environment = {{"NCCL_INSPECTOR_ENABLE", "0"}};
  const Outcome outcome = Telltale(call);
  EXPECT_EQ(outcome.code, 3);
  const Json json(outcome.out);
  EXPECT_EQ(json.Text("/schema"), "telltale/doctor/1");
  EXPECT_GT(json.Number("/problems"), 0U);
  call.arguments = {"doctor"};
  EXPECT_EQ(Telltale(call).code, 0) << "no gate was asked for";
}

// What a terminal would get.
std::string OnATerminal(const Strings& words, bool no_color) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) return "?";
  const std::string name = ptsname(terminal);
  const pid_t child = fork();
  if (child == 0) {
    setsid();
    const int device = open(name.c_str(), O_RDWR);
    for (const int to : {0, 1, 2}) dup2(device, to);
    unsetenv("NO_COLOR");
    setenv("TERM", "xterm", 1);
    if (no_color) setenv("NO_COLOR", "1", 1);
    std::vector<char*> arguments = {const_cast<char*>(TELLTALE_PROGRAM)};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(TELLTALE_PROGRAM, arguments.data());
    _exit(127);
  }
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t got = read(terminal, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<size_t>(got));
  }
  waitpid(child, nullptr, 0);
  close(terminal);
  return text;
}

TEST(CliUsage, ColorsOnlyOnATerminalAndNotWithNoColor) {
  const std::string colored = OnATerminal({"doctor"}, false);
  if (colored == "?") GTEST_SKIP() << "no pseudo terminals here";
  EXPECT_TRUE(Contains(colored, "\x1b["));
  EXPECT_FALSE(Contains(OnATerminal({"doctor"}, true), "\x1b["));
  EXPECT_FALSE(Contains(Telltale({"doctor"}).out, "\x1b["));
}

TEST(CliUsage, FailsWhenItsAnswerCannotBeWritten) {
  Call call;
  call.arguments = {"collectives"};
  call.out_path = "/dev/full";
  const Outcome small = Telltale(call);
  EXPECT_EQ(small.code, 1);
  EXPECT_TRUE(Contains(small.err, "standard output could not be written")) << small.err;
}

// --- With a store ---

class CliTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    SimulateSmallJob(*folder_ / "job");
    store_ = *folder_ / "s.duckdb";
    const Outcome outcome = Telltale({"--store", store_, "ingest", *folder_ / "job"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static inline Folder* folder_ = nullptr;
  static inline std::string store_;
};

TEST_F(CliTest, GlobalOptionsStandBeforeOrAfterTheCommand) {
  const std::string expected = Telltale({"--store", store_, "--json", "sources"}).out;
  EXPECT_EQ(Json(expected).Text("/schema"), "telltale/sources/1");
  for (const Strings& arguments : {Strings{"sources", "--json", "--store", store_},
                                   {"--json", "sources", "--store", store_},
                                   {"--store=" + store_, "sources", "--format", "json"},
                                   {"sources", "--format=JSON", "--store", store_}}) {
    EXPECT_EQ(Telltale(arguments).out, expected) << testing::PrintToString(arguments);
  }
  const Outcome nested = Telltale(
      {"export", "parquet", "--out", *folder_ / "nested", "source", "--json", "--store", store_});
  EXPECT_EQ(nested.code, 0) << nested.err;
  EXPECT_TRUE(Json(nested.out).valid());
}

TEST_F(CliTest, TheEnvironmentNamesTheStore) {
  Call call;
  call.arguments = {"--json", "sources"};
  call.environment = {{"TELLTALE_STORE", store_}};
  EXPECT_EQ(Json(Telltale(call).out).Size("/sources"), 16U);
  call.arguments = {"--json", "--store", "/nonexistent", "sources"};
  EXPECT_EQ(Telltale(call).code, 1) << "--store is stronger";
}

TEST_F(CliTest, QuietLeavesOnlyTheAnswer) {
  for (const Strings& command :
       {Strings{"collectives", "summary"}, {"losses"}, {"collectives", "coverage"}}) {
    Strings arguments = {"--store", store_};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome loud = Telltale(arguments);
    EXPECT_TRUE(Contains(loud.err, "coverage")) << command[0];
    arguments.emplace_back("--quiet");
    const Outcome quiet = Telltale(arguments);
    EXPECT_EQ(quiet.err, "") << command[0];
    EXPECT_EQ(quiet.out, loud.out) << command[0];
    arguments.back() = "-q";
    EXPECT_EQ(Telltale(arguments).err, "");
  }
  EXPECT_NE(Telltale({"-q", "--store", "/nonexistent", "sources"}).err, "") << "errors remain";
}

TEST_F(CliTest, EveryJsonAnswerIsOneObjectWithItsSchema) {
  for (const auto& [schema, command] : std::vector<std::pair<std::string, Strings>>{
           {"telltale/sources/1", {"sources"}},
           {"telltale/losses/1", {"losses"}},
           {"telltale/losses/1", {"losses", "--class", "operation", "--run", "job"}},
           {"telltale/collectives/1", {"collectives"}},
           {"telltale/collectives.summary/1", {"collectives", "summary"}},
           {"telltale/collectives.coverage/1", {"collectives", "coverage"}},
           {"telltale/sql/1", {"sql", "FROM operations"}},
           {"telltale/ingest/1", {"ingest", *folder_ / "job"}},
           {"telltale/export/1", {"export", "parquet", "--force", "--out", *folder_ / "json"}},
           {"telltale/doctor/1", {"doctor"}},
           {"telltale/doctor/1", {"doctor", *folder_ / "job"}},
           {"telltale/simulate/1",
            {"simulate", "training", "--ranks", "2", "--steps", "1", "--force", "--out",
             *folder_ / "tiny"}}}) {
    Strings arguments = {"--store", store_, "--json"};
    arguments.insert(arguments.end(), command.begin(), command.end());
    const Outcome outcome = Telltale(arguments);
    EXPECT_EQ(outcome.code, 0) << command[0] << outcome.err;
    const Json json(outcome.out);
    ASSERT_TRUE(json.valid()) << command[0];
    EXPECT_EQ(json.Text("/schema"), schema);
    EXPECT_TRUE(outcome.out.ends_with("}\n"));
  }
}

TEST_F(CliTest, LossesHaveTheirShape) {
  const Json json(Telltale({"--store", store_, "--json", "losses"}).out);
  const size_t losses = json.Size("/losses");
  ASSERT_GT(losses, 0U);
  for (size_t i = 0; i < losses; ++i) {
    const std::string at = "/losses/" + std::to_string(i);
    for (const std::string key : {"/source", "/communicator", "/first_position"}) {
      EXPECT_TRUE(json.Has(at + key)) << at + key;
    }
    EXPECT_NE(json.Text(at + "/kind"), "");
    EXPECT_NE(json.Text(at + "/effect"), "") << json.Text(at + "/kind");
    EXPECT_GT(json.Number(at + "/count"), 0U);
  }
}

TEST_F(CliTest, ARunThatIsNotThereIsNoAnswer) {
  const Outcome losses =
      Telltale({"--store", store_, "--format", "csv", "losses", "--run", "nosuch"});
  EXPECT_EQ(losses.code, 0);
  EXPECT_EQ(std::count(losses.out.begin(), losses.out.end(), '\n'), 1) << losses.out;
  for (const Strings& words : {Strings{"summary", "--run", "nosuch"}, Strings{"compare", "a", "b"},
                               Strings{"findings", "--run", "nosuch"}}) {
    Strings arguments = {"--store", store_, "collectives"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    const Outcome outcome = Telltale(arguments);
    EXPECT_EQ(outcome.code, 1);
    EXPECT_NE(outcome.err.find("there is no run"), std::string::npos) << outcome.err;
  }
}

TEST_F(CliTest, FindingsHaveTheirOwnHelp) {
  const Outcome outcome = Telltale({"collectives", "findings", "--help"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("not enough data"), std::string::npos) << outcome.out;
}

// A filter that an answer would not heed is refused, not passed over.
TEST_F(CliTest, FiltersThatWouldNotBeHeededAreRefused) {
  for (const Strings& words :
       {Strings{"findings", "--rank", "3"}, Strings{"findings", "5"},
        Strings{"coverage", "--comm", "WORLD"}, Strings{"bandwidth", "--fail-on", "finding"}}) {
    Strings arguments = {"--store", store_, "collectives"};
    arguments.insert(arguments.end(), words.begin(), words.end());
    EXPECT_EQ(Telltale(arguments).code, 2) << words[0];
  }
}

// The store would else be opened as standard output.
TEST_F(CliTest, ClosedStreamsAreNotTheStore) {
  const std::string program = std::string("\"" TELLTALE_PROGRAM "\" --store \"") + store_ + "\" ";
  for (const char* closed : {">&-", "<&- >&-", "<&- >&- 2>&-"}) {
    EXPECT_EQ(std::system((program + "sql \"SELECT 1\" 2>/dev/null " + closed).c_str()), 0)
        << closed;
    EXPECT_EQ(Telltale({"--store", store_, "-q", "sources"}).code, 0) << closed;
    (void)std::system((program + "-q ingest \"" + store_ + "\" 2>/dev/null " + closed).c_str());
    EXPECT_EQ(Telltale({"--store", store_, "-q", "sources"}).code, 0) << closed;
  }
}

TEST_F(CliTest, WritesCsvAndMarkdown) {
  const std::string sql =
      "SELECT 'a,b' AS \"x,y\", 'say \"hi\"' AS q, 'two' || chr(10) || 'lines' AS n, NULL AS "
      "nothing, "
      "'p|q' AS pipe, 1.5 AS d";
  const Outcome csv = Telltale({"--store", store_, "--format", "csv", "sql", sql});
  EXPECT_EQ(csv.out,
            "\"x,y\",q,n,nothing,pipe,d\n"
            "\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",,p|q,1.5\n");
  const Outcome markdown = Telltale({"--store", store_, "--format", "markdown", "sql", sql});
  EXPECT_EQ(markdown.out,
            "| x,y | q | n | nothing | pipe | d |\n|---|---|---|---|---|---|\n"
            "| a,b | say \"hi\" | two\\x0alines |  | p\\|q | 1.5 |\n");
  const Outcome table = Telltale({"--store", store_, "sql", "SELECT 'x' || chr(27) AS a, 22 AS b"});
  EXPECT_EQ(table.out, "a       b\nx\\x1b  22\n");
}

}  // namespace
}  // namespace telltale::tests
