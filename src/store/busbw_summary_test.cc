// busbw_summary() against DuckDB's own aggregates over the same values.

#include <gtest/gtest.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

TEST(BusbwSummary, OfNothingIsNull) {
  TestStore store;
  EXPECT_EQ(store.Rows("SELECT busbw_summary(1.0, 1.0, 0::UINTEGER, 1::UINTEGER)"), Strings{"-"});
  EXPECT_EQ(store.Rows("SELECT busbw_summary(NULL::DOUBLE, 1.0, 1::UINTEGER, 1::UINTEGER)"),
            Strings{"-"});
  EXPECT_EQ(store.Rows("SELECT busbw_summary(0.0, 1.0, 1::UINTEGER, 1::UINTEGER).n"), Strings{"-"});
  EXPECT_EQ(store.Rows("SELECT busbw_summary('nan', 1.0, 1::UINTEGER, 1::UINTEGER).n"),
            Strings{"-"});
  EXPECT_EQ(store.Rows("SELECT busbw_summary(1.0, 1.0, 1::UINTEGER, 1::UINTEGER) WHERE false"),
            Strings{"-"});
}

TEST(BusbwSummary, OfOneValueHasNoDeviation) {
  TestStore store;
  EXPECT_EQ(store.Rows("SELECT unnest(busbw_summary(2e9, 0.5, 1000000::UINTEGER, 1::UINTEGER))"),
            Strings{"1|1|1|1|1|1|1|1|1|-"});
}

// One formula and several, few records and many, short times and long, all in one group and in
// many.
TEST(BusbwSummary, IsWhatDuckDbGives) {
  TestStore store;
  for (const std::string rows : {"1", "7", "100", "20000"}) {
    for (const std::string formulas : {"1", "5"}) {
      for (const std::string times : {"40", "3000", "900000"}) {
        for (const std::string groups : {"1", "60"}) {
          const std::string values = "WITH drawn AS (SELECT (hash(i) % " + groups +
                                     ")::UINTEGER AS g, "
                                     "(1000000 * (1 + hash(i + 1000000) % " +
                                     formulas +
                                     "))::DOUBLE AS traffic, 0.75::DOUBLE AS factor, "
                                     "(1 + hash(i + 2000000) % " +
                                     times +
                                     ")::UINTEGER AS t, (1 + hash(i) % 3)::UINTEGER AS n "
                                     "FROM range(" +
                                     rows +
                                     ") r(i)), "
                                     "each AS (SELECT g, round(traffic / 1e9::DOUBLE / (t / "
                                     "1e6::DOUBLE) * factor, 6) AS v "
                                     "FROM drawn, range(n) WHERE v > 0) ";
          const Strings ours = store.Rows(
              values +
              "SELECT g, b.n, b.min, b.p10, b.p25, b.p50, b.p75, b.p90, b.max, round(b.mean, 6), "
              "round(b.stddev, 6) FROM (SELECT g, busbw_summary(traffic, factor, t, n) AS b FROM "
              "drawn "
              "GROUP BY g) ORDER BY g");
          const Strings theirs = store.Rows(
              values +
              "SELECT g, count(*), min(v), quantile_disc(v, 0.1), quantile_disc(v, 0.25), "
              "quantile_disc(v, 0.5), quantile_disc(v, 0.75), quantile_disc(v, 0.9), max(v), "
              "round(avg(v), 6), round(stddev_samp(v), 6) FROM each GROUP BY g ORDER BY g");
          EXPECT_EQ(ours, theirs) << rows << " rows, " << formulas << " formulas, " << times
                                  << " times";
        }
      }
    }
  }
}

}  // namespace
}  // namespace telltale::test
