#include "readers/nsight/nsight_format.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <future>
#include <vector>

#include "readers/nsight/nsight_loader.h"
#include "readers/trace/trace_source.h"

namespace telltale::nsight {
namespace {

bool Recognises(std::string_view head, std::string_view) {
  return head.starts_with(std::string_view("SQLite format 3\0", 16));
}

// Whether a transaction was begun and not ended. A journal that is done with may stay, without its
// first bytes.
bool HasHotJournal(const std::string& path) {
  constexpr std::string_view kMagic("\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", 8);
  std::ifstream journal(path + "-journal", std::ios::binary);
  std::array<char, kMagic.size()> head{};
  return journal.read(head.data(), head.size()) &&
         std::string_view(head.data(), head.size()) == kMagic;
}

class NsightWorker : public SourceWorker {
 public:
  NsightWorker(std::unique_ptr<trace::TraceWriter> writer, WorkerOptions options)
      : writer_(std::move(writer)), options_(std::move(options)) {}

  Status Ingest(const SourceFile& file, OpenedSource source, SourceReport& report) override {
    if (file.path == "-") {
      report.message = "an SQLite file cannot be read from standard input; name the file";
      return {};
    }
    if (source.compression != Compression::kNone) {
      report.message = "an SQLite file that is compressed; decompress it first";
      return {};
    }
    std::vector<char> bytes(size_t{1} << 20);
    while (true) {
      const auto got = source.bytes->Read(std::span(bytes));
      if (!got) {
        report.message = got.error().message;
        return {};
      }
      if (*got == 0) break;
      if (options_.on_progress) options_.on_progress(*got);
    }
    return Load(file, source.fingerprint->size(), source.fingerprint->Finish(), report);
  }

  Status IngestLarge(const SourceFile& file, SourceReport& report) override {
    return Load(file, file.size_bytes, {}, report);
  }

  Status Flush() override { return {}; }
  Status Remove(int64_t source) override { return writer_->Remove(source); }

 private:
  // Without a fingerprint it is taken from the file, while one thread orders the events.
  Status Load(const SourceFile& file, uint64_t size_bytes, const std::string& fingerprint,
              SourceReport& report) {
    SourceRow row;
    row.run = file.run;
    row.path = file.path;
    row.format = "nsight";
    row.compression = CompressionName(Compression::kNone);
    row.size_bytes = size_bytes;
    row.expanded_bytes = size_bytes;
    row.fingerprint = fingerprint;
    row.replaces = file.replaces;
    // What is still in the log would be passed over in silence.
    std::error_code error;
    const auto log_bytes = std::filesystem::file_size(file.path + "-wal", error);
    if (!error && log_bytes > 0) {
      report.message = fmt::format(
          "{}-wal holds changes that are not in the file yet; close the program that has it open, "
          "or "
          "run sqlite3 {} 'PRAGMA wal_checkpoint(TRUNCATE)'",
          file.path, file.path);
      return {};
    }
    if (HasHotJournal(file.path)) {
      report.message = fmt::format(
          "{}-journal holds what a program that was stopped has to take back; open the file "
          "once with sqlite3, and ingest it again",
          file.path);
      return {};
    }
    const auto opened = SqliteFile::Open(file.path);
    if (!opened) {
      report.message = opened.error().message;
      return {};
    }
    if (!(*opened)->HasTable("StringIds")) {
      report.status = SourceStatus::kNotRecognised;
      report.message = "an SQLite file, but not an export of Nsight Systems (no table StringIds)";
      return {};
    }
    auto data = LoadExport(**opened, options_.parsers);
    if (!data) {
      report.message = data.error().message;
      return {};
    }
    std::future<Result<std::string>> taken;
    if (fingerprint.empty()) {
      taken = std::async(std::launch::async,
                         [&] { return FingerprintOfFile(file.path, file.size_bytes); });
    }
    std::vector<uint32_t> order = trace::OrderOf(*data, options_.parsers);
    if (taken.valid()) {
      const auto result = taken.get();
      if (!result) {
        report.message = result.error().message;
        return {};
      }
      row.fingerprint = *result;
      if (options_.on_progress) options_.on_progress(file.size_bytes);
    }
    if (IsKnownSource(options_, row, report)) return {};
    return trace::StoreTrace(*writer_, row, *data, std::move(order), 0, report);
  }

  std::unique_ptr<trace::TraceWriter> writer_;
  WorkerOptions options_;
};

Result<std::unique_ptr<SourceWorker>> MakeWorker(Store& store, const WorkerOptions& options) {
  TELLTALE_ASSIGN(auto writer, trace::TraceWriter::Create(store, options.parsers));
  return std::unique_ptr<SourceWorker>(new NsightWorker(std::move(writer), options));
}

Status LinkRuns(Store&, std::span<const int64_t>) { return {}; }

}  // namespace

Format NsightFormat() { return {"nsight", Recognises, MakeWorker, LinkRuns, true}; }

}  // namespace telltale::nsight
