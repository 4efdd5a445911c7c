#include "simulate/inference_script_timing.h"

#include <algorithm>
#include <cmath>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr double kKernelNoise = 0.02;
constexpr double kTransferNoise = 0.12;
constexpr int64_t kKernelGapNs = 900;
constexpr int64_t kLaunchLatencyNs = 2600;  // from a call's start to the GPU
constexpr int64_t kReturnNs = 1400;         // from the GPU to a call that waits for it

enum Draw : uint64_t { kGap = 0x240, kLead, kTail, kStart, kKernel, kTransfer, kSkew };

}  // namespace

void ScriptTimer::Walk(uint64_t step, std::vector<RankState>& states,
                       std::vector<RankTimes>& times) {
  step_ = step;
  cursors_.assign(times.size(), {});
  for (RankTimes& rank : times) {
    rank.spans.assign(rank.script.size(), {});
    rank.gpu_ns = 0;
  }
  for (uint64_t number = 0;; ++number) {
    bool is_collective = false;
    for (uint32_t rank = 0; rank < times.size(); ++rank) {
      is_collective = WalkToCollective(rank, states[rank], times[rank]);
    }
    if (!is_collective) return;
    EndTogether(number, states, times);
  }
}

bool ScriptTimer::WalkToCollective(uint32_t rank, RankState& state, RankTimes& times) {
  Cursor& cursor = cursors_[rank];
  while (cursor.next < times.script.size()) {
    const size_t at = cursor.next++;
    CloseSpans(rank, at, state, times);
    const Span& span = times.script[at];
    SpanTimes& span_times = times.spans[at];
    state.host_ns += Jittered(kGap, rank, at, span.gap_ns);
    span_times.start_ns = state.host_ns;
    span_times.sequence = sequence_;
    state.host_ns += Jittered(kLead, rank, at, span.lead_ns);
    if (span.kind != SpanKind::kCall) {
      cursor.open.push_back(at);
      continue;
    }
    Call(rank, at, state, times);
    if (span.gpu.kind != GpuKind::kCollective) continue;
    cursor.collective = at;
    return true;
  }
  CloseSpans(rank, times.script.size(), state, times);
  return false;
}

void ScriptTimer::CloseSpans(uint32_t rank, size_t next, RankState& state, RankTimes& times) {
  std::vector<size_t>& open = cursors_[rank].open;
  while (!open.empty() && times.script[open.back()].end <= next) {
    const size_t at = open.back();
    open.pop_back();
    state.host_ns += Jittered(kTail, rank, at, times.script[at].tail_ns);
    times.spans[at].end_ns = state.host_ns;
  }
}

void ScriptTimer::Call(uint32_t rank, size_t span, RankState& state, RankTimes& times) {
  const GpuPart& gpu = times.script[span].gpu;
  SpanTimes& span_times = times.spans[span];
  if (gpu.kind != GpuKind::kNone) {
    const uint64_t bits = RandomBits(options_.seed, kStart, step_, span, rank);
    const int64_t arrives_ns =
        span_times.start_ns + kLaunchLatencyNs + static_cast<int64_t>(BelowFromBits(bits, 1500));
    span_times.gpu_ns = std::max(arrives_ns, state.gpu_ns + kKernelGapNs);
    if (times.gpu_ns == 0) times.gpu_ns = span_times.gpu_ns;
  }
  if (gpu.kind != GpuKind::kNone && gpu.kind != GpuKind::kCollective) {
    const double noise =
        LognormalFromBits(RandomBits(options_.seed, kKernel, step_, span, rank), kKernelNoise);
    span_times.gpu_end_ns = span_times.gpu_ns + std::llround(gpu.gpu_ns * noise);
    state.gpu_ns = span_times.gpu_end_ns;
  }
  if (times.script[span].wait != HostWait::kNothing) {
    state.host_ns = std::max(state.host_ns, state.gpu_ns + kReturnNs);
  }
  span_times.end_ns = state.host_ns;
}

void ScriptTimer::EndTogether(uint64_t number, std::vector<RankState>& states,
                              std::vector<RankTimes>& times) {
  int64_t last_start_ns = 0;
  for (uint32_t rank = 0; rank < times.size(); ++rank) {
    last_start_ns = std::max(last_start_ns, times[rank].spans[cursors_[rank].collective].gpu_ns);
  }
  const double gpu_ns = times[0].script[cursors_[0].collective].gpu.gpu_ns;
  const double noise =
      LognormalFromBits(RandomBits(options_.seed, kTransfer, step_, number), kTransferNoise);
  const int64_t end_ns = last_start_ns + std::llround(gpu_ns * noise);
  for (uint32_t rank = 0; rank < times.size(); ++rank) {
    const uint64_t bits = RandomBits(options_.seed, kSkew, step_, number, rank);
    states[rank].gpu_ns = end_ns + static_cast<int64_t>(BelowFromBits(bits, 1800));
    times[rank].spans[cursors_[rank].collective].gpu_end_ns = states[rank].gpu_ns;
  }
  ++sequence_;
}

int64_t ScriptTimer::Jittered(uint64_t draw, uint32_t rank, size_t span, uint32_t ns) const {
  if (ns == 0) return 0;
  return ns * 3 / 4 + static_cast<int64_t>(BelowFromBits(
                          RandomBits(options_.seed, draw, step_, span, rank), ns * 2 / 3 + 1));
}

}  // namespace telltale::simulate
