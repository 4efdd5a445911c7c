#include "simulate/training_program.h"

#include <algorithm>

namespace telltale::simulate {
namespace {

constexpr double kGpuFlopsPerNs = 400e12 / 1e9;
constexpr int64_t kDataLoadingNs = 2'000'000;
constexpr int64_t kLaunchNs = 8'000;
constexpr int64_t kOptimizerNs = 4'000'000;
constexpr uint64_t kExpertsPerToken = 2;
constexpr uint64_t kBytesPerElement = 2;

class ProgramBuilder {
 public:
  ProgramBuilder(const TrainingOptions& options, const Layout& layout, uint32_t stage)
      : options_(options), layout_(layout), stage_(stage) {
    const uint32_t stages = options.pipeline_parallel;
    layers_ = options.layers / stages + (stage < options.layers % stages ? 1 : 0);
    const uint64_t hidden = options.hidden_size;
    activation_bytes_ = std::max<uint64_t>(
        1, options.sequence_length * hidden * kBytesPerElement / options.tensor_parallel);
    const double tokens = options.sequence_length;
    const double width = options.hidden_size;
    layer_ns_ = static_cast<int64_t>((24 * tokens * width * width + 4 * tokens * tokens * width) /
                                     options.tensor_parallel / kGpuFlopsPerNs);
    parameters_ = 12 * hidden * hidden * std::max(1U, layers_) / options.tensor_parallel;
  }

  std::vector<ProgramOperation> Build() {
    Compute(kDataLoadingNs);
    const uint32_t micro_batches = options_.micro_batches;
    const uint32_t warm_up = std::min(options_.pipeline_parallel - 1 - stage_, micro_batches);
    for (uint32_t i = 0; i < warm_up; ++i) Forward();
    for (uint32_t i = warm_up; i < micro_batches; ++i) {
      Forward();
      Backward();
    }
    for (uint32_t i = 0; i < warm_up; ++i) Backward();
    EndOfStep();
    return std::move(program_);
  }

 private:
  void Compute(int64_t ns) { compute_ns_ += ns; }

  // Adds an operation, unless the job has no communicator of this group.
  void Add(Group group, Function function, uint64_t message_bytes, int32_t peer_step = 0,
           uint32_t period = 1) {
    const uint32_t any_rank_of_stage = stage_ * options_.tensor_parallel * layout_.data_parallel;
    if (layout_.places[any_rank_of_stage].communicator[static_cast<size_t>(group)] < 0) return;
    program_.push_back(
        {group, function, peer_step, period, message_bytes, compute_ns_ + kLaunchNs});
    compute_ns_ = 0;
  }

  void ExpertExchange() {
    const uint64_t per_peer =
        std::max<uint64_t>(1, activation_bytes_ * kExpertsPerToken / options_.expert_parallel);
    if (options_.all_to_all == AllToAll::kNative) {
      Add(Group::kExpert, Function::kInvalid, per_peer * options_.expert_parallel);
    } else {
      Add(Group::kExpert, Function::kSendRecv, per_peer);
    }
  }

  void Layer(int64_t layer_ns) {
    Add(Group::kTensor, Function::kAllGather, activation_bytes_);
    Compute(layer_ns / 3);
    Add(Group::kTensor, Function::kReduceScatter, activation_bytes_);
    const bool experts = options_.expert_parallel > 1;
    experts ? ExpertExchange() : Add(Group::kTensor, Function::kAllGather, activation_bytes_);
    Compute(layer_ns - layer_ns / 3);
    experts ? ExpertExchange() : Add(Group::kTensor, Function::kReduceScatter, activation_bytes_);
  }

  void Forward() {
    if (stage_ > 0) Add(Group::kPipeline, Function::kRecv, activation_bytes_, -1);
    for (uint32_t i = 0; i < layers_; ++i) Layer(layer_ns_);
    const bool last = stage_ + 1 == options_.pipeline_parallel;
    if (!last) Add(Group::kPipeline, Function::kSend, activation_bytes_, +1);
  }

  void Backward() {
    const bool last = stage_ + 1 == options_.pipeline_parallel;
    if (!last) Add(Group::kPipeline, Function::kRecv, activation_bytes_, +1);
    for (uint32_t i = 0; i < layers_; ++i) Layer(2 * layer_ns_);
    if (stage_ > 0) Add(Group::kPipeline, Function::kSend, activation_bytes_, -1);
  }

  void Buckets(Function function) {
    const uint64_t total = parameters_ * kBytesPerElement;
    for (uint64_t done = 0; done < total; done += options_.bucket_bytes) {
      const uint64_t bucket = std::min(options_.bucket_bytes, total - done);
      Add(Group::kData, function, std::max<uint64_t>(1, bucket / layout_.data_parallel));
    }
  }

  void EndOfStep() {
    constexpr uint64_t kNormBytes = 4;
    Buckets(Function::kReduceScatter);
    const uint64_t norm_weights = uint64_t{2} * std::max(1U, layers_) * options_.hidden_size;
    Add(Group::kData, Function::kAllReduce, norm_weights * kBytesPerElement);
    Add(Group::kData, Function::kAllReduce, kNormBytes);
    Compute(kOptimizerNs);
    Buckets(Function::kAllGather);
    Add(Group::kWorld, Function::kAllReduce, 1 << 20);
    Add(Group::kWorld, Function::kAllReduce, kNormBytes);
    Add(Group::kWorld, Function::kBroadcast, 4096);
    Add(Group::kWorld, Function::kBroadcast, 65536, 0, 10);
  }

  const TrainingOptions& options_;
  const Layout& layout_;
  uint32_t stage_;
  uint32_t layers_;
  uint64_t activation_bytes_;
  int64_t layer_ns_;
  uint64_t parameters_;
  int64_t compute_ns_ = 0;
  std::vector<ProgramOperation> program_;
};

}  // namespace

std::vector<ProgramOperation> StageProgram(const TrainingOptions& options, const Layout& layout,
                                           uint32_t stage) {
  return ProgramBuilder(options, layout, stage).Build();
}

}  // namespace telltale::simulate
