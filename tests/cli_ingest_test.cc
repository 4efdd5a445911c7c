// `telltale ingest` as a person uses it.

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "store/store.h"
#include "tests/program.h"

namespace telltale::tests {
namespace {

namespace fs = std::filesystem;
using Strings = std::vector<std::string>;

bool Contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class CliIngestTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    job_ = new Folder;
    SimulateSmallJob(*job_ / "job");
    files_ = FilesOf(*job_ / "job");
    ASSERT_EQ(files_.size(), 16U);
  }
  static void TearDownTestSuite() {
    delete job_;
    job_ = nullptr;
  }

  std::string StorePath() const { return folder_ / "s.duckdb"; }
  Outcome Ingest(Strings arguments, const std::string& input = {}) const {
    Call call;
    call.arguments = {"--store", StorePath(), "--json", "ingest"};
    call.arguments.insert(call.arguments.end(), arguments.begin(), arguments.end());
    call.input = input;
    return Telltale(call);
  }
  // The answer to SQL as CSV, without its head.
  std::string Sql(const std::string& sql) const {
    const Outcome outcome = Telltale({"--store", StorePath(), "--format", "csv", "sql", sql});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return outcome.out.substr(outcome.out.find('\n') + 1);
  }
  // records = rows + sum of the losses, for every source.
  static void ExpectAccounted(const Json& json) {
    EXPECT_EQ(json.Text("/schema"), "telltale/ingest/1");
    for (size_t i = 0; i < json.Size("/sources"); ++i) {
      const std::string at = "/sources/" + std::to_string(i);
      uint64_t lost = 0;
      for (size_t k = 0; k < json.Size(at + "/losses"); ++k) {
        const std::string loss = at + "/losses/" + std::to_string(k);
        EXPECT_NE(json.Text(loss + "/kind"), "");
        lost += json.Number(loss + "/count");
      }
      EXPECT_EQ(json.Number(at + "/records"), json.Number(at + "/rows") + lost)
          << json.Text(at + "/path");
      for (const std::string key : {"/path", "/format", "/format_version"}) {
        EXPECT_TRUE(json.Has(at + key)) << at + key;
      }
    }
  }

  static inline Folder* job_ = nullptr;
  static inline Strings files_;
  Folder folder_;
};

TEST_F(CliIngestTest, AFolder) {
  const Outcome outcome = Ingest({*job_ / "job"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const Json json(outcome.out);
  ExpectAccounted(json);
  ASSERT_EQ(json.Size("/sources"), files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string at = "/sources/" + std::to_string(i);
    EXPECT_EQ(json.Text(at + "/path"), files_[i]);
    EXPECT_EQ(json.Text(at + "/status"), "ingested");
    EXPECT_EQ(json.Text(at + "/format"), "nccl_inspector");
    EXPECT_EQ(json.Text(at + "/format_version"), "v4.0");
  }
  EXPECT_EQ(Sql("SELECT count(*), count(DISTINCT source) FROM operations"), "1602,16\n");
  EXPECT_EQ(Sql("SELECT name, folder FROM run"), "job," + *job_ / "job" + "\n");
  EXPECT_EQ(FilesOf(folder_.path()), Strings{StorePath()}) << "drafts or logs are left";
}

TEST_F(CliIngestTest, TheTextSaysTheSame) {
  const Outcome outcome = Telltale({"--store", StorePath(), "ingest", *job_ / "job"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out.starts_with("16 sources into " + StorePath() +
                                      ": 1,602 lines, 1,602 rows, 0 lost; "))
      << outcome.out;
  EXPECT_EQ(outcome.err, "") << "no progress where there is no terminal";
}

TEST_F(CliIngestTest, ASecondTimeChangesNothing) {
  ASSERT_EQ(Ingest({*job_ / "job"}).code, 0);
  const std::string before =
      Sql("FROM operations ORDER BY ALL") + Sql("FROM communicator ORDER BY ALL");
  const Outcome outcome = Ingest({*job_ / "job"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ExpectAccounted(json);
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string at = "/sources/" + std::to_string(i);
    EXPECT_EQ(json.Text(at + "/status"), "already_there");
    EXPECT_EQ(json.Text(at + "/message"), "already in the store");
  }
  EXPECT_EQ(Sql("FROM operations ORDER BY ALL") + Sql("FROM communicator ORDER BY ALL"), before);
}

TEST_F(CliIngestTest, StandardInput) {
  const std::string text = ReadFile(files_[0]);
  for (const std::string& input : {text, GzipOf(text), ZstdOf(text)}) {
    fs::remove(StorePath());
    const Outcome outcome = Ingest({"-"}, input);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json(outcome.out);
    ExpectAccounted(json);
    EXPECT_EQ(json.Text("/sources/0/path"), "-");
    EXPECT_EQ(Sql("SELECT count(*) FROM operations"), Sql("SELECT rows FROM source"));
    EXPECT_EQ(Sql("SELECT run, count(*) FROM operations GROUP BY ALL"), "standard input,78\n");
  }
  const Outcome again = Ingest({"-"}, ZstdOf(text));
  EXPECT_EQ(again.code, 0);
  EXPECT_EQ(Json(again.out).Text("/sources/0/status"), "already_there");
  EXPECT_EQ(Sql("SELECT count(*) FROM source"), "1\n");
}

TEST_F(CliIngestTest, NothingOnStandardInput) {
  const Outcome outcome = Ingest({"-"}, "");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(Json(outcome.out).Text("/sources/0/message"), "empty");
  EXPECT_TRUE(Contains(outcome.err, "nothing to ingest was found")) << outcome.err;
}

TEST_F(CliIngestTest, APipeByItsName) {
  const std::string pipe = folder_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  Call call;
  call.arguments = {"--store", StorePath(), "ingest", pipe};
  Running running(call);
  const std::string text = ReadFile(files_[0]);
  const int writer = OpenPipe(pipe);
  EXPECT_EQ(write(writer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(writer);
  const Outcome outcome = running.Wait();
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Sql("SELECT count(*) FROM operations"), "78\n");
}

TEST_F(CliIngestTest, MixedFoldersOfAllKinds) {
  const std::string mixed = folder_ / "mixed";
  WriteFile(mixed + "/a/plain-pid1.log", ReadFile(files_[0]));
  WriteFile(mixed + "/a/packed-pid2.log.gz", GzipOf(ReadFile(files_[1])));
  WriteFile(mixed + "/b/deep/packed-pid3.log.zst", ZstdOf(ReadFile(files_[2])));
  WriteFile(mixed + "/b/wrong-name.txt", ReadFile(files_[3]));
  WriteFile(mixed + "/b/members.gz", GzipOf(ReadFile(files_[4])) + GzipOf(ReadFile(files_[5])));
  WriteFile(mixed + "/notes.md", "# Notes\n");
  WriteFile(mixed + "/metrics.prom", "nccl_bytes 5\n");
  WriteFile(mixed + "/empty.txt", "");
  WriteFile(mixed + "/host-pid9.log", "");
  WriteFile(mixed + "/copy.log", ReadFile(files_[0]));
  const Outcome outcome = Ingest({mixed});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ExpectAccounted(json);
  std::map<std::string, std::string> status;
  std::map<std::string, std::string> message;
  for (size_t i = 0; i < json.Size("/sources"); ++i) {
    const std::string at = "/sources/" + std::to_string(i);
    const std::string name = json.Text(at + "/path").substr(mixed.size() + 1);
    status[name] = json.Text(at + "/status");
    if (!json.root().at_pointer(at + "/message").is_null())
      message[name] = json.Text(at + "/message");
  }
  EXPECT_EQ(status.size(), 10U);
  for (const std::string name :
       {"a/plain-pid1.log", "a/packed-pid2.log.gz", "b/deep/packed-pid3.log.zst",
        "b/wrong-name.txt", "b/members.gz", "host-pid9.log"}) {
    EXPECT_EQ(status[name], "ingested") << name << message[name];
  }
  for (const std::string name : {"notes.md", "metrics.prom", "empty.txt"}) {
    EXPECT_EQ(status[name], "not_recognised") << name;
    EXPECT_NE(message[name], "") << name;
  }
  EXPECT_EQ(status["copy.log"], "already_there");
  EXPECT_TRUE(Contains(message["copy.log"], "same content as " + mixed + "/a/plain-pid1.log"))
      << message["copy.log"];
  EXPECT_EQ(Sql("SELECT name FROM run WHERE run IN (SELECT run FROM source) ORDER BY 1"),
            "a\nb\ndeep\nmixed\n");
  EXPECT_EQ(Sql("SELECT string_agg(compression, ' ' ORDER BY path) FROM source"),
            "gzip none zstd gzip none none\n");
}

TEST_F(CliIngestTest, OneRunByName) {
  WriteFile(folder_ / "n1/a.log", ReadFile(files_[0]));
  WriteFile(folder_ / "n2/b.log", ReadFile(files_[1]));
  ASSERT_EQ(Ingest({"--run", "monday 'x'", folder_ / "n1"}).code, 0);
  ASSERT_EQ(Ingest({"--run", "monday 'x'", folder_ / "n2"}).code, 0);
  EXPECT_EQ(Sql("SELECT name, count(*) FROM run JOIN source USING (run) GROUP BY ALL"),
            "monday 'x',2\n");
  EXPECT_EQ(Sql("SELECT count(*) FROM run"), "1\n");
  const Json json(
      Telltale({"--store", StorePath(), "--json", "collectives", "coverage", "--run", "monday 'x'"})
          .out);
  EXPECT_EQ(json.Size("/coverage"), 1U);
}

TEST_F(CliIngestTest, FilesThatComeLaterJoinTheirRun) {
  WriteFile(folder_ / "run/a.log", ReadFile(files_[0]));
  ASSERT_EQ(Ingest({folder_ / "run"}).code, 0);
  WriteFile(folder_ / "run/b.log", ReadFile(files_[1]));
  ASSERT_EQ(Ingest({folder_ / "run"}).code, 0);
  EXPECT_EQ(Sql("SELECT count(*) FROM run"), "1\n");
  const std::string later =
      Sql("SELECT id, name, n_ranks, ranks_seen FROM communicator ORDER BY ALL");
  fs::remove(StorePath());
  ASSERT_EQ(Ingest({folder_ / "run"}).code, 0);
  EXPECT_EQ(Sql("SELECT id, name, n_ranks, ranks_seen FROM communicator ORDER BY ALL"), later);
}

TEST_F(CliIngestTest, GrownFilesReplaceTheirRows) {
  const std::string job = folder_ / "job";
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string text = ReadFile(files_[i]);
    const size_t half = text.find('\n', text.size() / 2) + 1;
    WriteFile(job + "/" + std::to_string(i) + ".log", text.substr(0, half));
  }
  ASSERT_EQ(Ingest({job}).code, 0);
  for (size_t i = 0; i < files_.size(); ++i) {
    WriteFile(job + "/" + std::to_string(i) + ".log", ReadFile(files_[i]));
  }
  const Outcome outcome = Ingest({job});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ExpectAccounted(json);
  for (size_t i = 0; i < files_.size(); ++i) {
    const std::string at = "/sources/" + std::to_string(i);
    EXPECT_EQ(json.Text(at + "/status"), "ingested");
    EXPECT_TRUE(Contains(json.Text(at + "/message"), "has grown since it was ingested"));
  }
  const std::string dump =
      "SELECT * EXCLUDE (source, series, communicator) FROM operations ORDER BY ALL";
  const std::string grown = Sql(dump);
  const std::string grown_losses =
      Telltale({"--store", StorePath(), "--format", "csv", "losses"}).out;
  EXPECT_EQ(Sql("SELECT count(*) FROM source"), "16\n");
  fs::remove(StorePath());
  ASSERT_EQ(Ingest({job}).code, 0);
  EXPECT_TRUE(Sql(dump) == grown);
  EXPECT_EQ(Telltale({"--store", StorePath(), "--format", "csv", "losses"}).out, grown_losses);
}

TEST_F(CliIngestTest, DamagedFilesAreReadAsFarAsTheyGo) {
  const std::string text = ReadFile(files_[0]);
  const std::string packed = GzipOf(text);
  WriteFile(folder_ / "d/cut.log.gz", packed.substr(0, packed.size() / 2));
  WriteFile(folder_ / "d/cut.log", text.substr(0, text.size() / 2 - 30));
  WriteFile(folder_ / "d/garbage.log", text + std::string("\0\xff\xfe{]\n\n{\"a\":1}\n", 15));
  const Outcome outcome = Ingest({folder_ / "d"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Json json(outcome.out);
  ExpectAccounted(json);
  for (const std::string at : {"/sources/0", "/sources/1", "/sources/2"}) {
    EXPECT_EQ(json.Text(at + "/status"), "ingested");
    EXPECT_GT(json.Number(at + "/rows"), 0U);
    EXPECT_GT(json.Size(at + "/losses") + json.Size(at + "/notes"), 0U);
  }
  EXPECT_TRUE(Contains(Sql("SELECT damage FROM source WHERE compression = 'gzip'"), "cut off"));
}

TEST_F(CliIngestTest, WhatCannotBeReadFailsAndTheRestGoesOn) {
  fs::create_symlink("gone", folder_ / "dangling.log");
  const Outcome outcome = Ingest({folder_ / "nosuch", files_[0], folder_ / "dangling.log"});
  EXPECT_EQ(outcome.code, 1);
  const Json json(outcome.out);
  ExpectAccounted(json);
  EXPECT_EQ(json.Text("/sources/0/status"), "failed");
  EXPECT_EQ(json.Text("/sources/1/status"), "ingested");
  EXPECT_EQ(json.Text("/sources/2/status"), "failed");
  EXPECT_TRUE(Contains(outcome.err, "nosuch: No such file or directory")) << outcome.err;
  EXPECT_TRUE(Contains(outcome.err, "2 of 3 sources failed")) << outcome.err;
  EXPECT_EQ(Sql("SELECT count(*) FROM operations"), "78\n");
}

TEST_F(CliIngestTest, NothingToIngestIsAFailure) {
  fs::create_directory(folder_ / "empty");
  WriteFile(folder_ / "other/a.txt", "nothing of ours\n");
  for (const std::string name : {"empty", "other"}) {
    const Outcome outcome = Ingest({folder_ / name});
    EXPECT_EQ(outcome.code, 1);
    EXPECT_TRUE(Contains(outcome.err, "nothing to ingest was found")) << outcome.err;
    EXPECT_TRUE(Json(outcome.out).valid());
  }
}

TEST_F(CliIngestTest, NamesOfAnyBytesStayReadable) {
  const std::string name = std::string("odd \xff\x1b[31m\"\n|.log");
  WriteFile(folder_ / ("odd/" + name), ReadFile(files_[0]));
  const Outcome outcome = Ingest({folder_ / "odd"});
  EXPECT_TRUE(Json(outcome.out).valid());
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const Outcome sources = Telltale({"--store", StorePath(), "sources"});
  EXPECT_EQ(sources.code, 0) << sources.err;
  EXPECT_FALSE(Contains(sources.out, "\x1b")) << "no control characters on a terminal";
  EXPECT_TRUE(Json(Telltale({"--store", StorePath(), "--json", "sources"}).out).valid());
}

TEST_F(CliIngestTest, RefusesAStoreThatIsNone) {
  WriteFile(StorePath(), "some text that someone wants to keep\n");
  const Outcome outcome = Ingest({*job_ / "job"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(Contains(outcome.err, "is not a Telltale store")) << outcome.err;
  EXPECT_EQ(ReadFile(StorePath()), "some text that someone wants to keep\n");
}

TEST_F(CliIngestTest, JoinsWhatAKilledIngestLeftUnjoined) {
  ASSERT_EQ(Ingest({*job_ / "job"}).code, 0);
  const std::string dump =
      "SELECT communicator_type, count(*) FROM operations GROUP BY ALL ORDER BY ALL";
  const std::string losses =
      Telltale({"--store", StorePath(), "--format", "csv", "losses", "--detail"}).out;
  const std::string expected = Sql(dump);
  EXPECT_NE(losses.find("ring_overwrite"), std::string::npos);
  // As if it had been killed after its last source and before the end.
  {
    StoreOptions options;
    options.access = Access::kReadWrite;
    const auto store = Store::Open(StorePath(), options);
    ASSERT_TRUE(store);
    const auto connection = (*store)->Connect();
    ASSERT_TRUE((*connection)
                    ->Run("DELETE FROM communicator; DELETE FROM ingest_loss WHERE derived; "
                          "UPDATE communicator_rank SET communicator = NULL"));
  }
  ASSERT_NE(Sql(dump), expected);
  EXPECT_EQ(Ingest({*job_ / "job"}).code, 0);
  EXPECT_EQ(Sql(dump), expected);
  EXPECT_EQ(Telltale({"--store", StorePath(), "--format", "csv", "losses", "--detail"}).out,
            losses);
}

}  // namespace
}  // namespace telltale::tests
