#include "simulate/inference_detail.h"

#include <algorithm>

#include "simulate/inference_detail_layer.h"
#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr std::string_view kToGpu = "Memcpy HtoD (Pinned -> Device)";
constexpr std::string_view kToGpuPageable = "Memcpy HtoD (Pageable -> Device)";
constexpr std::string_view kOnGpu = "Memcpy DtoD (Device -> Device)";
constexpr std::string_view kToHost = "Memcpy DtoH (Device -> Pinned)";

constexpr uint64_t kBatchMultiple = 8;

// Requests in a hundred that ask for random sampling; the others take the likeliest token.
constexpr uint64_t kRandomPercent = 4;
constexpr uint64_t kDraw = 0x2a0;

bool SamplesAtRandom(const InferenceOptions& options, const InferenceStep& step) {
  return std::any_of(step.entries.begin(), step.entries.end(), [&](const StepEntry& entry) {
    return entry.samples &&
           BelowFromBits(RandomBits(options.seed, kDraw, entry.request), 100) < kRandomPercent;
  });
}

class StepScriptMaker {
 public:
  StepScriptMaker(const InferenceOptions& options, const InferenceStep& step, uint32_t rank)
      : options_(options),
        step_(step),
        tokens_(step.Tokens()),
        layers_(options, step, rank, builder_) {
    for (const StepEntry& entry : step.entries) samples_ += entry.samples ? 1 : 0;
  }

  Script Make() {
    Phase("gpu_model_runner: preprocess", [&] { AddInputs(); });
    Phase("gpu_model_runner: forward", [&] { AddForward(); });
    if (samples_ > 0) {
      Phase("gpu_model_runner: postprocess", [&] { AddLogits(); });
      Phase("gpu_model_runner: sample", [&] { AddSampling(); });
    }
    builder_.Call(kEventRecord);
    return builder_.Take();
  }

 private:
  // Ranges that only the newer vLLM has.
  template <typename Body>
  void Phase(std::string_view name, Body&& body) {
    if (options_.engine != Engine::kVllm) return body();
    builder_.Within(SpanKind::kRange, name, body);
  }

  void AddInputs() {
    for (uint32_t place = 0; place < step_.left; ++place) AddClosedGap();
    for (const StepEntry& entry : step_.entries) {
      if (entry.new_blocks > 0) AddBlockTableRow(entry);
    }
    const uint64_t requests = step_.entries.size();
    AddInput(tokens_ * 4);         // token ids
    AddInput(tokens_ * 8);         // their positions
    AddInput((requests + 1) * 4);  // where each request's begin
    AddInput(requests * 4);        // lengths
    // Rows up to the next batch size that kernels are tuned for.
    const uint64_t padding = (kBatchMultiple - requests % kBatchMultiple) % kBatchMultiple;
    if (padding > 0) builder_.Zero(padding * 4);
    builder_.Call(kEventRecord);  // the pinned buffers are free again after it
    builder_.Launch(kDriverLaunch, "_compute_slot_mapping_kernel",
                    ElementwiseNs(16 * static_cast<double>(tokens_)));
    if (step_.ContextRequests() > 0) {
      builder_.Operator("aten::to", [&] {
        builder_.Operator("aten::_to_copy", [&] {
          builder_.Operator("aten::empty_strided");
          builder_.Operator("aten::copy_",
                            [&] { builder_.Copy(kMemcpyPageable, kToGpuPageable, requests * 4); });
        });
      });
      builder_.KernelOperator("aten::sub", SubtractKernel(),
                              ElementwiseNs(12 * static_cast<double>(requests)));
    }
  }

  // The last request takes the place that one has given up.
  void AddClosedGap() {
    AddIndexSelect(1);
    builder_.Operator("aten::copy_", [&] { builder_.Copy(kMemcpyAsync, kOnGpu, 2048); });
  }

  void AddBlockTableRow(const StepEntry& entry) {
    AddSlice();
    builder_.Operator("aten::copy_",
                      [&] { builder_.Copy(kMemcpyAsync, kToGpu, uint64_t{entry.new_blocks} * 4); });
  }

  void AddInput(uint64_t bytes) {
    AddSlice();
    AddSlice();
    builder_.Operator("aten::copy_", [&] { builder_.Copy(kMemcpyAsync, kToGpu, bytes); });
  }

  void AddSlice() {
    builder_.Operator("aten::slice", [&] { builder_.View("aten::as_strided"); });
  }

  void AddIndexSelect(uint64_t rows) {
    builder_.Operator("aten::index_select", [&] {
      builder_.Operator("aten::empty");
      builder_.Launch(kLaunchKernel, IndexSelectKernel(rows),
                      ElementwiseNs(static_cast<double>(2 * rows * kHidden * kElementBytes)));
    });
  }

  void AddForward() {
    builder_.Operator("aten::embedding", [&] {
      builder_.Operator("aten::index_select", [&] {
        builder_.Operator("aten::empty");
        builder_.Launch(kLaunchKernel, IndexSelectKernel(tokens_),
                        EmbeddingNs(static_cast<double>(tokens_)));
      });
    });
    for (uint32_t layer = 0; layer < options_.layers; ++layer) layers_.Add(layer);
    layers_.AddNorm(OperatorsOf(options_.engine).norm);
  }

  void AddLogits() {
    AddIndexSelect(samples_);
    builder_.Operator("aten::linear", [&] {
      builder_.Operator("aten::t", [&] {
        builder_.Operator("aten::transpose", [&] { builder_.View("aten::as_strided"); });
      });
      builder_.Operator("aten::matmul", [&] {
        builder_.Operator("aten::mm", [&] {
          builder_.LaunchMatrix(MatrixKernel(Projection::kLogits, samples_), LogitsNs(options_));
        });
      });
    });
    if (!GathersLogits(options_)) return;
    builder_.Operator(OperatorsOf(options_.engine).all_gather, [&] {
      builder_.Operator("aten::empty");
      layers_.AddCollective(GpuWork::kAllGather, samples_ * (kVocabulary / options_.Ranks()));
      builder_.Operator("aten::reshape", [&] { builder_.View("aten::view"); });
    });
  }

  void AddSampling() {
    const double bytes = static_cast<double>(samples_ * kVocabulary) * 4;
    AddConversion(ToFloatKernel(), ElementwiseNs(1.5 * bytes));
    if (SamplesAtRandom(options_, step_)) {
      builder_.KernelOperator("aten::div_", DivideKernel(), ElementwiseNs(2 * bytes));
      builder_.Operator("aten::softmax", [&] {
        builder_.KernelOperator("aten::_softmax", SoftmaxKernel(), ElementwiseNs(3 * bytes));
      });
      builder_.Operator("aten::empty_like", [&] { builder_.Operator("aten::empty_strided"); });
      builder_.KernelOperator("aten::exponential_", ExponentialKernel(), ElementwiseNs(bytes));
      builder_.KernelOperator("aten::div_", DivideKernel(), ElementwiseNs(3 * bytes));
    }
    builder_.KernelOperator("aten::argmax", ArgmaxKernel(), 9000 + ElementwiseNs(bytes));
    AddConversion(ToIntKernel(), ElementwiseNs(static_cast<double>(samples_) * 12));
    builder_.Operator("aten::copy_", [&] { builder_.Copy(kMemcpyAsync, kToHost, samples_ * 8); });
  }

  void AddConversion(std::string_view kernel, double gpu_ns) {
    builder_.Operator("aten::to", [&] {
      builder_.Operator("aten::_to_copy", [&] {
        builder_.Operator("aten::empty_strided");
        builder_.KernelOperator("aten::copy_", kernel, gpu_ns);
      });
    });
  }

  const InferenceOptions& options_;
  const InferenceStep& step_;
  const uint64_t tokens_;
  uint64_t samples_ = 0;
  ScriptBuilder builder_;
  LayerScript layers_;
};

}  // namespace

Script StepScript(const InferenceOptions& options, const InferenceStep& step, uint32_t rank) {
  return StepScriptMaker(options, step, rank).Make();
}

}  // namespace telltale::simulate
