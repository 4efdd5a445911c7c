#include "simulate/profile_program.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

const std::string kLaunch = "cudaLaunchKernel";
const std::string kStepName = "ProfilerStep";
const std::string kAllReduce = "nccl:all_reduce";
const std::string kNcclKernel =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";

// An operator as PyTorch runs it: operators within operators, and how many kernels it launches.
struct OperatorShape {
  std::array<std::string, 3> names;  // outermost first; empty ones are left out
  int kernels;
};

const std::array<OperatorShape, 9> kLayer = {{
    {{"aten::layer_norm", "aten::native_layer_norm", ""}, 1},
    {{"aten::linear", "aten::t", "aten::transpose"}, 0},
    {{"aten::linear", "aten::addmm", ""}, 1},
    {{"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention",
      "aten::_flash_attention_forward"},
     1},
    {{"aten::linear", "aten::addmm", ""}, 1},
    {{"aten::add", "", ""}, 1},
    {{"aten::gelu", "", ""}, 1},
    {{"aten::to", "aten::_to_copy", "aten::copy_"}, 1},
    {{"aten::linear", "aten::addmm", ""}, 1},
}};

}  // namespace

ProfileProgram::ProfileProgram(const ProfileOptions& options) : options_(options) {
  for (int i = 0; i < 40; ++i) {
    kernel_names_.push_back(
        i % 2 == 0
            ? fmt::format("void at::native::vectorized_elementwise_kernel<{}, at::native::"
                          "AUnaryFunctor<float, float, float, at::native::binary_internal::"
                          "MulFunctor<float> >, at::detail::Array<char*, 2> >(int, at::native::"
                          "AUnaryFunctor<float, float, float, at::native::binary_internal::"
                          "MulFunctor<float> >, at::detail::Array<char*, 2>)",
                          i)
            : fmt::format(
                  "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}x128x64_warpgroupsize1"
                  "x1x1_execute_segment_k_off_kernel__5x_cublas",
                  64 * i));
  }
  for (int i = 0; i < 200; ++i) {
    python_names_.push_back(
        fmt::format("torch/nn/modules/module.py({}): _call_impl_{}", 1000 + 7 * i, i));
  }
  now_ns_ = 1'000'000'000;
}

int64_t ProfileProgram::Draw(int64_t least_ns, int64_t spread_ns) {
  return least_ns + static_cast<int64_t>(BelowFromBits(RandomBits(options_.seed, ++draws_),
                                                       static_cast<uint64_t>(spread_ns)));
}

size_t ProfileProgram::Open(ProfileKind kind, const std::string* name) {
  now_ns_ += Draw(150, 900);
  ProfileEvent event;
  event.kind = kind;
  event.name = name;
  event.start_ns = now_ns_;
  event.number = next_id_++;
  event.operator_id = operator_id_;
  event.step = step_;
  events_.push_back(event);
  return events_.size() - 1;
}

void ProfileProgram::Close(size_t event) {
  now_ns_ += Draw(100, 700);
  events_[event].duration_ns = now_ns_ - events_[event].start_ns;
}

void ProfileProgram::Kernel(bool communication) {
  const size_t call = Open(ProfileKind::kCall, &kLaunch);
  now_ns_ += Draw(3000, 2500);
  Close(call);
  int64_t& free_ns = communication ? communication_free_ns_ : compute_free_ns_;
  ProfileEvent kernel = events_[call];
  kernel.kind = ProfileKind::kKernel;
  kernel.name = communication ? &kNcclKernel : &kernel_names_[kernel.number % kernel_names_.size()];
  kernel.stream = communication ? 20 : 7;
  kernel.start_ns = std::max(free_ns, now_ns_ + Draw(500, 1500));
  kernel.duration_ns = communication ? Draw(60'000, 30'000) : Draw(2'000, 9'000);
  free_ns = kernel.start_ns + kernel.duration_ns;
  events_.push_back(kernel);
}

void ProfileProgram::Operator(const std::string& name, int kernels, bool communication) {
  const size_t open = Open(ProfileKind::kOperator, &name);
  const uint64_t outer = operator_id_;
  operator_id_ = events_[open].number;
  for (int i = 0; i < kernels; ++i) Kernel(communication);
  Close(open);
  operator_id_ = outer;
}

const std::vector<ProfileEvent>& ProfileProgram::NextStep() {
  events_.clear();
  const size_t step = Open(ProfileKind::kAnnotation, &kStepName);
  for (uint32_t layer = 0; layer < options_.layers; ++layer) {
    std::vector<size_t> frames;
    for (uint32_t i = 0; options_.python && i < 6; ++i) {
      frames.push_back(
          Open(ProfileKind::kPython, &python_names_[(layer * 6 + i) % python_names_.size()]));
    }
    for (const OperatorShape& shape : kLayer) {
      std::vector<size_t> open;
      const uint64_t outer = operator_id_;
      for (size_t i = 0; i + 1 < shape.names.size() && !shape.names[i + 1].empty(); ++i) {
        open.push_back(Open(ProfileKind::kOperator, &shape.names[i]));
        operator_id_ = events_[open.back()].number;
      }
      Operator(shape.names[open.size()], shape.kernels, false);
      while (!open.empty()) {
        Close(open.back());
        open.pop_back();
      }
      operator_id_ = outer;
    }
    Operator(kAllReduce, 1, true);
    while (!frames.empty()) {
      Close(frames.back());
      frames.pop_back();
    }
  }
  Close(step);
  ++step_;
  return events_;
}

}  // namespace telltale::simulate
