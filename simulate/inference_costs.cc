#include "simulate/inference_costs.h"

namespace telltale::simulate {
namespace {

// The layers on kModelRanks ranks take:
constexpr double kModelRanks = 4;
constexpr double kWeightsNs = 15e6;  // to read them once
constexpr double kFeedForwardNsPerToken = 25e3;
constexpr double kAttentionNsPerToken = 6e3;
constexpr double kAttentionNsPerKvToken = 25;

constexpr double kMemoryBytesPerNs = 2800;
constexpr double kSmallestKernelNs = 1500;

// Collectives: latency and bytes a nanosecond, within a host and between hosts.
constexpr double kLocalLatencyNs = 11'000;
constexpr double kLocalBytesPerNs = 250;
constexpr double kNetworkLatencyNs = 32'000;
constexpr double kNetworkBytesPerNs = 40;

// A layer's part of the whole on one rank.
double ShareOf(const InferenceOptions& options) {
  return kModelRanks / options.Ranks() / options.layers;
}

}  // namespace

double AttentionNs(const InferenceOptions& options, double tokens, double kv_tokens) {
  return (tokens * kAttentionNsPerToken + kv_tokens * kAttentionNsPerKvToken) * ShareOf(options);
}

double FeedForwardNs(const InferenceOptions& options, double tokens) {
  return (kWeightsNs + tokens * kFeedForwardNsPerToken) * ShareOf(options);
}

double EmbeddingNs(double tokens) { return 6000 + tokens * 4; }

double LogitsNs(const InferenceOptions& options) {
  const auto bytes = static_cast<double>(kVocabulary * kHidden * kElementBytes);
  return 5000 + bytes / options.Ranks() / kMemoryBytesPerNs;
}

double ElementwiseNs(double bytes) { return kSmallestKernelNs + bytes / kMemoryBytesPerNs; }

CollectiveCost CostOf(const InferenceOptions& options, GpuWork collective, uint64_t in_elements) {
  const uint64_t ranks = options.Ranks();
  const uint64_t out = collective == GpuWork::kAllGather ? in_elements * ranks : in_elements;
  const bool is_remote = options.hosts > 1;
  const double bytes = static_cast<double>(out * kElementBytes);
  const double ns = is_remote ? kNetworkLatencyNs + bytes / kNetworkBytesPerNs
                              : kLocalLatencyNs + bytes / kLocalBytesPerNs;
  return {ns, in_elements, out};
}

uint64_t AllReducesAfter(const InferenceOptions& options, uint64_t place) {
  if (!GathersLogits(options)) return 0;
  const uint64_t all_reduces = options.CollectivesPerStep() - 1;
  const uint64_t places = 2 * uint64_t{options.layers};
  return (place + 1) * all_reduces / places - place * all_reduces / places;
}

bool GathersLogits(const InferenceOptions& options) {
  return options.Ranks() > 1 && options.CollectivesPerStep() > 0;
}

}  // namespace telltale::simulate
