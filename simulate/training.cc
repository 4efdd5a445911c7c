#include "simulate/training.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <thread>

#include "simulate/inspector_process.h"
#include "simulate/output_folder.h"
#include "simulate/random.h"
#include "simulate/training_estimate.h"
#include "simulate/training_job.h"
#include "simulate/training_truth.h"

namespace telltale::simulate {
namespace {

// Records in memory before processes write.
constexpr size_t kRecordsAtOnce = 2 << 20;

Status CheckOptions(const TrainingOptions& options) {
  if (options.format != InspectorFormat::kV40 && options.nccl != NcclVersion::k230) {
    return Fail("format {} is newer than NCCL 2.28 and 2.29, which write v4.0",
                FormatName(options.format));
  }
  if (options.micro_batches == 0 || options.layers == 0 || options.hidden_size == 0 ||
      options.sequence_length == 0 || options.bucket_bytes == 0) {
    return Fail(
        "layers, hidden size, sequence length, micro batches and bucket size must be at least 1");
  }
  if (options.steps == 0) return Fail("a job has at least 1 step");
  constexpr uint64_t kDayMs = 86'400'000;
  if (options.interval_ms == 0 || options.interval_ms > kDayMs) {
    return Fail("the dump interval must be from 1 ms to a day, not {} ms", options.interval_ms);
  }
  constexpr uint64_t kMostStartUs = 4'102'444'800'000'000;
  if (options.start_us < kDayMs * 1000 || options.start_us > kMostStartUs) {
    return Fail("the start must be from one day after 1970 to the year 2100, not {} us",
                options.start_us);
  }
  constexpr uint64_t kMostLayers = 1 << 20;
  if (uint64_t{options.layers} * options.micro_batches > kMostLayers) {
    return Fail("layers × micro batches = {} × {} is more than {}", options.layers,
                options.micro_batches, kMostLayers);
  }
  if (options.ring_size == 0) return Fail("the ring size must be at least 1");
  if (options.target_records && options.target_bytes) {
    return Fail("give a number of records or of bytes, not both");
  }
  if (options.directory.empty()) return Fail("an output directory is needed");
  return {};
}

// Beside the directory, so that whoever reads the directory does not find it.
Result<std::string> TruthPath(const TrainingOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path directory = fs::path(options.directory).lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  if (directory.filename() == "." || directory.filename() == "..") {
    directory = fs::canonical(directory, error);
  }
  if (error) return Fail("cannot read the directory {}: {}", options.directory, error.message());
  if (options.truth_path.empty()) return directory.string() + ".truth.json";
  const fs::path parent = fs::absolute(options.truth_path).parent_path();
  if (fs::equivalent(parent, directory, error)) {
    return Fail("the truth must not lie among the logs in {}", options.directory);
  }
  return options.truth_path;
}

int64_t ClockOffsetUs(const TrainingOptions& options, uint32_t host) {
  double ms = 0;
  for (const Fault& fault : options.faults) {
    if (fault.kind == FaultKind::kClockOffset && *fault.host == host) ms += fault.milliseconds;
  }
  return std::llround(ms * 1000);
}

uint32_t RingSize(const TrainingOptions& options) {
  if (options.nccl != NcclVersion::k230) return 1;
  uint32_t size = options.ring_size;
  for (const Fault& fault : options.faults) {
    if (fault.kind == FaultKind::kRingLoss) size = std::min(size, fault.ring_size);
  }
  return size;
}

std::vector<std::pair<Group, InspectorIdentity>> IdentitiesOf(const TrainingOptions& options,
                                                              const Layout& layout, uint32_t rank) {
  std::vector<std::pair<Group, InspectorIdentity>> identities;
  for (size_t i = 0; i < kGroups; ++i) {
    if (layout.places[rank].communicator[i] < 0) continue;
    const auto group = static_cast<Group>(i);
    identities.emplace_back(group, IdentityOf(options, layout, rank, group));
  }
  return identities;
}

LogFile LogFileOf(const TrainingOptions& options, const Layout& layout, uint32_t rank) {
  const bool is_missing =
      std::any_of(options.faults.begin(), options.faults.end(), [&](const Fault& fault) {
        return fault.kind == FaultKind::kMissingRankFile && *fault.rank == rank;
      });
  const LogFile::Kind kind = is_missing     ? LogFile::Kind::kMissing
                             : options.gzip ? LogFile::Kind::kGzip
                                            : LogFile::Kind::kPlain;
  return {fmt::format("{}/{}", options.directory, LogFileName(options, layout, rank)), kind};
}

std::vector<InspectorProcess> MakeProcesses(const TrainingOptions& options, uint32_t ring_size,
                                            const Layout& layout, const TrainingJob& job) {
  std::vector<InspectorProcess> processes;
  processes.reserve(options.ranks);
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const Place& place = layout.places[rank];
    const InspectorSettings settings{options.format,
                                     options.verbose_events,
                                     ring_size,
                                     static_cast<int64_t>(options.interval_ms) * 1'000'000,
                                     static_cast<int64_t>(options.start_us),
                                     ClockOffsetUs(options, place.host),
                                     RandomBits(options.seed, 0xd0, rank)};
    processes.emplace_back(settings, IdentitiesOf(options, layout, rank), job.Program(place.stage),
                           LogFileOf(options, layout, rank));
  }
  return processes;
}

// Calls `work(rank, buffer)` for every rank on some threads, and returns the first rank's error.
template <typename Work>
Status ForEachRank(const TrainingOptions& options, std::vector<LineBuffer>& buffers, Work work) {
  std::atomic<uint32_t> next{0};
  std::mutex mutex;
  uint32_t failed_rank = options.ranks;
  Status status;
  const auto run = [&](LineBuffer& buffer) {
    for (uint32_t rank = next++; rank < options.ranks; rank = next++) {
      Status done = work(rank, buffer);
      if (done) continue;
      const std::lock_guard lock(mutex);
      if (rank < failed_rank) {
        failed_rank = rank;
        status = std::move(done);
      }
      next = options.ranks;
      return;
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < buffers.size(); ++i) threads.emplace_back(run, std::ref(buffers[i]));
  run(buffers[0]);
  for (std::thread& thread : threads) thread.join();
  return status;
}

uint32_t ThreadCount(const TrainingOptions& options) {
  const uint32_t wanted =
      options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  return std::min(wanted, options.ranks);
}

}  // namespace

Result<TrainingSummary> SimulateTraining(TrainingOptions options,
                                         const std::function<void(double)>& progress) {
  if (options.tensor_parallel == 0) options.tensor_parallel = UsualTensorParallel(options);
  TELLTALE_TRY(CheckOptions(options));
  TELLTALE_ASSIGN(const Layout layout, MakeLayout(options));
  const uint32_t ring_size = RingSize(options);
  TELLTALE_TRY(ChooseSteps(layout, ring_size, options));
  TELLTALE_ASSIGN(const Machine machine, Machine::Make(options, layout));
  TELLTALE_TRY(PrepareDirectory(options.directory, options.force));
  TELLTALE_ASSIGN(const std::string truth_path, TruthPath(options));

  TrainingJob job(options, layout, machine);
  std::vector<InspectorProcess> processes = MakeProcesses(options, ring_size, layout, job);
  std::vector<LineBuffer> buffers(ThreadCount(options));
  TELLTALE_TRY(ForEachRank(options, buffers,
                           [&](uint32_t rank, LineBuffer&) { return processes[rank].Open(); }));
  for (bool more = true; more;) {
    more = job.Advance(kRecordsAtOnce);
    const int64_t over = job.LastMoment() + 1;
    TELLTALE_TRY(ForEachRank(options, buffers, [&](uint32_t rank, LineBuffer& buffer) {
      return processes[rank].Take(job.Records(rank), more ? job.KnownUntil(rank) : over, buffer);
    }));
    job.RecordsWereTaken();
    if (progress) progress(job.Progress());
  }
  TELLTALE_TRY(ForEachRank(options, buffers, [&](uint32_t rank, LineBuffer& buffer) {
    return processes[rank].Finish(options.lose_last_interval, buffer);
  }));
  TELLTALE_TRY(WriteText(truth_path, TruthJson(options, ring_size, layout, job, processes)));

  TrainingSummary summary;
  summary.directory = options.directory;
  summary.truth_path = truth_path;
  summary.steps = options.steps;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const InspectorProcess& process = processes[rank];
    summary.files += process.file().is_missing() ? 0 : 1;
    summary.records += RecordsOf(process);
    summary.dump_stats += process.file().is_missing() ? 0 : process.counts().dump_stats;
    summary.text_bytes += process.file().text_bytes();
    summary.lost += LostBy(process, job, rank).Total();
  }
  return summary;
}

}  // namespace telltale::simulate
