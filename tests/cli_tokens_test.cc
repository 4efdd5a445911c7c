// `telltale tokens`, as a person uses it.

#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/program.h"

namespace telltale::tests {
namespace {

class CliTokens : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    const std::string serving = *folder_ / "serving";
    ASSERT_EQ(Telltale({"--quiet", "simulate", "inference", "--out", serving, "--layers", "4",
                        "--trace-detail", "operators", "--requests", "20", "--hosts", "1",
                        "--gpus-per-host", "1", "--seed", "3", "--no-spans"})
                  .code,
              0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(serving)) {
      const std::string path = entry.path();
      if (!path.ends_with(".pt.trace.json")) continue;
      ASSERT_EQ(Run({"--quiet", "ingest", path}).code, 0);
    }
    ASSERT_EQ(Run({"--quiet", "tokens", "train", "--out", Vocabulary()}).code, 0);
    ASSERT_EQ(Run({"--quiet", "tokens", "encode", "--vocab", Vocabulary(), "--steps", "0-9,12",
                   "--out", StepsFile()})
                  .code,
              0);
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--store", *folder_ / "s.duckdb"});
    return Telltale(arguments);
  }
  static Outcome Decode(const std::string& file, const std::string& vocabulary) {
    return Telltale({"--json", "tokens", "decode", file, "--vocab", vocabulary});
  }
  static std::string Vocabulary() { return *folder_ / "vocab.json"; }
  static std::string StepsFile() { return *folder_ / "steps.tokens"; }
  static std::string Written(const std::string& name, const std::string& bytes) {
    WriteFile(*folder_ / name, bytes);
    return *folder_ / name;
  }
  // It failed so, and told of it on standard error only.
  static void ExpectFailure(const Outcome& outcome, int code, const std::string& what) {
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err << "\nwithout: " << what;
  }
  static inline Folder* folder_ = nullptr;
};

TEST_F(CliTokens, TrainingIsDeterministic) {
  const std::string text = ReadFile(Vocabulary());
  const Json json(text);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/vocabulary/1");
  EXPECT_EQ(json.Text("/digest").size(), 32U);
  EXPECT_GT(json.Number("/learned_from/steps"), 100U);
  EXPECT_LE(json.Size("/tokens"), 256U);
  EXPECT_GT(json.Size("/labels"), 10U);
  const Outcome again = Run({"tokens", "train", "--out", "-"});
  EXPECT_EQ(again.out, text);
  EXPECT_NE(again.err.find("symbols"), std::string::npos) << again.err;
  EXPECT_EQ(Run({"--quiet", "tokens", "train", "--out", "-"}).err, "");
  const Outcome smaller = Run({"--quiet", "tokens", "train", "--size", "40", "--out", "-"});
  EXPECT_LE(Json(smaller.out).Size("/tokens"), 40U);
  const Outcome fewer = Run({"--quiet", "tokens", "train", "--steps", "1-3,7", "--out", "-"});
  EXPECT_EQ(Json(fewer.out).Number("/learned_from/steps"), 4U);
}

TEST_F(CliTokens, StatsAreJsonOfTheDocumentedShape) {
  const Outcome outcome = Run({"--json", "tokens", "stats", "--vocab", Vocabulary()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json json(outcome.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/tokens.stats/1");
  const auto figure = [&](const char* name) {
    double value = -1;
    EXPECT_EQ(json.root()[name].get(value), simdjson::SUCCESS) << name;
    return value;
  };
  // 4 layers of some 66 events, almost all of them alike.
  EXPECT_GT(figure("nodes_per_step"), 4 * 66);
  EXPECT_LT(figure("symbols_per_step"), 10);
  EXPECT_GT(figure("ratio"), 20);
  EXPECT_GT(figure("ratio_with_dictionary"), 10);
  EXPECT_LT(figure("ratio_with_dictionary"), figure("ratio"));
  EXPECT_LT(figure("novel_share"), 0.05);
  EXPECT_GT(figure("structure_bytes"), 0);
  EXPECT_GT(figure("duration_bytes"), 0);

  const Outcome csv = Run({"--format", "csv", "tokens", "stats", "--steps", "4"});
  EXPECT_EQ(csv.out.rfind("steps,events,vocabulary_size,", 0), 0U) << csv.out;
  EXPECT_NE(csv.out.find("\n1,"), std::string::npos) << csv.out;
  EXPECT_NE(csv.err.find("learned from these steps"), std::string::npos) << csv.err;
  EXPECT_NE(Run({"--quiet", "tokens", "stats"}).out.find("ratio"), std::string::npos);
}

TEST_F(CliTokens, VerifySaysThatNothingIsLost) {
  for (const bool has_vocabulary : {true, false}) {
    std::vector<std::string> arguments = {"--quiet", "--json", "tokens", "verify"};
    if (has_vocabulary) arguments.insert(arguments.end(), {"--vocab", Vocabulary()});
    const Outcome outcome = Run(arguments);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json(outcome.out);
    ASSERT_TRUE(json.valid());
    EXPECT_EQ(json.Text("/schema"), "telltale/tokens.verify/1");
    EXPECT_TRUE(json.root()["lossless"].get_bool().value());
    EXPECT_GT(json.Number("/steps"), 100U);
    EXPECT_GT(json.Number("/events"), 30'000U);
  }
  const Outcome some =
      Run({"--quiet", "--json", "tokens", "verify", "--size", "26", "--steps", "3-5"});
  EXPECT_EQ(Json(some.out).Number("/steps"), 3U);
  EXPECT_NE(Run({"--quiet", "tokens", "verify"}).out.find("lossless"), std::string::npos);
}

TEST_F(CliTokens, EncodeListsTokens) {
  const Outcome outcome =
      Run({"--json", "tokens", "encode", "--vocab", Vocabulary(), "--steps", "2-3", "--top", "0"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/tokens.encode/1");
  for (const char* key : {"step", "symbol", "token", "kind", "name", "times", "parent", "depth",
                          "events", "start_ns", "duration_ns", "expected_ns", "gpu_ns", "event"}) {
    EXPECT_TRUE(json.Has(std::string("/tokens/0/") + key)) << key;
  }
  EXPECT_EQ(json.Number("/tokens/0/step"), 2U);
  uint64_t events = 0;
  for (size_t i = 0; i < json.Size("/tokens"); ++i) {
    events += json.Number("/tokens/" + std::to_string(i) + "/events");
  }
  const Outcome verified = Run({"--quiet", "--json", "tokens", "verify", "--steps", "2-3"});
  EXPECT_EQ(events, Json(verified.out).Number("/events"));
  const Outcome one = Run({"--json", "tokens", "encode", "--vocab", Vocabulary(), "--top", "1"});
  EXPECT_EQ(Json(one.out).Size("/tokens"), 1U);
  EXPECT_NE(one.err.find("more rows"), std::string::npos) << one.err;
}

TEST_F(CliTokens, DecodeGivesTheChainBack) {
  const Outcome decoded = Telltale(
      {"--json", "tokens", "decode", StepsFile(), "--vocab", Vocabulary(), "--steps", "12"});
  ASSERT_EQ(decoded.code, 0) << decoded.err;
  const Json json(decoded.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/tokens.decode/1");
  const Outcome chain = Run({"--json", "chain", "--step", "12"});
  const Json expected(chain.out);
  ASSERT_EQ(json.Size("/nodes"), expected.Size("/nodes"));
  for (size_t i = 0; i < json.Size("/nodes"); ++i) {
    const std::string node = "/nodes/" + std::to_string(i) + "/";
    EXPECT_EQ(json.Text(node + "name"), expected.Text(node + "name"));
    EXPECT_EQ(json.Number(node + "id"), expected.Number(node + "id"));
    EXPECT_EQ(json.Number(node + "start_ns"), expected.Number(node + "start_ns"));
    EXPECT_EQ(json.Number(node + "duration_ns"), expected.Number(node + "duration_ns"));
  }
  const Outcome csv =
      Telltale({"--format", "csv", "tokens", "decode", StepsFile(), "--vocab", Vocabulary()});
  EXPECT_EQ(csv.out.rfind("step,id,parent,depth,kind,name,track,", 0), 0U);
  EXPECT_NE(csv.out.find("\n12,"), std::string::npos);
  EXPECT_EQ(csv.out.find("\n11,"), std::string::npos);
}

TEST_F(CliTokens, FilesGoThroughPipes) {
  const Outcome encoded = Run(
      {"--quiet", "tokens", "encode", "--vocab", Vocabulary(), "--steps", "0-9,12", "--out", "-"});
  EXPECT_EQ(encoded.err, "");
  EXPECT_EQ(encoded.out, ReadFile(StepsFile()));
  Call call;
  call.arguments = {"--json", "tokens", "decode", "-", "--vocab", Vocabulary()};
  call.input = encoded.out;
  EXPECT_EQ(Telltale(call).out, Decode(StepsFile(), Vocabulary()).out);
}

TEST_F(CliTokens, StoresWithoutStepsSaySo) {
  const std::string store = *folder_ / "other.duckdb";
  ExpectFailure(Telltale({"--store", store, "tokens", "stats"}), 1, "no store");
  const auto ingest = [&](const std::string& path) {
    return Telltale({"--quiet", "--store", store, "ingest", path}).code;
  };
  ASSERT_EQ(ingest(Written("app.log", "2026-01-05 10:00:00,000 INFO started\n")), 0);
  ExpectFailure(Telltale({"--store", store, "tokens", "stats"}), 1, "no profile");
  ASSERT_EQ(ingest(Written("stepless.pt.trace.json",
                           R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm",)"
                           R"("pid":1,"tid":1,"ts":1,"dur":5}]})")),
            0);
  for (const std::string command : {"stats", "verify", "train --out -"}) {
    std::vector<std::string> arguments = {"--store", store, "tokens"};
    for (size_t at = 0; at <= command.size();) {
      const size_t end = std::min(command.find(' ', at), command.size());
      arguments.push_back(command.substr(at, end - at));
      at = end + 1;
    }
    ExpectFailure(Telltale(arguments), 1, "marks no steps");
  }
}

TEST_F(CliTokens, StepsMustBeThere) {
  ExpectFailure(Run({"--quiet", "tokens", "stats", "--steps", "0-100000"}), 1, "there is no step");
  ExpectFailure(Run({"--quiet", "tokens", "stats", "--run", "none"}), 1, "telltale sources");
  ExpectFailure(Run({"--quiet", "tokens", "stats", "--rank", "77"}), 1, "telltale sources");
  ExpectFailure(
      Telltale({"tokens", "decode", StepsFile(), "--vocab", Vocabulary(), "--steps", "11"}), 1,
      "it holds no step 11");
  for (const std::string garbage :
       {"9-3", ",", "1,", "1,,2", "-1", "a", "1-x", "1 2", "0x1", "99999999999999999999",
        "0-99999999999", "0-999999,0-9", "18446744073709551615-18446744073709551615,0-1000000"}) {
    ExpectFailure(Run({"tokens", "stats", "--steps=" + garbage}), 2, "--steps");
    ExpectFailure(
        Telltale({"tokens", "decode", StepsFile(), "--vocab", Vocabulary(), "--steps=" + garbage}),
        2, "--steps");
  }
}

TEST_F(CliTokens, TheLargestNumberIsAStepThatIsNotThere) {
  const std::string largest = "18446744073709551615";
  ExpectFailure(Run({"--quiet", "tokens", "stats", "--steps", largest}), 1, "there is no step");
  ExpectFailure(
      Telltale({"tokens", "decode", StepsFile(), "--vocab", Vocabulary(), "--steps", largest}), 1,
      "it holds no step");
}

TEST_F(CliTokens, WhatIsReadIsNotOverwritten) {
  const std::string vocabulary = Written("same.json", ReadFile(Vocabulary()));
  ExpectFailure(Run({"tokens", "encode", "--vocab", vocabulary, "--out", vocabulary}), 1,
                "overwritten");
  EXPECT_EQ(ReadFile(vocabulary), ReadFile(Vocabulary()));
  ExpectFailure(Run({"tokens", "train", "--out", *folder_ / "s.duckdb"}), 1, "overwritten");
}

TEST_F(CliTokens, LinksAndPipesStayWhatTheyAre) {
  namespace fs = std::filesystem;
  const std::string target = Written("target.json", "old");
  const std::string link = *folder_ / "link.json";
  fs::create_symlink("target.json", link);
  ExpectFailure(Run({"--quiet", "tokens", "train", "--out", link}), 1, "--force");
  ASSERT_EQ(Run({"--quiet", "tokens", "train", "--force", "--out", link}).code, 0);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(ReadFile(target).substr(0, 10), ReadFile(Vocabulary()).substr(0, 10));
  const std::string pipe = *folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const int reader = open(pipe.c_str(), O_RDWR | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  // Small enough for the pipe's buffer.
  EXPECT_EQ(Run({"--quiet", "tokens", "train", "--size", "26", "--out", pipe}).code, 0);
  EXPECT_TRUE(fs::is_fifo(pipe));
  char byte = 0;
  EXPECT_EQ(read(reader, &byte, 1), 1);
  EXPECT_EQ(byte, '{');
  close(reader);
}

TEST_F(CliTokens, TextOfFilesDoesNotReachTheTerminal) {
  const std::string file = Written("evil.json", "{\"schema\":\"telltale/vocabulary/\\u001b[31m\"}");
  const Outcome outcome = Run({"tokens", "stats", "--vocab", file});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << outcome.err;
}

TEST_F(CliTokens, OtherFilesAreRefused) {
  const std::string missing = *folder_ / "missing";
  ExpectFailure(Decode(missing, Vocabulary()), 1, missing);
  ExpectFailure(Decode(StepsFile(), missing), 1, missing);
  ExpectFailure(Decode(*folder_ / ".", Vocabulary()), 1, folder_->path());
  ExpectFailure(Decode(Vocabulary(), Vocabulary()), 1, "tokens encode --out");
  ExpectFailure(Decode(StepsFile(), StepsFile()), 1, "tokens train");
  ExpectFailure(Run({"tokens", "stats", "--vocab", missing}), 1, missing);
  const std::string chain = Written("chain.json", R"({"schema":"telltale/chain/1","nodes":[]})");
  ExpectFailure(Run({"tokens", "verify", "--vocab", chain}), 1, "tokens train");
  const std::string text = ReadFile(Vocabulary());
  const std::string newer =
      Written("newer.json", Replaced(text, "telltale/vocabulary/1", "telltale/vocabulary/2"));
  ExpectFailure(Decode(StepsFile(), newer), 1, "telltale/vocabulary/2");
  ExpectFailure(Run({"tokens", "train", "--out", "/nowhere/vocab.json"}), 1, "/nowhere/vocab.json");
}

TEST_F(CliTokens, ChangedFilesAreRefused) {
  const std::string text = ReadFile(Vocabulary());
  const std::string tampered =
      Written("tampered.json", Replaced(text, R"("duration_ns":)", R"("duration_ns":1)"));
  ExpectFailure(Decode(StepsFile(), tampered), 1, "changed");
  ExpectFailure(Run({"tokens", "stats", "--vocab", tampered}), 1, tampered);
  const std::string other = *folder_ / "other.json";
  ASSERT_EQ(Run({"--quiet", "tokens", "train", "--size", "60", "--out", other}).code, 0);
  ExpectFailure(Decode(StepsFile(), other), 1, "another vocabulary");
  const std::string file = ReadFile(StepsFile());
  for (const size_t size : {size_t{0}, size_t{3}, file.size() / 2, file.size() - 1}) {
    ExpectFailure(Decode(Written("cut.tokens", file.substr(0, size)), Vocabulary()), 1,
                  "cut.tokens");
  }
  for (size_t i = 0; i < 20; ++i) {
    std::string damaged = file;
    char& byte = damaged[file.size() * i / 20];
    byte = static_cast<char>(byte ^ 4);
    ExpectFailure(Decode(Written("damaged.tokens", damaged), Vocabulary()), 1, "damaged.tokens");
  }
}

TEST_F(CliTokens, UsageIsChecked) {
  for (const char* size : {"1", "25", "65537", "-3", "many"}) {
    ExpectFailure(Run({"tokens", "train", "--out", "-", "--size", size}), 2, "--size");
  }
  ExpectFailure(Run({"tokens"}), 2, "subcommand");
  ExpectFailure(Run({"tokens", "learn"}), 2, "learn");
  ExpectFailure(Run({"tokens", "train"}), 2, "--out");
  ExpectFailure(Run({"tokens", "encode"}), 2, "--vocab");
  ExpectFailure(Run({"tokens", "decode", StepsFile()}), 2, "--vocab");
  ExpectFailure(Run({"tokens", "decode", "--vocab", Vocabulary()}), 2, "FILE");
}

}  // namespace
}  // namespace telltale::tests
