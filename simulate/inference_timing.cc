#include "simulate/inference_timing.h"

#include <algorithm>
#include <cmath>

#include "simulate/inference_detail.h"
#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr double kKernelNoise = 0.006;

constexpr int64_t kScheduleNs = 250'000;      // before a step
constexpr int64_t kScheduleRequestNs = 1500;  // and for each request
constexpr int64_t kLocalDispatchNs = 35'000;
constexpr int64_t kRemoteDispatchNs = 110'000;
constexpr int64_t kReturnNs = 60'000;  // sampled tokens to the engine
constexpr int64_t kKernelGapNs = 900;

enum Draw : uint64_t { kDispatch = 0x200, kHost, kStart, kKernel, kTransfer, kSkew, kReturn };

}  // namespace

StepTimer::StepTimer(const InferenceOptions& options)
    : options_(options), ranks_(options.Ranks()), times_(options.Ranks()), script_timer_(options) {}

uint64_t StepTimer::Jitter(uint64_t step, uint64_t item, uint64_t rank, uint64_t bound) const {
  return BelowFromBits(RandomBits(options_.seed, kHost, step, item, rank), bound);
}

void StepTimer::AddCollective(GpuWork work, uint64_t in_elements) {
  const CollectiveCost cost = CostOf(options_, work, in_elements);
  program_.push_back({work, cost.gpu_ns, cost.in_elements, cost.out_elements});
}

void StepTimer::FillProgram(const InferenceStep& step) {
  const double tokens = step.Tokens();
  const double attention_ns = AttentionNs(options_, tokens, static_cast<double>(step.kv_tokens));
  program_.clear();
  program_.push_back({GpuWork::kEmbedding, EmbeddingNs(tokens), 0, 0});
  for (uint64_t place = 0; place < 2 * uint64_t{options_.layers}; ++place) {
    if (place % 2 == 0) {
      program_.push_back({GpuWork::kAttention, 5000 + attention_ns, 0, 0});
    } else {
      program_.push_back({GpuWork::kFeedForward, FeedForwardNs(options_, tokens), 0, 0});
    }
    for (uint64_t i = AllReducesAfter(options_, place); i > 0; --i) {
      AddCollective(GpuWork::kAllReduce, step.Tokens() * kHidden);
    }
  }
  if (GathersLogits(options_)) {
    AddCollective(GpuWork::kAllGather, step.entries.size() * (kVocabulary / options_.Ranks()));
  }
  program_.push_back({GpuWork::kSampling, 14'000, 0, 0});
  program_.push_back({GpuWork::kCopyOut, 1800, step.entries.size() * 8, 0});
}

void StepTimer::Launch(uint64_t step, uint32_t item, uint32_t rank) {
  const uint64_t seed = options_.seed;
  const Item& what = program_[item];
  RankState& state = ranks_[rank];
  const uint64_t jitter = Jitter(step, item, rank, 1 << 20);
  WorkTimes times;
  times.work = what.work;
  times.in_elements = what.in_elements;
  times.out_elements = what.out_elements;
  times.operator_ns = state.host_ns + 1500 + static_cast<int64_t>(jitter & 0xfff);
  const int64_t before_call = IsCollective(what.work) ? 14'000 : 3500;
  times.call_ns = times.operator_ns + before_call + static_cast<int64_t>(jitter >> 8 & 0x7ff);
  times.call_end_ns = times.call_ns + 3200 + static_cast<int64_t>(jitter >> 10 & 0x3ff);
  times.operator_end_ns = times.call_end_ns + (IsCollective(what.work) ? 6000 : 1200);
  state.host_ns = times.operator_end_ns;
  const int64_t arrives_ns =
      times.call_ns + 2600 +
      static_cast<int64_t>(BelowFromBits(RandomBits(seed, kStart, step, item, rank), 1500));
  times.gpu_ns = std::max(arrives_ns, state.gpu_ns + kKernelGapNs);
  if (IsCollective(what.work)) {
    times.sequence = sequence_;
  } else {
    const double noise =
        LognormalFromBits(RandomBits(seed, kKernel, step, item, rank), kKernelNoise);
    times.gpu_end_ns = times.gpu_ns + std::llround(what.gpu_ns * noise);
    state.gpu_ns = times.gpu_end_ns;
  }
  if (item == 0) times_[rank].gpu_ns = times.gpu_ns;
  times_[rank].work.push_back(times);
}

void StepTimer::EndTogether(uint64_t step, uint32_t item) {
  const uint64_t seed = options_.seed;
  int64_t last_start_ns = 0;
  for (const RankTimes& rank : times_) {
    last_start_ns = std::max(last_start_ns, rank.work.back().gpu_ns);
  }
  const double noise = LognormalFromBits(RandomBits(seed, kTransfer, step, item), 0.12);
  const int64_t end_ns = last_start_ns + std::llround(program_[item].gpu_ns * noise);
  for (uint32_t rank = 0; rank < times_.size(); ++rank) {
    const auto skew =
        static_cast<int64_t>(BelowFromBits(RandomBits(seed, kSkew, step, item, rank), 1800));
    times_[rank].work.back().gpu_end_ns = end_ns + skew;
    ranks_[rank].gpu_ns = end_ns + skew;
  }
  ++sequence_;
}

void StepTimer::RunProgram(const InferenceStep& step) {
  FillProgram(step);
  for (uint32_t item = 0; item < program_.size(); ++item) {
    for (uint32_t rank = 0; rank < times_.size(); ++rank) Launch(step.number, item, rank);
    if (IsCollective(program_[item].work)) EndTogether(step.number, item);
  }
}

void StepTimer::Finish(uint64_t step, uint32_t rank) {
  RankTimes& times = times_[rank];
  RankState& state = ranks_[rank];
  times.gpu_end_ns = state.gpu_ns;
  times.wait_ns = state.host_ns + 2000;
  times.wait_end_ns = std::max(times.wait_ns + 1000, state.gpu_ns + 4000) +
                      static_cast<int64_t>(Jitter(step, program_.size(), rank, 3000));
  times.end_ns = times.wait_end_ns + 9000 +
                 static_cast<int64_t>(Jitter(step, program_.size() + 1, rank, 20'000));
  state.host_ns = times.end_ns;
}

const std::vector<RankTimes>& StepTimer::Time(InferenceStep& step) {
  const int64_t ready_ns = step.decided_ns + kScheduleNs +
                           kScheduleRequestNs * static_cast<int64_t>(step.entries.size());
  for (uint32_t rank = 0; rank < times_.size(); ++rank) {
    const bool is_remote = rank >= options_.gpus_per_host;
    const auto wait_ns = static_cast<double>(is_remote ? kRemoteDispatchNs : kLocalDispatchNs);
    const double noise =
        LognormalFromBits(RandomBits(options_.seed, kDispatch, step.number, rank), 0.25);
    RankState& state = ranks_[rank];
    const int64_t start_ns =
        std::max(state.host_ns + 1000, ready_ns + static_cast<int64_t>(wait_ns * noise));
    times_[rank].start_ns = start_ns;
    times_[rank].work.clear();
    state.host_ns = start_ns + 40'000 + static_cast<int64_t>(step.entries.size()) * 400;
  }
  if (options_.trace_detail == TraceDetail::kOperators) {
    for (uint32_t rank = 0; rank < times_.size(); ++rank) {
      times_[rank].script = StepScript(options_, step, rank);
    }
    script_timer_.Walk(step.number, ranks_, times_);
  } else {
    RunProgram(step);
  }
  for (uint32_t rank = 0; rank < times_.size(); ++rank) Finish(step.number, rank);
  step.start_ns = times_[0].start_ns;
  step.end_ns = times_[0].end_ns;
  step.done_ns =
      step.end_ns + kReturnNs +
      static_cast<int64_t>(BelowFromBits(RandomBits(options_.seed, kReturn, step.number), 30'000));
  return times_;
}

}  // namespace telltale::simulate
