#include "simulate/inference.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "simulate/inference_log.h"
#include "simulate/inference_scheduler.h"
#include "simulate/inference_setup.h"
#include "simulate/inference_spans.h"
#include "simulate/inference_timing.h"
#include "simulate/inference_trace.h"
#include "simulate/inference_truth.h"
#include "simulate/output_folder.h"

namespace telltale::simulate {
namespace {

constexpr const char* kTraceSuffix = ".pt.trace.json";

// The part of the run that traces cover, true time.
struct TracedPart {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
};

TracedPart TracedPartOf(const InferenceOptions& options, const InferenceRun& run) {
  const auto arrivals_ns = static_cast<double>(run.requests.back().arrival_ns - run.start_ns);
  const auto at = [&](double part) {
    return run.start_ns + static_cast<int64_t>(part * arrivals_ns);
  };
  return {at(options.trace_from),
          options.trace_to < 1 ? at(options.trace_to) : InferenceRequest::kNever};
}

class Traces {
 public:
  Traces(const InferenceOptions& options, const std::vector<InferenceHost>& hosts, TracedPart part)
      : options_(options), part_(part) {
    for (uint32_t rank = 0; rank < options.Ranks(); ++rank) {
      const InferenceHost& host = hosts[rank / options.gpus_per_host];
      files_.push_back(fmt::format(
          "{}/{}_{}.{}{}{}", host.name, host.name, host.worker_pids[rank % options.gpus_per_host],
          host.clock.Local(part.from_ns), kTraceSuffix, options.gzip ? ".gz" : ""));
      traces_.push_back(std::make_unique<InferenceTrace>(options, host, rank,
                                                         options.directory + "/" + files_.back()));
    }
  }

  Status Open() {
    for (auto& trace : traces_) TELLTALE_TRY(trace->Open(part_.from_ns));
    return {};
  }

  // Whole steps only: profilers start and stop between them.
  Status Append(const InferenceRun& run, const std::vector<RankTimes>& times, InferenceStep& step) {
    step.traced = step.decided_ns >= part_.from_ns && step.done_ns <= part_.to_ns;
    if (!step.traced) return {};
    ++traced_steps_;
    const std::string name = StepName(options_.engine, step);
    const std::string capture = options_.capture ? CaptureName(step, run.requests) : "";
    const bool is_first_host_alone = traced_steps_ <= options_.trace_lag_steps;
    const size_t ranks = is_first_host_alone ? options_.gpus_per_host : traces_.size();
    for (size_t rank = 0; rank < ranks; ++rank) {
      TELLTALE_TRY(traces_[rank]->Append(name, capture, times[rank]));
    }
    return {};
  }

  Status Close(int64_t end_ns) {
    for (auto& trace : traces_) TELLTALE_TRY(trace->Close(std::min(end_ns, part_.to_ns)));
    return {};
  }

  uint64_t TextBytes() const {
    uint64_t bytes = 0;
    for (const auto& trace : traces_) bytes += trace->text_bytes();
    return bytes;
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  const InferenceOptions& options_;
  const TracedPart part_;
  std::vector<std::string> files_;  // by rank, relative to the folder
  std::vector<std::unique_ptr<InferenceTrace>> traces_;
  uint64_t traced_steps_ = 0;  // by the first host
};

// What happens to the engine from outside, in order of time.
class Outside {
 public:
  explicit Outside(const std::vector<InferenceRequest>& requests) {
    for (uint32_t i = 0; i < requests.size(); ++i) {
      events_.push_back({requests[i].queued_ns, i, false});
      if (requests[i].abort_ns != InferenceRequest::kNever) {
        events_.push_back({requests[i].abort_ns, i, true});
      }
    }
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Event& a, const Event& b) { return a.at_ns < b.at_ns; });
  }

  void TellUntil(int64_t now_ns, Scheduler& scheduler) {
    for (; next_ < events_.size() && events_[next_].at_ns <= now_ns; ++next_) {
      const Event& event = events_[next_];
      if (event.is_abort) {
        scheduler.Abort(event.request, now_ns);
      } else {
        scheduler.Arrive(event.request);
      }
    }
  }
  bool IsOver() const { return next_ == events_.size(); }
  int64_t NextTime() const { return events_[next_].at_ns; }

 private:
  struct Event {
    int64_t at_ns = 0;
    uint32_t request = 0;
    bool is_abort = false;
  };
  std::vector<Event> events_;
  size_t next_ = 0;
};

// Runs until all requests but those that outlast the recording have ended.
Status RunEngine(const InferenceOptions& options, Traces& traces, InferenceRun& run,
                 const std::function<void(double)>& progress) {
  Scheduler scheduler(options, run.requests);
  StepTimer timer(options);
  Outside outside(run.requests);
  const uint64_t to_end = run.requests.size() - options.unfinished;
  int64_t now_ns = run.start_ns;
  while (true) {
    outside.TellUntil(now_ns, scheduler);
    if (scheduler.ended() == to_end) break;
    InferenceStep step = scheduler.Decide(now_ns);
    if (step.entries.empty()) {
      if (outside.IsOver()) return Fail("defect: the simulated engine waits for nothing");
      now_ns = std::max(now_ns, outside.NextTime());
      continue;
    }
    step.number = run.steps.size();
    const std::vector<RankTimes>& times = timer.Time(step);
    TELLTALE_TRY(traces.Append(run, times, step));
    scheduler.Complete(step);
    now_ns = step.done_ns;
    run.steps.push_back(std::move(step));
    constexpr uint64_t kStepsBetweenReports = 256;
    if (progress && run.steps.size() % kStepsBetweenReports == 0) {
      progress(static_cast<double>(scheduler.ended()) / static_cast<double>(to_end));
    }
  }
  run.end_ns = now_ns + 1'000'000;  // the last answer is on its way
  return {};
}

Status MakeHostFolders(const std::string& directory, const std::vector<InferenceHost>& hosts) {
  for (const InferenceHost& host : hosts) {
    const std::string folder = directory + "/" + host.name;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return Fail("cannot make the directory {}: {}", folder, error.message());
  }
  return {};
}

void CountOutcomes(const InferenceRun& run, InferenceSummary& summary) {
  summary.steps = run.steps.size();
  for (const InferenceStep& step : run.steps) summary.traced_steps += step.traced ? 1 : 0;
  for (const InferenceRequest& request : run.requests) {
    summary.preemptions += request.preemptions;
    uint64_t& count = request.end == RequestEnd::kFinished  ? summary.finished
                      : request.end == RequestEnd::kAborted ? summary.aborted
                                                            : summary.unfinished;
    ++count;
  }
}

}  // namespace

Result<InferenceSummary> SimulateInference(const InferenceOptions& options,
                                           const std::function<void(double)>& progress) {
  TELLTALE_TRY(CheckOptions(options));
  TELLTALE_TRY(PrepareDirectory(options.directory, options.force));
  InferenceSummary summary;
  summary.directory = options.directory;
  TELLTALE_ASSIGN(summary.truth_path, TruthPath(options.directory, options.truth_path));

  const std::vector<InferenceHost> hosts = MakeHosts(options);
  TELLTALE_TRY(MakeHostFolders(options.directory, hosts));
  InferenceRun run;
  run.requests = MakeRequests(options);
  run.start_ns = static_cast<int64_t>(options.start_us) * 1000;
  Traces traces(options, hosts, TracedPartOf(options, run));
  TELLTALE_TRY(traces.Open());
  TELLTALE_TRY(RunEngine(options, traces, run, progress));
  TELLTALE_TRY(traces.Close(run.end_ns));
  summary.files = traces.files().size() + hosts.size();
  summary.text_bytes = traces.TextBytes();

  const std::vector<std::string> logs = EngineLogs(options, hosts, run);
  for (size_t host = 0; host < hosts.size(); ++host) {
    TELLTALE_TRY(WriteText(options.directory + "/" + hosts[host].name + "/engine.log", logs[host]));
    summary.text_bytes += logs[host].size();
  }
  if (options.spans) {
    const SpanLines spans = Spans(options, hosts[0], run);
    TELLTALE_TRY(WriteText(options.directory + "/spans.jsonl", spans.text));
    summary.spans = spans.spans;
    summary.text_bytes += spans.text.size();
    ++summary.files;
  }
  TELLTALE_TRY(
      WriteText(summary.truth_path, InferenceTruthJson(options, hosts, traces.files(), run)));
  CountOutcomes(run, summary);
  return summary;
}

}  // namespace telltale::simulate
