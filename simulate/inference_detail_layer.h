#pragma once

// A transformer layer's operators in a script.

#include "simulate/inference_kernels.h"
#include "simulate/inference_run.h"
#include "simulate/inference_script.h"

namespace telltale::simulate {

class LayerScript {
 public:
  LayerScript(const InferenceOptions& options, const InferenceStep& step, uint32_t rank,
              ScriptBuilder& builder);

  void Add(uint32_t layer);
  void AddNorm(const KernelOperator& norm);
  void AddCollective(GpuWork collective, uint64_t in_elements);

 private:
  // Something that most layers do not do, at one of these places in a layer.
  enum class Place : uint8_t { kStart, kAttention, kOutput, kActivation };
  static constexpr uint64_t kPlaces = 4;

  void AddLinear(Projection projection, double gpu_ns);
  void AddQkv();
  void AddAttention();
  void AddPrefill();
  void AddDecode();
  void AddActivation();
  void AddAllReduces(uint64_t place);
  void AddNoise(uint32_t layer, Place place);

  const InferenceOptions& options_;
  const EngineOperators& names_;
  const uint64_t step_;
  const uint32_t rank_;
  ScriptBuilder& builder_;

  // The batch: tokens of prompts and of decodes, and what attention reads for them.
  uint64_t tokens_ = 0;
  uint64_t prefill_tokens_ = 0;
  uint64_t prefill_kv_tokens_ = 0;
  uint64_t decodes_ = 0;
  uint64_t decode_kv_tokens_ = 0;
};

}  // namespace telltale::simulate
