#pragma once

// The operators of engines and the kernels that they launch, as traces name them: which kernel does
// an operator's work depends on how much there is.

#include <cstdint>
#include <string_view>

#include "simulate/inference_options.h"

namespace telltale::simulate {

// A layer's matrix multiplications, and the one that makes logits.
enum class Projection : uint8_t { kQkv, kOutput, kGateUp, kDown, kLogits };

// The kernel's tiles are chosen by the number of rows.
std::string_view MatrixKernel(Projection projection, uint64_t rows);
// Few rows and a long inner dimension: several blocks share it, and a second kernel adds up.
bool SplitsInnerDimension(Projection projection, uint64_t rows);

struct KernelOperator {
  std::string_view name;
  std::string_view kernel;
};

// What engines bring along, instead of PyTorch's own operators.
struct EngineOperators {
  KernelOperator first_norm;
  KernelOperator norm;  // adds the residual
  KernelOperator rotary;
  KernelOperator cache_write;
  KernelOperator activation;
  std::string_view attention;
  std::string_view attention_forward;
  std::string_view prefill_kernel;
  std::string_view decode_kernel;
  std::string_view split_decode_kernel;
  std::string_view combine_kernel;
  std::string_view all_reduce;
  std::string_view all_gather;
};
const EngineOperators& OperatorsOf(Engine engine);

std::string_view IndexSelectKernel(uint64_t rows);
std::string_view ToFloatKernel();
std::string_view ToIntKernel();
std::string_view CopyKernel();
std::string_view SubtractKernel();
std::string_view DivideKernel();
std::string_view SoftmaxKernel();
std::string_view ExponentialKernel();
std::string_view ArgmaxKernel();
std::string_view SplitReduceKernel();

}  // namespace telltale::simulate
