#include "simulate/inference_log_statistics.h"

namespace telltale::simulate {
namespace {

struct Counts {
  uint64_t prompt_tokens = 0;
  uint64_t output_tokens = 0;
  uint32_t preemptions = 0;
  bool IsIdle() const { return prompt_tokens == 0 && output_tokens == 0; }
};

void Count(const InferenceRun& run, const InferenceStep& step, Counts& counts) {
  counts.preemptions += static_cast<uint32_t>(step.preempted.size());
  for (const StepEntry& entry : step.entries) {
    if (!entry.samples) continue;
    ++counts.output_tokens;
    if (entry.is_context) counts.prompt_tokens += run.requests[entry.request].prompt_tokens;
  }
}

}  // namespace

std::vector<EngineStatistics> StatisticsOf(const InferenceOptions& options, const InferenceRun& run,
                                           int64_t interval_ns) {
  std::vector<EngineStatistics> reports;
  const double seconds = static_cast<double>(interval_ns) / 1e9;
  size_t next = 0;  // step that was not done at the last report
  bool was_idle = true;
  for (int64_t at_ns = run.start_ns + interval_ns; at_ns <= run.end_ns; at_ns += interval_ns) {
    Counts counts;
    for (; next < run.steps.size() && run.steps[next].done_ns <= at_ns; ++next) {
      Count(run, run.steps[next], counts);
    }
    const bool is_idle = counts.IsIdle();
    const bool leave_out = is_idle && was_idle;
    was_idle = is_idle;
    if (leave_out) continue;
    EngineStatistics report;
    report.at_ns = at_ns;
    report.prompt_tokens_per_s = static_cast<double>(counts.prompt_tokens) / seconds;
    report.output_tokens_per_s = static_cast<double>(counts.output_tokens) / seconds;
    report.preemptions = counts.preemptions;
    if (next < run.steps.size() && run.steps[next].decided_ns <= at_ns) {
      const InferenceStep& step = run.steps[next];
      report.running = step.running;
      report.waiting = step.waiting;
      report.kv_used = static_cast<double>(step.used_blocks) / options.kv_blocks;
    }
    reports.push_back(report);
  }
  return reports;
}

}  // namespace telltale::simulate
