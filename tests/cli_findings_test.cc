// `telltale collectives findings`: its formats and its gate.

#include "tests/program.h"

namespace telltale::tests {
namespace {

TEST(CliFindings, TellsInEveryFormatAndHoldsTheGate) {
  Folder folder;
  const std::string store = folder / "s.duckdb";
  ASSERT_EQ(Telltale({"simulate", "training", "--out", folder / "job", "--ranks", "16", "--steps",
                      "30", "--layers", "2", "--micro-batches", "1", "--fault",
                      "late-rank:rank=11,ms=3,from=0.3,to=0.6"})
                .code,
            0);
  ASSERT_EQ(Telltale({"--store", store, "ingest", folder / "job"}).code, 0);
  const Outcome text = Telltale({"--store", store, "collectives", "findings"});
  EXPECT_EQ(text.code, 0);
  EXPECT_NE(text.out.find("late_rank: global rank 11 (host node002.cluster"), std::string::npos)
      << text.out;
  const Outcome answer =
      Telltale({"--store", store, "--json", "collectives", "findings", "--fail-on", "finding"});
  EXPECT_EQ(answer.code, 3);
  const Json json(answer.out);
  ASSERT_TRUE(json.valid());
  EXPECT_EQ(json.Size("/findings"), 1U);
  EXPECT_EQ(json.Number("/findings/0/where/global_rank"), 11U);
  const Outcome csv = Telltale({"--store", store, "--format", "csv", "collectives", "findings"});
  EXPECT_EQ(csv.out.rfind("kind,communicator,rank,", 0), 0U);
  EXPECT_EQ(Telltale({"--store", store, "collectives", "findings", "--run", "no"}).code, 1);
  EXPECT_EQ(Telltale({"--store", store, "collectives", "findings", "--fail-on", "weather"}).code,
            2);
}

}  // namespace
}  // namespace telltale::tests
