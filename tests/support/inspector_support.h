#pragma once

// For tests of the NCCL Inspector reader: lines as the plugin writes them, temporary folders and
// stores, and everything that the parser or the store holds as text that can be compared.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "readers/ingest.h"
#include "readers/nccl_inspector/records.h"
#include "store/store.h"
#include "tests/support/source_text.h"

namespace telltale::test {

// A folder that is removed at the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  // Writes a file (and the folders above it); returns its path.
  std::string Write(const std::string& name, std::string_view bytes) const;

 private:
  std::string path_;
};

// Folder inspector/ of the sample data ($TELLTALE_SAMPLES or ../shared/samples); empty if not
// there.
std::string InspectorSamples();
// The folders in it that hold Inspector JSON, by name.
std::vector<std::string> InspectorSampleFolders();
std::vector<std::string> FilesIn(const std::string& folder);

// The bytes of a file, decompressed.
std::string BytesOf(const std::string& path);
// With their '\n', the last perhaps without.
std::vector<std::string> LinesOf(std::string_view bytes);

std::string Gzipped(std::string_view bytes, size_t members = 1);
std::string Zstandard(std::string_view bytes);

// `text` with the only occurrence of `from` replaced.
std::string Replaced(std::string text, std::string_view from, std::string_view to);

// A line as the plugin writes it (`Text`), from its parts. Strings are what stands between the
// quotes.
struct InspectorLine {
  std::string version = "v4.0";
  std::string id = "0xabc";
  std::optional<std::string> name = "WORLD";
  int64_t rank = 0;
  int64_t n_ranks = 2;
  uint64_t nnodes = 1;
  std::string host = "node1";
  uint64_t pid = 100;
  uint64_t dump_timestamp_us = 1'700'000'000'000'000;

  bool is_p2p = false;
  std::string operation = "AllReduce";
  std::optional<std::string> algorithm, protocol;
  uint64_t sequence = 0;
  int64_t peer = 1;
  uint64_t message_bytes = 1 << 20;
  uint64_t exec_time_us = 100;
  std::string timing_source = "kernel_gpu";
  std::optional<std::string> algobw, busbw;  // what follows from size and time, if not given

  std::string Header() const;   // "header":{…},"metadata":{…}
  std::string Perf() const;     // "coll_perf":{…}
  std::string Text() const;     // with header
  std::string Payload() const;  // without header (v4.3)
  std::string Marker(uint64_t coll_records, uint64_t p2p_records = 0,
                     const std::string& more = "") const;
};

// What the parser makes of the bytes. `window_bytes` 0: all in one window.
struct Parsed {
  nccl_inspector::SourceData data;
  uint64_t fast_lines = 0;
};
Parsed Parse(std::string_view bytes, bool use_fast_path = true, size_t window_bytes = 0);

using nccl_inspector::source_text::LineLossesOf;
using nccl_inspector::source_text::SortedFactsOf;
using nccl_inspector::source_text::TextOf;

// That both have the same facts; says the first that differ.
testing::AssertionResult SameText(const std::string& left, const std::string& right);
testing::AssertionResult SameFacts(const std::vector<std::string>& left,
                                   const std::vector<std::string>& right);

// How many were lost, by the kind's name; 0 if none. LineLosses: of class line together.
uint64_t LossesOf(const nccl_inspector::SourceData& data, std::string_view kind);
uint64_t LineLossesOf(const SourceReport& report);

// A new store in a folder of its own. Failures are failures of the test.
class TestStore {
 public:
  TestStore();

  IngestReport Ingest(std::vector<std::string> paths, const std::string& run = "",
                      unsigned threads = 1);
  IngestReport Ingest(const IngestOptions& options);
  Store& store() { return *store_; }
  Table Query(const std::string& sql);
  int64_t Integer(const std::string& sql);
  std::string Text(const std::string& sql);  // of the only cell
  // Rows as text, cells joined by '|', NULL as "-".
  std::vector<std::string> Rows(const std::string& sql);
  // Sum of the counts in ingest_loss.
  int64_t Lost(const std::string& kind);
  // All rows of all tables but source.ingested_at, sorted.
  std::vector<std::string> Dump();
  // What the views give, without ids and absolute places: the same for the same files, whatever the
  // order in which they came.
  std::vector<std::string> Contents();

 private:
  TempFolder folder_;
  std::unique_ptr<Store> store_;
};

}  // namespace telltale::test
