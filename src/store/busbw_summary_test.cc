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
  EXPECT_EQ(store.Rows("SELECT busbw_summary('nan'::DOUBLE, 1.0, 1::UINTEGER, 1::UINTEGER).n"),
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
    for (const std::string formulas : {"1", "5", "50"}) {
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
          // Means are summed in another order than DuckDB's: equal up to rounding.
          const Strings differing = store.Rows(
              values +
              ", ours AS (SELECT g, busbw_summary(traffic, factor, t, n) AS b FROM drawn GROUP BY "
              "g), "
              "theirs AS (SELECT g, count(*) AS n, min(v) AS least, quantile_disc(v, 0.1) AS p10, "
              "quantile_disc(v, 0.25) AS p25, quantile_disc(v, 0.5) AS p50, "
              "quantile_disc(v, 0.75) AS p75, quantile_disc(v, 0.9) AS p90, max(v) AS most, "
              "avg(v) AS mean, stddev_samp(v) AS stddev FROM each GROUP BY g) "
              "SELECT g, b.n, theirs.n FROM ours FULL JOIN theirs USING (g) "
              "WHERE (b.n, b.min, b.p10, b.p25, b.p50, b.p75, b.p90, b.max) IS DISTINCT FROM "
              "(theirs.n::UBIGINT, least, theirs.p10, theirs.p25, theirs.p50, theirs.p75, "
              "theirs.p90, most) "
              "OR NOT abs(b.mean - theirs.mean) <= 1e-9 * theirs.mean "
              "OR NOT coalesce(abs(b.stddev - theirs.stddev) <= 1e-9 * theirs.mean, "
              "b.stddev IS NULL AND theirs.stddev IS NULL)");
          EXPECT_EQ(differing, Strings{})
              << rows << " rows, " << formulas << " formulas, " << times << " times";
        }
      }
    }
  }
}

}  // namespace
}  // namespace telltale::test
