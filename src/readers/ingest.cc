#include "readers/ingest.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>

#include "readers/find_files.h"
#include "store/early_write_out.h"

namespace telltale {
namespace {

constexpr size_t kHeadBytes = size_t{64} << 10;

constexpr uint64_t kLargeLoneFileBytes = uint64_t{16} << 20;

unsigned ThreadCount(unsigned asked) {
  return asked > 0 ? asked : std::max(1u, std::thread::hardware_concurrency());
}

// A source that the store has already.
struct KnownSource {
  int64_t source = 0;
  std::string path;
  uint64_t size_bytes = 0;
  std::string fingerprint;
  std::string format;
};

struct Candidate {
  FoundFile found;
  SourceFile file;
  std::string fingerprint;  // only where it had to be known beforehand
  SourceReport report;
  bool done = false;
  const KnownSource* same_path = nullptr;  // with another content, as far as is known
  const KnownSource* grown = nullptr;      // what was in it before it grew
};

// The first and last bytes of a file, as a key; equal files have equal ones.
std::string EndsOfFile(const std::string& path, uint64_t size_bytes) {
  constexpr uint64_t kBytes = 4096;
  std::string ends = std::to_string(size_bytes) + ':';
  for (const uint64_t offset : {uint64_t{0}, size_bytes > kBytes ? size_bytes - kBytes : 0}) {
    const auto stream = OpenFileAt(path, offset);
    if (!stream) return ends;
    std::string part(kBytes, '\0');
    const auto got = (*stream)->Read(std::span(part));
    if (got) ends.append(part, 0, *got);
  }
  return ends;
}

// Shares out files among threads. DuckDB lets only one thread commit at a time, so those that are
// not the last stop a little sooner: their commits then pass while others still read.
class FileQueue {
 public:
  FileQueue(std::vector<uint64_t> sizes, size_t threads)
      : sizes_(std::move(sizes)),
        left_bytes_(std::accumulate(sizes_.begin(), sizes_.end(), uint64_t{0})),
        reading_(threads) {}

  // The number of the next file, for a thread that has read so much; nothing when it is to stop.
  std::optional<size_t> Next(uint64_t read_bytes) {
    constexpr uint64_t kReadInTimeOfCommit = 16;  // what was read takes so many times its commit
    const std::scoped_lock lock(mutex_);
    const uint64_t meanwhile = read_bytes / kReadInTimeOfCommit * (reading_ - 1);
    if (next_ == sizes_.size() || left_bytes_ < meanwhile) {
      --reading_;
      return std::nullopt;
    }
    left_bytes_ -= sizes_[next_];
    return next_++;
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> sizes_;
  uint64_t left_bytes_;
  size_t reading_;
  size_t next_ = 0;
};

// One ingest from beginning to end.
class Ingester {
 public:
  Ingester(Store& store, const IngestOptions& options)
      : store_(store), options_(options), threads_(ThreadCount(options.threads)) {}
  Result<IngestReport> Run();

 private:
  Status LoadKnown();
  Status FindRuns();
  Status RemoveOutdated();
  Status ConfigureCompression();
  Status FindCopies();
  void FindGrownFile(Candidate& candidate);
  Status IngestAll();
  void IngestOne(Candidate& candidate, bool is_large,
                 std::vector<std::unique_ptr<SourceWorker>>& workers);
  Result<std::vector<std::unique_ptr<SourceWorker>>> MakeWorkers(unsigned parsers);
  void ForEach(const std::function<void(size_t)>& work, size_t count) const;
  void Progress(uint64_t bytes);
  bool IsCopy(const std::string& fingerprint, const std::string& path, std::string& other);
  void StoreFailed(const Error& error);

  Store& store_;
  const IngestOptions& options_;
  unsigned threads_;
  std::vector<Candidate> candidates_;
  std::vector<KnownSource> known_;
  std::map<std::string, int64_t> run_of_folder_;
  std::map<std::string_view, std::set<int64_t>> touched_runs_;  // by format
  std::map<std::string, std::string> path_of_fingerprint_;
  std::mutex mutex_;
  std::optional<Error> store_error_;
  std::atomic<uint64_t> done_bytes_{0};
  uint64_t total_bytes_ = 0;
};

std::string GuessByName(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  if (ends(".prom"))
    return "Prometheus text metrics of the Inspector; its JSON logs say more and are what is read";
  if (ends(".parquet") || ends(".duckdb") || ends(".csv")) return "a table, not a log";
  return "no known format";
}

// What people who inject faults write beside the evidence.
bool IsAnswerKey(const std::string& path) {
  return std::filesystem::path(path).filename() == "fault_injection.log";
}

Status Ingester::LoadKnown() {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store_.Connect());
  TELLTALE_ASSIGN(const Table table,
                  connection->Query(
                      "SELECT source, path, size_bytes::BIGINT, fingerprint, format FROM source"));
  for (const std::vector<Cell>& row : table.rows) {
    known_.push_back({std::get<int64_t>(row[0]), CellText(row[1]),
                      static_cast<uint64_t>(std::get<int64_t>(row[2])), CellText(row[3]),
                      CellText(row[4])});
  }
  if (known_.empty()) return {};
  // An ingest that was killed after its sources were in, but before they were joined.
  TELLTALE_ASSIGN(const Table unlinked,
                  connection->Query("SELECT DISTINCT s.run FROM source s JOIN communicator_rank c "
                                    "USING (source) WHERE c.communicator IS NULL"));
  for (const std::vector<Cell>& row : unlinked.rows) {
    for (const Format& format : Formats()) {
      touched_runs_[format.name].insert(std::get<int64_t>(row[0]));
    }
  }
  return {};
}

// A run for each folder, or one for all by name. Runs are found again by name and folder, so that
// files that come later join the run they belong to.
Status Ingester::FindRuns() {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store_.Connect());
  for (Candidate& candidate : candidates_) {
    const std::string folder = options_.run.empty() ? candidate.found.folder : "";
    const auto [place, added] = run_of_folder_.try_emplace(folder, -1);
    if (added) {
      const std::string name = StoredText(
          !options_.run.empty() ? options_.run : std::filesystem::path(folder).filename().string());
      const std::array<Cell, 2> key = {name, StoredText(folder)};
      TELLTALE_ASSIGN(place->second,
                      connection->QueryInteger("SELECT coalesce(max(run), -1) FROM run "
                                               "WHERE name = $1 AND folder = $2",
                                               key));
      if (place->second < 0) {
        place->second = store_.NextId(Store::kRun);
        const std::array<Cell, 3> row = {place->second, name, StoredText(folder)};
        TELLTALE_TRY(connection->Run("INSERT INTO run VALUES ($1, $2, $3)", row));
      }
    }
    candidate.file.run = place->second;
  }
  return {};
}

// What was in a file before it grew to the same content as another.
Status Ingester::RemoveOutdated() {
  const std::span<const Format> formats = Formats();
  for (const Candidate& candidate : candidates_) {
    if (!candidate.done || candidate.grown == nullptr) continue;
    const auto format = std::find_if(formats.begin(), formats.end(), [&](const Format& each) {
      return each.name == candidate.grown->format;
    });
    if (format == formats.end()) continue;
    TELLTALE_ASSIGN(const auto worker, format->make_worker(store_, {}));
    TELLTALE_TRY(worker->Remove(candidate.grown->source));
    touched_runs_[format->name].insert(candidate.file.run);
  }
  return {};
}

void Ingester::ForEach(const std::function<void(size_t)>& work, size_t count) const {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  const size_t used = std::min<size_t>(threads_, count);
  for (size_t t = 0; t < used; ++t) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

void Ingester::FindGrownFile(Candidate& candidate) {
  for (const KnownSource& known : known_) {
    if (known.path != StoredText(candidate.file.path)) continue;
    candidate.same_path = &known;
    if (known.size_bytes >= candidate.file.size_bytes) continue;
    // An empty file is the beginning of every other.
    if (known.size_bytes > 0) {
      const auto prefix = FingerprintOfFile(candidate.file.path, known.size_bytes);
      if (!prefix || *prefix != known.fingerprint) continue;
    }
    candidate.file.replaces = known.source;
    candidate.grown = &known;
    candidate.report.message = "has grown since it was ingested; its earlier rows were replaced";
  }
}

// Copies can only be among files of the same size whose first and last bytes agree too, and a grown
// file only among those of the same path: just these are read twice.
Status Ingester::FindCopies() {
  std::set<uint64_t> known_sizes;
  for (const KnownSource& known : known_) known_sizes.insert(known.size_bytes);
  std::unordered_map<uint64_t, size_t> with_size;
  for (const Candidate& candidate : candidates_) {
    if (candidate.found.is_regular) ++with_size[candidate.file.size_bytes];
  }
  std::unordered_map<std::string, size_t> with_ends;
  std::vector<std::string> ends(candidates_.size());
  ForEach(
      [&](size_t i) {
        const Candidate& candidate = candidates_[i];
        if (!candidate.found.is_regular || candidate.done) return;
        if (with_size.at(candidate.file.size_bytes) < 2) return;
        ends[i] = EndsOfFile(candidate.file.path, candidate.file.size_bytes);
      },
      candidates_.size());
  for (const std::string& end : ends) {
    if (!end.empty()) ++with_ends[end];
  }
  std::set<std::string> known_paths;
  for (const KnownSource& known : known_) known_paths.insert(known.path);
  ForEach(
      [&](size_t i) {
        Candidate& candidate = candidates_[i];
        if (!candidate.found.is_regular || candidate.done) return;
        const bool may_be_copy = known_sizes.contains(candidate.file.size_bytes) ||
                                 (!ends[i].empty() && with_ends.at(ends[i]) > 1);
        if (may_be_copy) {
          auto fingerprint = FingerprintOfFile(candidate.file.path);
          if (fingerprint) {
            candidate.fingerprint = SourceFingerprint(*std::move(fingerprint), candidate.file.path,
                                                      candidate.file.size_bytes);
          }
        }
        if (known_paths.contains(StoredText(candidate.file.path))) FindGrownFile(candidate);
      },
      candidates_.size());
  for (const KnownSource& known : known_) {
    path_of_fingerprint_.emplace(known.fingerprint, known.path);
  }
  std::map<std::string, std::string> seen = path_of_fingerprint_;
  // Of files with the same content one that takes the place of an older source is the one that
  // stays.
  std::vector<Candidate*> in_order;
  for (Candidate& candidate : candidates_) {
    if (!candidate.fingerprint.empty()) in_order.push_back(&candidate);
  }
  std::stable_partition(in_order.begin(), in_order.end(),
                        [](const Candidate* candidate) { return candidate->grown != nullptr; });
  for (Candidate* const copy : in_order) {
    Candidate& candidate = *copy;
    const auto [place, added] = seen.emplace(candidate.fingerprint, candidate.file.path);
    if (added) continue;
    candidate.done = true;
    candidate.report.status = SourceStatus::kAlreadyThere;
    candidate.report.message = place->second == StoredText(candidate.file.path)
                                   ? "already in the store"
                                   : "same content as " + place->second;
  }
  return {};
}

bool Ingester::IsCopy(const std::string& fingerprint, const std::string& path, std::string& other) {
  const std::scoped_lock lock(mutex_);
  const auto [place, added] = path_of_fingerprint_.emplace(fingerprint, path);
  other = place->second;
  return !added;
}

void Ingester::Progress(uint64_t bytes) {
  const uint64_t done = done_bytes_ += bytes;
  if (options_.on_progress) options_.on_progress(done, total_bytes_);
}

void Ingester::StoreFailed(const Error& error) {
  const std::scoped_lock lock(mutex_);
  if (!store_error_) store_error_ = error;
}

Result<std::vector<std::unique_ptr<SourceWorker>>> Ingester::MakeWorkers(unsigned parsers) {
  WorkerOptions worker_options;
  worker_options.max_pending_records = std::max<uint64_t>(options_.pending_records / threads_, 1);
  worker_options.parsers = parsers;
  worker_options.log_zone_seconds = options_.log_zone_seconds;
  worker_options.on_progress = [this](uint64_t bytes) { Progress(bytes); };
  worker_options.is_copy = [this](const std::string& fingerprint, const std::string& path,
                                  std::string& other) { return IsCopy(fingerprint, path, other); };
  std::vector<std::unique_ptr<SourceWorker>> workers;
  for (const Format& format : Formats()) {
    TELLTALE_ASSIGN(workers.emplace_back(), format.make_worker(store_, worker_options));
  }
  return workers;
}

void Ingester::IngestOne(Candidate& candidate, bool is_large,
                         std::vector<std::unique_ptr<SourceWorker>>& workers) {
  SourceReport& report = candidate.report;
  const auto failed = [&](const Error& error) {
    report.status = SourceStatus::kFailed;
    report.message = error.message;
  };
  Fingerprint fingerprint;
  auto opened = OpenByteStream(candidate.file.path, &fingerprint);
  if (!opened) return failed(opened.error());
  std::vector<char> head(kHeadBytes);
  const auto got = opened->bytes->Read(std::span(head));
  if (!got) return failed(got.error());
  head.resize(*got);
  const std::string_view text(head.data(), head.size());
  const std::span<const Format> formats = Formats();
  const auto format =
      std::find_if(formats.begin(), formats.end(), [&](const Format& candidate_format) {
        return candidate_format.recognises(text, candidate.file.path);
      });
  if (format == formats.end()) {
    report.status = SourceStatus::kNotRecognised;
    report.message = head.empty() ? "empty" : GuessByName(candidate.file.path);
    Progress(candidate.file.size_bytes);
    return;
  }
  if (candidate.file.replaces < 0 && candidate.same_path != nullptr && format->is_whole &&
      candidate.same_path->format == format->name) {
    candidate.file.replaces = candidate.same_path->source;
    report.message = "was written anew since it was ingested; its earlier rows were replaced";
  }
  SourceWorker& worker = *workers[static_cast<size_t>(format - formats.begin())];
  Status status;
  if (is_large && opened->compression == Compression::kNone) {
    status = worker.IngestLarge(candidate.file, report);
  } else {
    const ByteStream* const decompressor = opened->bytes.get();
    const std::unique_ptr<ByteStream> whole = WithHead(std::move(head), *opened->bytes);
    status = worker.Ingest(candidate.file,
                           {whole.get(), decompressor, opened->compression, &fingerprint}, report);
  }
  if (!status) {
    StoreFailed(status.error());
    return failed(status.error());
  }
  const std::scoped_lock lock(mutex_);
  touched_runs_[format->name].insert(candidate.file.run);
}

Status Ingester::IngestAll() {
  // A file that comes alone is worth all threads sooner.
  const auto waiting = std::count_if(candidates_.begin(), candidates_.end(),
                                     [](const Candidate& candidate) { return !candidate.done; });
  const uint64_t large_bytes = waiting == 1
                                   ? std::min(kLargeLoneFileBytes, options_.large_file_bytes)
                                   : options_.large_file_bytes;
  const auto is_large = [&](const Candidate& candidate) {
    return candidate.found.is_regular && candidate.file.size_bytes >= large_bytes;
  };
  std::vector<size_t> large, small;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (!candidates_[i].done) (is_large(candidates_[i]) ? large : small).push_back(i);
  }
  if (!large.empty()) {
    TELLTALE_ASSIGN(auto workers, MakeWorkers(threads_));
    for (const size_t i : large) {
      IngestOne(candidates_[i], true, workers);
      if (store_error_) return tl::unexpected(*store_error_);
    }
    for (const auto& worker : workers) TELLTALE_TRY(worker->Flush());
  }
  std::vector<uint64_t> sizes;
  sizes.reserve(small.size());
  for (const size_t i : small) sizes.push_back(candidates_[i].file.size_bytes);
  const size_t used = std::min<size_t>(threads_, small.size());
  FileQueue queue(std::move(sizes), used);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < used; ++t) {
    threads.emplace_back([&] {
      auto workers = MakeWorkers(1);
      if (!workers) return StoreFailed(workers.error());
      uint64_t read_bytes = 0;
      while (const auto k = queue.Next(read_bytes)) {
        Candidate& candidate = candidates_[small[*k]];
        IngestOne(candidate, false, *workers);
        read_bytes += candidate.file.size_bytes;
        const std::scoped_lock lock(mutex_);
        if (store_error_) return;
      }
      for (const auto& worker : *workers) {
        if (const Status status = worker->Flush(); !status) return StoreFailed(status.error());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (store_error_) return tl::unexpected(*store_error_);
  return {};
}

// Numbers are packed without a look at what else DuckDB could do with them: it never came out
// smaller on any of our tables but where the schema names it, and looking took longer than packing.
Status Ingester::ConfigureCompression() {
  TELLTALE_ASSIGN(const std::unique_ptr<Connection> connection, store_.Connect());
  return connection->Run("SET force_compression = 'bitpacking'");
}

Result<IngestReport> Ingester::Run() {
  const auto start = std::chrono::steady_clock::now();
  for (FoundFile& found : FindFiles(options_.paths)) {
    Candidate candidate;
    candidate.file.path = found.absolute_path;
    candidate.file.size_bytes = found.size_bytes;
    candidate.report.path = found.path;
    candidate.report.message = found.error;
    candidate.done = !found.error.empty();
    if (!candidate.done && IsAnswerKey(found.path)) {
      candidate.done = true;
      candidate.report.status = SourceStatus::kNotRecognised;
      candidate.report.message = "says which faults were injected: no evidence, not opened";
    }
    candidate.found = std::move(found);
    total_bytes_ += candidate.file.size_bytes;
    candidates_.push_back(std::move(candidate));
  }
  TELLTALE_TRY(ConfigureCompression());
  TELLTALE_TRY(ConfigureCompression());
  TELLTALE_TRY(LoadKnown());
  TELLTALE_TRY(FindCopies());
  Status status = FindRuns();
  if (status) status = RemoveOutdated();
  if (status) {
    const EarlyWriteOut write_out(store_.file());
    status = IngestAll();
  }

  // What did go in is joined also when something failed.
  for (const Format& format : Formats()) {
    const std::set<int64_t>& touched = touched_runs_[format.name];
    const std::vector<int64_t> runs(touched.begin(), touched.end());
    const Status linked = format.link(store_, runs);
    if (status) status = linked;
  }
  if (status) status = store_.Checkpoint();
  if (!status) {
    return Fail(
        "the store could not be written: {}. Sources that were not complete are not in it; make "
        "room or fix the cause, and run the same command again",
        status.error().message);
  }
  IngestReport report;
  for (Candidate& candidate : candidates_) report.sources.push_back(std::move(candidate.report));
  report.bytes = done_bytes_;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

}  // namespace

StoreOptions IngestStoreOptions() {
  StoreOptions options;
  options.access = Access::kReadWrite;
  options.create = true;
  // Each of our threads runs its own inserts whole; workers of DuckDB's would only be waited for.
  options.threads = 1;
  options.memory_limit = "400MB";
  return options;
}

Result<IngestReport> Ingest(Store& store, const IngestOptions& options) {
  return Ingester(store, options).Run();
}

}  // namespace telltale
