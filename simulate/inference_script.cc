#include "simulate/inference_script.h"

namespace telltale::simulate {
namespace {

// Between operators that Python calls, and between those that an operator calls.
constexpr uint32_t kPythonGapNs = 3600;
constexpr uint32_t kGapNs = 800;

constexpr uint32_t kCallGapNs = 1100;
constexpr uint32_t kLeadNs = 1300;
constexpr uint32_t kTailNs = 600;
constexpr uint32_t kViewNs = 350;

constexpr double kCopyNs = 1000;
constexpr double kCopyBytesPerNs = 22;

}  // namespace

size_t ScriptBuilder::Open(SpanKind kind, std::string_view name) {
  Span span;
  span.kind = kind;
  span.name = name;
  span.gap_ns = depth_ == 0 ? kPythonGapNs : kGapNs;
  span.lead_ns = kLeadNs;
  span.tail_ns = kTailNs;
  script_.push_back(span);
  if (kind != SpanKind::kRange) ++depth_;
  return script_.size() - 1;
}

void ScriptBuilder::Close(size_t at) {
  if (script_[at].kind != SpanKind::kRange) --depth_;
  script_[at].end = script_.size();
}

void ScriptBuilder::Call(const ApiCall& call, const GpuPart& gpu) {
  Span span;
  span.kind = SpanKind::kCall;
  span.name = call.name;
  span.callback = call.callback;
  span.gap_ns = kCallGapNs;
  span.lead_ns = call.host_ns;
  span.wait = call.wait;
  span.gpu = gpu;
  span.end = script_.size() + 1;
  script_.push_back(span);
}

void ScriptBuilder::Launch(const ApiCall& call, std::string_view kernel, double gpu_ns) {
  GpuPart gpu;
  gpu.kind = GpuKind::kKernel;
  gpu.name = kernel;
  gpu.gpu_ns = gpu_ns;
  Call(call, gpu);
}

void ScriptBuilder::LaunchMatrix(std::string_view kernel, double gpu_ns) {
  GpuPart gpu;
  gpu.kind = GpuKind::kMatrixKernel;
  gpu.name = kernel;
  gpu.gpu_ns = gpu_ns;
  Call(kDriverLaunch, gpu);
}

void ScriptBuilder::Copy(const ApiCall& call, std::string_view name, uint64_t bytes) {
  GpuPart gpu;
  gpu.kind = GpuKind::kCopy;
  gpu.name = name;
  gpu.gpu_ns = kCopyNs + static_cast<double>(bytes) / kCopyBytesPerNs;
  gpu.bytes = bytes;
  Call(call, gpu);
}

void ScriptBuilder::Zero(uint64_t bytes) {
  GpuPart gpu;
  gpu.kind = GpuKind::kFill;
  gpu.name = "Memset (Device)";
  gpu.gpu_ns = ElementwiseNs(static_cast<double>(bytes));
  gpu.bytes = bytes;
  Operator("aten::zero_", [&] { Call(kMemsetAsync, gpu); });
}

void ScriptBuilder::KernelOperator(std::string_view name, std::string_view kernel, double gpu_ns) {
  Operator(name, [&] { Launch(kLaunchKernel, kernel, gpu_ns); });
}

void ScriptBuilder::View(std::string_view name) {
  const size_t at = Open(SpanKind::kOperator, name);
  script_[at].lead_ns = kViewNs;
  script_[at].tail_ns = kViewNs;
  Close(at);
}

}  // namespace telltale::simulate
