#pragma once

// How long a step's parts take on the GPUs of one rank, in nanoseconds: a model of some 7 * 10^10
// parameters.

#include <cstdint>

#include "simulate/inference_run.h"

namespace telltale::simulate {

enum class GpuWork : uint8_t {
  kEmbedding,
  kAttention,
  kFeedForward,
  kAllReduce,
  kAllGather,
  kSampling,
  kCopyOut,  // of sampled tokens; the host waits for it
};

inline bool IsCollective(GpuWork work) {
  return work == GpuWork::kAllReduce || work == GpuWork::kAllGather;
}

inline constexpr uint64_t kHidden = 8192;
inline constexpr uint64_t kVocabulary = 128'256;
inline constexpr uint64_t kElementBytes = 2;

// Of a layer.
double AttentionNs(const InferenceOptions& options, double tokens, double kv_tokens);
// Its matrix multiplications.
double FeedForwardNs(const InferenceOptions& options, double tokens);

double EmbeddingNs(double tokens);
// Of the logits' weights, which are read once.
double LogitsNs(const InferenceOptions& options);
// Of kernels that do little more than read and write.
double ElementwiseNs(double bytes);

struct CollectiveCost {
  double gpu_ns = 0;  // from the last start on
  uint64_t in_elements = 0;
  uint64_t out_elements = 0;
};
CollectiveCost CostOf(const InferenceOptions& options, GpuWork collective, uint64_t in_elements);

// All-reduces after one of a step's places, of which each layer has two.
uint64_t AllReducesAfter(const InferenceOptions& options, uint64_t place);
bool GathersLogits(const InferenceOptions& options);

}  // namespace telltale::simulate
