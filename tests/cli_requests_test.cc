// Commands on requests, steps, logs and clocks, as a person uses them.

#include "tests/program.h"

namespace telltale::tests {
namespace {

class CliRequests : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new Folder;
    const Outcome simulated = Telltale({"simulate", "inference", "--out", *folder_ / "job",
                                        "--gpus-per-host", "1", "--layers", "1", "--requests", "30",
                                        "--rate", "10", "--output-tokens", "10", "--seed", "3"});
    ASSERT_EQ(simulated.code, 0) << simulated.err;
    const Outcome ingested = Run({"ingest", "--run", "job", *folder_ / "job"});
    ASSERT_EQ(ingested.code, 0) << ingested.err;
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  static Outcome Run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"--store", *folder_ / "s.duckdb"});
    return Telltale(arguments);
  }
  // The id of a request that some step is known to have served.
  static std::string SomeRequest() {
    const Json json(Run({"--json", "sql",
                         "SELECT r.name FROM request r JOIN step_request q USING (request) WHERE "
                         "q.basis = 'exact' GROUP BY ALL ORDER BY count(*) DESC, 1 LIMIT 1"})
                        .out);
    return json.Text("/rows/0/0");
  }
  static inline Folder* folder_ = nullptr;
};

TEST_F(CliRequests, JsonHasTheDocumentedShape) {
  const Json json(Run({"--json", "requests", "--top", "0"}).out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Text("/schema"), "telltale/requests/1");
  EXPECT_EQ(json.Size("/requests"), 30U);
  for (const char* key : {"request", "engine", "arrival_ns", "first_token_ns", "end_ns",
                          "prompt_tokens", "output_tokens", "steps", "basis"}) {
    EXPECT_TRUE(json.Has(std::string("/requests/0/") + key)) << key;
  }
  EXPECT_EQ(json.Text("/requests/0/engine"), "vllm");
}

TEST_F(CliRequests, ARequestsStepsLinesAndChain) {
  const std::string request = SomeRequest();
  const Json steps(Run({"--json", "steps", request, "--rank", "0"}).out);
  ASSERT_TRUE(steps.valid());
  EXPECT_GT(steps.Size("/steps"), 0U);
  const Outcome lines = Run({"logs", request});
  EXPECT_NE(lines.out.find("Added request " + request), std::string::npos) << lines.out;
  const Json chain(Run({"--json", "chain", request, "--top", "1"}).out);
  ASSERT_TRUE(chain.valid());
  EXPECT_EQ(chain.Text("/schema"), "telltale/chain/1");
  EXPECT_EQ(chain.Text("/nodes/0/kind"), "range");
  EXPECT_EQ(chain.Text("/nodes/0/name").substr(0, 16), "execute_context_");
}

TEST_F(CliRequests, ClocksHaveBounds) {
  const Json json(Run({"--json", "clocks"}).out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Size("/clocks"), 2U);
  EXPECT_EQ(json.Text("/clocks/1/basis"), "collectives");
}

TEST_F(CliRequests, WhatIsNotThereIsSaid) {
  const Outcome unknown = Run({"requests", "nobody"});
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("no request's id is or begins with nobody"), std::string::npos);
  // Several begin so.
  const Outcome several = Run({"steps", "chatcmpl-"});
  EXPECT_EQ(several.code, 1);
  EXPECT_NE(several.err.find("requests begin with chatcmpl-"), std::string::npos) << several.err;
  EXPECT_EQ(Run({"logs"}).code, 2);
  EXPECT_EQ(Run({"logs", "--step", "99999999"}).code, 1);
  EXPECT_EQ(Run({"chain", SomeRequest(), "--step", "99999999"}).code, 1);
}

TEST_F(CliRequests, EventsOfALog) {
  WriteFile(
      *folder_ / "dmesg.txt",
      "kern  :warn  : 2026-11-29T12:05:27,283302+00:00 NVRM: Xid (PCI:0000:38:00): 79, pid=7, "
      "name=python3, GPU has fallen off the bus.\n");
  ASSERT_EQ(Run({"ingest", "--run", "job", *folder_ / "dmesg.txt"}).code, 0);
  const Json json(Run({"--json", "events", "--kind", "xid"}).out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Size("/events"), 1U);
  EXPECT_EQ(json.Text("/events/0/gpu"), "0000:38:00.0");
  EXPECT_EQ(json.Text("/events/0/severity"), "fatal");
  // On the run's timeline: a step had begun.
  EXPECT_TRUE(json.Has("/events/0/step"));
  EXPECT_NE(Run({"events"}).out.find("2026-11-29 12:05:27.283302"), std::string::npos);
}

TEST_F(CliRequests, ZonesOfLogs) {
  WriteFile(*folder_ / "zone.log", "INFO 2026-11-29 12:00:00 [a.py:1] x\n");
  EXPECT_EQ(Run({"ingest", "--log-zone", "local", *folder_ / "zone.log"}).code, 2);
  ASSERT_EQ(Run({"ingest", "--log-zone", "-05:30", "--run", "zone", *folder_ / "zone.log"}).code,
            0);
  EXPECT_NE(Run({"--format", "csv", "sql",
                 "SELECT make_timestamp(time_ns // 1000) FROM log_lines WHERE run = 'zone'"})
                .out.find("2026-11-29 17:30:00"),
            std::string::npos);
}

}  // namespace
}  // namespace telltale::tests
