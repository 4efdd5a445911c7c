// The rollup operation_histogram is what a look at all records gives, however the sources came in.

#include "store/time_counts.h"

#include <gtest/gtest.h>

#include "readers/nccl_inspector/records.h"
#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using nccl_inspector::Record;

std::vector<std::string> Counted(const std::vector<uint32_t>& times) {
  std::vector<Record> records;
  for (const uint32_t time : times) records.push_back({.exec_time_us = time});
  std::vector<TimeCount> counts;
  TimeCounter counter;
  counter.Append(7, std::vector<Record>{{.exec_time_us = 5}}, &Record::exec_time_us,
                 counts);  // leaves nothing behind for the next
  counts.clear();
  counter.Append(3, records, &Record::exec_time_us, counts);
  std::vector<std::string> texts;
  for (const TimeCount& count : counts) {
    texts.push_back(fmt::format("{}: {} x {}", count.series, count.operations, count.exec_time_us));
  }
  return texts;
}

using Strings = std::vector<std::string>;

TEST(TimeCounts, CountsCloseAndFarTimes) {
  EXPECT_EQ(Counted({}), Strings{});
  EXPECT_EQ(Counted({0}), Strings{"3: 1 x 0"});
  EXPECT_EQ(Counted({9, 7, 9, 9}), (Strings{"3: 1 x 7", "3: 3 x 9"}));
  EXPECT_EQ(Counted({4294967295, 0, 4294967295}), (Strings{"3: 1 x 0", "3: 2 x 4294967295"}));
}

void ExpectHistogramOfRecords(TestStore& store) {
  EXPECT_EQ(store.Rows("SELECT series, exec_time_us, sum(operations) FROM operation_histogram "
                       "GROUP BY ALL ORDER BY ALL"),
            store.Rows("SELECT block >> 16, record.exec_time_us, count(*) FROM operation_record "
                       "GROUP BY ALL ORDER BY ALL"));
  EXPECT_EQ(
      store.Rows("SELECT series, sum(operations), min(exec_time_us), max(exec_time_us), "
                 "sum(exec_time_us::UBIGINT * operations) FROM operation_histogram GROUP BY ALL "
                 "ORDER BY ALL"),
      store.Rows("SELECT series, operations, exec_time_us_min, exec_time_us_max, exec_time_us_sum "
                 "FROM operation_series WHERE operations > 0 ORDER BY ALL"));
}

TEST(TimeCounts, OfTheSamples) {
  if (InspectorSamples().empty()) GTEST_SKIP() << "no samples";
  TestStore store;
  store.Ingest(InspectorSampleFolders());
  EXPECT_GT(store.Integer("SELECT count(*) FROM operation_histogram"), 0);
  ExpectHistogramOfRecords(store);
}

std::string Lines(uint64_t from, uint64_t to) {
  std::string bytes;
  for (uint64_t i = from; i < to; ++i) {
    InspectorLine line;
    line.sequence = i;
    line.exec_time_us = 50 + (i * 7) % 90 + (i % 50 == 0 ? 1000000 : 0);
    bytes += line.Text();
  }
  return bytes;
}

TEST(TimeCounts, OfAFileInPartsAndOfOneThatGrew) {
  TempFolder folder;
  TestStore store;
  const std::string path = folder.Write("node1-pid100.log", Lines(0, 3000));
  IngestOptions options;
  options.paths = {path};
  options.large_file_bytes = 1;
  options.pending_records = 500;
  options.threads = 2;
  store.Ingest(options);
  EXPECT_EQ(store.Integer("SELECT sum(operations)::BIGINT FROM operation_histogram"), 3000);
  ExpectHistogramOfRecords(store);

  (void)folder.Write("node1-pid100.log", Lines(0, 4000));
  store.Ingest({path});
  EXPECT_EQ(store.Integer("SELECT sum(operations)::BIGINT FROM operation_histogram"), 4000);
  ExpectHistogramOfRecords(store);
}

}  // namespace
}  // namespace telltale::test
