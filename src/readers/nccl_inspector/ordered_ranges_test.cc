// A file that is read in ranges on several threads gives what it gives in one pass.

#include "readers/nccl_inspector/ordered_ranges.h"

#include <gtest/gtest.h>

#include "tests/support/inspector_support.h"

namespace telltale::test {
namespace {

using namespace nccl_inspector;

SourceData InRanges(const std::string& path, uint64_t size, uint64_t range_bytes, unsigned threads,
                    size_t window_bytes) {
  OrderedRangesOptions options;
  options.path = path;
  options.size_bytes = size;
  options.range_bytes = range_bytes;
  options.threads = threads;
  options.window_bytes = window_bytes;
  SourceBuilder whole;
  const Status status = ParseOrderedRanges(options, [&](SourceBuilder&& part) -> Status {
    whole.Append(std::move(part));
    return {};
  });
  EXPECT_TRUE(status.has_value());
  whole.EndDumps();
  return std::move(whole.data());
}

void ExpectTheSameInRanges(const std::string& bytes) {
  const TempFolder folder;
  const std::string path = folder.Write("node1-pid1.log", bytes);
  const std::vector<std::string> whole = SortedFactsOf(Parse(bytes).data);
  for (const uint64_t range : {uint64_t{100}, uint64_t{1000}, uint64_t{4096}, uint64_t{50000},
                               bytes.size() / 2 + 1, uint64_t{bytes.size()}}) {
    if (bytes.size() / range > 2000) continue;
    for (const unsigned threads : {1U, 4U}) {
      const size_t window = range == 4096 ? 512 : size_t{1} << 16;
      ASSERT_TRUE(
          SameFacts(SortedFactsOf(InRanges(path, bytes.size(), range, threads, window)), whole))
          << "range " << range << " threads " << threads;
    }
  }
}

std::string FileOfVersion(const std::string& version) {
  std::string bytes;
  std::vector<InspectorLine> communicators(3);
  for (size_t i = 0; i < communicators.size(); ++i) {
    InspectorLine& line = communicators[i];
    line.version = version;
    line.id = "0xc" + std::to_string(i);
    line.name = "communicator " + std::to_string(i);
    if (version >= "v4.2") {
      line.algorithm = "RING";
      line.protocol = "LL";
    }
  }
  for (uint64_t dump = 0; dump < 60; ++dump) {
    for (size_t i = 0; i < communicators.size(); ++i) {
      InspectorLine& line = communicators[i];
      line.dump_timestamp_us += 1000 + dump * 17;
      // Some dumps lack a record, some sequence numbers too.
      const uint64_t records = 1 + (dump * 7 + i) % 5;
      if (version >= "v4.1") bytes += line.Marker(records + (dump % 11 == 0 ? 1 : 0));
      for (uint64_t k = 0; k < records; ++k) {
        line.sequence += dump % 13 == 0 ? 2 : 1;
        line.exec_time_us = 40 + (dump * k) % 23;
        line.message_bytes = uint64_t{8192} << (k % 3);
        if (dump % 17 == 5 && k == 0) line.algobw = "1.000000";
        bytes += version >= "v4.3" ? line.Payload() : line.Text();
        line.algobw.reset();
      }
      if (dump % 19 == 3) bytes += "broken line\n";
      if (dump % 23 == 3) bytes += "\n";
    }
  }
  return bytes;
}

TEST(OrderedRanges, SameInOnePass) {
  for (const char* version : {"v4.0", "v4.1", "v4.2", "v4.3", "v4.4"}) {
    SCOPED_TRACE(version);
    ExpectTheSameInRanges(FileOfVersion(version));
  }
}

TEST(OrderedRanges, LastLineIsCut) {
  std::string bytes = FileOfVersion("v4.3");
  bytes.resize(bytes.size() - 20);
  ExpectTheSameInRanges(bytes);
}

TEST(OrderedRanges, NoPlaceToCut) {
  InspectorLine line;
  line.version = "v4.3";
  std::string bytes = line.Marker(500);
  for (line.sequence = 0; line.sequence < 500; ++line.sequence) bytes += line.Payload();
  ExpectTheSameInRanges(bytes);
  ExpectTheSameInRanges(std::string(20000, '\n'));
  ExpectTheSameInRanges(std::string(20000, 'x'));
}

TEST(OrderedRanges, LongLines) {
  InspectorLine line;
  std::string bytes;
  for (int i = 0; i < 30; ++i) {
    line.name = std::string(static_cast<size_t>(1 + i % 4) * 700, static_cast<char>('a' + i % 26));
    bytes += line.Text();
  }
  ExpectTheSameInRanges(bytes);
}

TEST(OrderedRanges, MoreSizesThanAreKeptApart) {
  InspectorLine line;
  std::string bytes;
  for (line.sequence = 0; line.sequence < 1300; ++line.sequence) {
    line.message_bytes = 8192 + line.sequence;
    bytes += line.Text();
  }
  ExpectTheSameInRanges(bytes);
}

// A full ring shows by the size of the dumps, wherever a file is cut.
TEST(OrderedRanges, FullRings) {
  for (const char* version : {"v4.0", "v4.3"}) {
    InspectorLine line;
    line.version = version;
    std::string bytes;
    for (int dump = 0; dump < 12; ++dump) {
      line.dump_timestamp_us += 1'000'000;
      line.sequence += 20;  // lost
      const uint64_t records = dump == 5 ? 7 : dump == 7 ? 7 : 32;
      if (line.version == "v4.3") bytes += line.Marker(records);
      for (uint64_t i = 0; i < records; ++i, ++line.sequence) {
        bytes += line.version == "v4.3" ? line.Payload() : line.Text();
      }
    }
    ExpectTheSameInRanges(bytes);
  }
}

TEST(OrderedRanges, Samples) {
  const std::vector<std::string> folders = InspectorSampleFolders();
  if (folders.empty()) GTEST_SKIP() << "no sample data: set TELLTALE_SAMPLES";
  for (const std::string& folder : folders) {
    const std::string file = FilesIn(folder).front();
    SCOPED_TRACE(file);
    ExpectTheSameInRanges(BytesOf(file));
  }
}

TEST(OrderedRanges, FileGrowsOrIsGone) {
  const TempFolder folder;
  const InspectorLine line;
  const std::string path = folder.Write("node1-pid1.log", line.Text() + line.Text());
  // Only what was there when it was looked at.
  EXPECT_EQ(InRanges(path, line.Text().size(), 64, 2, 4096).rows, 1U);
  OrderedRangesOptions options;
  options.path = folder / "gone.log";
  options.size_bytes = 1000;
  EXPECT_FALSE(ParseOrderedRanges(options, [](SourceBuilder&&) { return Status(); }).has_value());
}

TEST(OrderedRanges, ConsumerThatFails) {
  const TempFolder folder;
  const std::string bytes = FileOfVersion("v4.0");
  OrderedRangesOptions options;
  options.path = folder.Write("node1-pid1.log", bytes);
  options.size_bytes = bytes.size();
  options.range_bytes = 1000;
  options.threads = 3;
  int parts = 0;
  const Status status = ParseOrderedRanges(options, [&](SourceBuilder&&) -> Status {
    if (++parts == 3) return Fail("full");
    return {};
  });
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().message, "full");
  EXPECT_EQ(parts, 3);
}

}  // namespace
}  // namespace telltale::test
