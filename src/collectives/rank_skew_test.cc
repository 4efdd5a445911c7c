// Lateness from arrays is lateness from SQL over the records, also where files overlap and where
// sequence numbers lie far apart.

#include "collectives/rank_skew.h"

#include <gtest/gtest.h>

#include "collectives/selection.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using Strings = std::vector<std::string>;

// Operations first … end of a rank, with times by sequence number.
template <typename TimeOf>
std::string LinesOf(int64_t rank, uint64_t first, uint64_t end, const TimeOf& time_of) {
  std::string bytes;
  for (uint64_t i = first; i < end; ++i) {
    InspectorLine line;
    line.rank = rank;
    line.n_ranks = 3;
    line.nnodes = 3;
    line.host = fmt::format("node{}", rank);
    line.sequence = i;
    line.exec_time_us = time_of(i);
    bytes += line.Text();
  }
  return bytes;
}

// Times differ from those of other ranks and files.
std::string Lines(int64_t rank, uint64_t first, uint64_t end, uint64_t salt) {
  return LinesOf(rank, first, end, [&](uint64_t i) { return (i * 7 + salt * 13) % 50; });  // some 0
}

Strings Rows(Connection& connection) {
  const Result<Table> table = connection.Query("FROM rank_skew ORDER BY ALL");
  EXPECT_TRUE(table) << table.error().message;
  Strings rows;
  for (const std::vector<Cell>& row : table->rows) {
    std::string text;
    for (const Cell& cell : row) text += CellText(cell) + "|";
    rows.push_back(text);
  }
  return rows;
}

void ExpectWhatTheRecordsSay(Store& store, size_t rows) {
  const std::unique_ptr<Connection> connection = std::move(store.Connect()).value();
  ASSERT_TRUE(
      collectives::Select(*connection, collectives::FilterValues(collectives::Filters().size())));
  const Status made = collectives::MakeRankSkew(store, *connection);
  ASSERT_TRUE(made) << made.error().message;
  const Strings ours = Rows(*connection);
  ASSERT_TRUE(collectives::MakeRankSkewByRecords(*connection));
  EXPECT_EQ(ours, Rows(*connection));
  EXPECT_EQ(ours.size(), rows);
}

TEST(RankSkew, OfFilesThatOverlap) {
  TempFolder folder;
  TestStore store;
  (void)folder.Write("node0-pid100.log", Lines(0, 0, 3000, 1));
  (void)folder.Write("node0-pid100-again.log", Lines(0, 1000, 4000, 2));
  (void)folder.Write("node1-pid100.log", Lines(1, 0, 2000, 3));
  (void)folder.Write("node2-pid100.log", Lines(2, 500, 3500, 4));
  store.Ingest({folder.path()});
  ExpectWhatTheRecordsSay(store.store(), 3);
}

TEST(RankSkew, OfSequenceNumbersFarApart) {
  TempFolder folder;
  TestStore store;
  for (int64_t rank = 0; rank < 2; ++rank) {
    (void)folder.Write(
        fmt::format("node{}-pid100.log", rank),
        Lines(rank, 0, 10, 1) + Lines(rank, uint64_t{1} << 40, (uint64_t{1} << 40) + 10, 2));
  }
  store.Ingest({folder.path()});
  ExpectWhatTheRecordsSay(store.store(), 2);
}

TEST(RankSkew, OfTimesBeyondAllSums) {
  TempFolder folder;
  TestStore store;
  for (int64_t rank = 0; rank < 2; ++rank) {
    const uint64_t time_us = rank == 0 ? uint64_t{1} << 63 : 50;
    (void)folder.Write(fmt::format("node{}-pid100.log", rank),
                       LinesOf(rank, 0, 4, [&](uint64_t) { return time_us; }));
  }
  store.Ingest({folder.path()});
  ExpectWhatTheRecordsSay(store.store(), 2);
}

TEST(RankSkew, OfNothing) {
  TestStore store;
  ExpectWhatTheRecordsSay(store.store(), 0);
}

}  // namespace
}  // namespace telltale::test
