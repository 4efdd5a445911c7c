#include "simulate/inference_detail_layer.h"

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

// Of a token, on all ranks together.
constexpr double kQkvBytes = 10'240 * kElementBytes;
constexpr double kKvBytes = 2048 * kElementBytes;
constexpr double kInnerBytes = 28'672 * kElementBytes;
constexpr double kHiddenBytes = kHidden * kElementBytes;

// Parts of a layer's weights.
constexpr double kQkvPart = 0.098;
constexpr double kOutputPart = 0.078;
constexpr double kGateUpPart = 0.549;
constexpr double kDownPart = 0.275;

// Fewer decodes than this leave much of the GPU idle: several blocks share the tokens of each.
constexpr uint64_t kMostSplitDecodes = 32;

enum Draw : uint64_t { kIsNoisy = 0x280, kNoisyPlace, kNoise };

bool IsPrefill(const StepEntry& entry) { return entry.tokens > 1 || !entry.samples; }

}  // namespace

LayerScript::LayerScript(const InferenceOptions& options, const InferenceStep& step, uint32_t rank,
                         ScriptBuilder& builder)
    : options_(options),
      names_(OperatorsOf(options.engine)),
      step_(step.number),
      rank_(rank),
      builder_(builder),
      tokens_(step.Tokens()) {
  for (const StepEntry& entry : step.entries) {
    if (IsPrefill(entry)) {
      prefill_tokens_ += entry.tokens;
      prefill_kv_tokens_ += entry.kv_tokens;
    } else {
      ++decodes_;
      decode_kv_tokens_ += entry.kv_tokens;
    }
  }
}

void LayerScript::Add(uint32_t layer) {
  const double feed_forward_ns = FeedForwardNs(options_, static_cast<double>(tokens_));
  AddNoise(layer, Place::kStart);
  AddNorm(layer == 0 ? names_.first_norm : names_.norm);
  AddLinear(Projection::kQkv, feed_forward_ns * kQkvPart);
  AddQkv();
  AddNoise(layer, Place::kAttention);
  AddAttention();
  AddNoise(layer, Place::kOutput);
  AddLinear(Projection::kOutput, feed_forward_ns * kOutputPart);
  AddAllReduces(2 * uint64_t{layer});
  AddNorm(names_.norm);
  AddLinear(Projection::kGateUp, feed_forward_ns * kGateUpPart);
  AddActivation();
  AddNoise(layer, Place::kActivation);
  AddLinear(Projection::kDown, feed_forward_ns * kDownPart);
  AddAllReduces(2 * uint64_t{layer} + 1);
}

void LayerScript::AddNorm(const KernelOperator& norm) {
  // The residual is read and written too.
  builder_.KernelOperator(norm.name, norm.kernel,
                          ElementwiseNs(4 * kHiddenBytes * static_cast<double>(tokens_)));
}

void LayerScript::AddLinear(Projection projection, double gpu_ns) {
  builder_.Operator("aten::linear", [&] {
    builder_.Operator("aten::t", [&] {
      builder_.Operator("aten::transpose", [&] { builder_.View("aten::as_strided"); });
    });
    builder_.Operator("aten::addmm", [&] {
      builder_.LaunchMatrix(MatrixKernel(projection, tokens_), gpu_ns);
      if (!SplitsInnerDimension(projection, tokens_)) return;
      builder_.Launch(kLaunchKernel, SplitReduceKernel(),
                      ElementwiseNs(8 * kHiddenBytes * static_cast<double>(tokens_)));
    });
  });
}

void LayerScript::AddQkv() {
  builder_.Operator("aten::split_with_sizes", [&] {
    for (int part = 0; part < 3; ++part) builder_.View("aten::as_strided");
  });
  builder_.KernelOperator(
      names_.rotary.name, names_.rotary.kernel,
      ElementwiseNs(2 * kQkvBytes * static_cast<double>(tokens_) / options_.Ranks()));
}

void LayerScript::AddAttention() {
  builder_.Operator(names_.attention, [&] {
    builder_.KernelOperator(
        names_.cache_write.name, names_.cache_write.kernel,
        ElementwiseNs(2 * kKvBytes * static_cast<double>(tokens_) / options_.Ranks()));
    if (decodes_ > 0) AddDecode();
    if (prefill_tokens_ > 0) AddPrefill();
  });
}

void LayerScript::AddPrefill() {
  builder_.Operator(names_.attention_forward, [&] {
    builder_.Operator("aten::empty");
    builder_.Launch(kLaunchKernel, names_.prefill_kernel,
                    5000 + AttentionNs(options_, static_cast<double>(prefill_tokens_),
                                       static_cast<double>(prefill_kv_tokens_)));
  });
}

void LayerScript::AddDecode() {
  const bool splits = decodes_ <= kMostSplitDecodes;
  builder_.Operator(names_.attention_forward, [&] {
    builder_.Operator("aten::empty");
    builder_.Launch(kLaunchKernel, splits ? names_.split_decode_kernel : names_.decode_kernel,
                    5000 + AttentionNs(options_, static_cast<double>(decodes_),
                                       static_cast<double>(decode_kv_tokens_)));
    if (!splits) return;
    builder_.Launch(kLaunchKernel, names_.combine_kernel,
                    ElementwiseNs(16 * kHiddenBytes * static_cast<double>(decodes_)));
  });
}

void LayerScript::AddActivation() {
  builder_.Operator("aten::empty");
  builder_.KernelOperator(
      names_.activation.name, names_.activation.kernel,
      ElementwiseNs(3 * kInnerBytes * static_cast<double>(tokens_) / options_.Ranks()));
}

void LayerScript::AddAllReduces(uint64_t place) {
  for (uint64_t i = AllReducesAfter(options_, place); i > 0; --i) {
    builder_.Operator(names_.all_reduce,
                      [&] { AddCollective(GpuWork::kAllReduce, tokens_ * kHidden); });
  }
}

void LayerScript::AddCollective(GpuWork collective, uint64_t in_elements) {
  const CollectiveCost cost = CostOf(options_, collective, in_elements);
  GpuPart gpu;
  gpu.kind = GpuKind::kCollective;
  gpu.gpu_ns = cost.gpu_ns;
  gpu.collective = collective;
  gpu.in_elements = cost.in_elements;
  gpu.out_elements = cost.out_elements;
  const bool is_all_reduce = collective == GpuWork::kAllReduce;
  if (is_all_reduce && !options_.collective_args) {
    builder_.Call(kLaunchKernelExC, gpu);
    return;
  }
  builder_.Recorded(collective, cost, [&] {
    builder_.Within(SpanKind::kRange, is_all_reduce ? "nccl:all_reduce" : "nccl:_all_gather_base",
                    [&] { builder_.Call(kLaunchKernelExC, gpu); });
  });
}

void LayerScript::AddNoise(uint32_t layer, Place place) {
  const auto draw = [&](Draw what) { return RandomBits(options_.seed, what, step_, layer, rank_); };
  constexpr uint64_t kLevels = 1'000'000;
  const auto noisy = static_cast<uint64_t>(options_.structure_noise * kLevels);
  if (BelowFromBits(draw(kIsNoisy), kLevels) >= noisy) return;
  if (BelowFromBits(draw(kNoisyPlace), kPlaces) != static_cast<uint64_t>(place)) return;
  switch (BelowFromBits(draw(kNoise), 8)) {
    case 0:  // no cached block is large enough
      builder_.Operator("aten::empty", [&] { builder_.Call(kMalloc); });
      return;
    case 1:  // and the GPU has no memory left: cached blocks are given back
      builder_.Operator("aten::empty", [&] {
        builder_.Call(kFree);
        builder_.Call(kMalloc);
      });
      return;
    case 2:
    case 3:
    case 4:  // whether another stream has let go of a block
      builder_.Operator("aten::empty", [&] { builder_.Call(kEventQuery); });
      return;
    default:  // a tensor of other strides than the next kernel takes
      builder_.Operator("aten::contiguous", [&] {
        builder_.Operator("aten::clone", [&] {
          builder_.Operator("aten::empty_like", [&] { builder_.Operator("aten::empty"); });
          builder_.KernelOperator("aten::copy_", CopyKernel(),
                                  ElementwiseNs(2 * kHiddenBytes * static_cast<double>(tokens_)));
        });
      });
  }
}

}  // namespace telltale::simulate
