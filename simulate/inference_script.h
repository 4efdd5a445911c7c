#pragma once

// What one rank does in a step, in order and without times: operators within operators, calls, and
// what calls have the GPU do.

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "simulate/inference_costs.h"

namespace telltale::simulate {

enum class SpanKind : uint8_t { kRange, kOperator, kCommunication, kCall };

// What a call returns after.
enum class HostWait : uint8_t { kNothing, kItsWork, kAllWork };

enum class GpuKind : uint8_t { kNone, kKernel, kMatrixKernel, kCopy, kFill, kCollective };

struct GpuPart {
  GpuKind kind = GpuKind::kNone;
  std::string_view name;
  double gpu_ns = 0;
  uint64_t bytes = 0;  // of a copy or fill
  // Of a collective, and of the operators that record it.
  GpuWork collective = GpuWork::kAllReduce;
  uint64_t in_elements = 0;
  uint64_t out_elements = 0;
};

struct Span {
  SpanKind kind = SpanKind::kOperator;
  std::string_view name;  // as all names here: of static storage
  uint32_t callback = 0;  // cbid of a call
  // The host's own time, in nanoseconds: since the span before, at the start, and at the end.
  uint32_t gap_ns = 0;
  uint32_t lead_ns = 0;
  uint32_t tail_ns = 0;
  HostWait wait = HostWait::kNothing;
  GpuPart gpu;     // of calls
  size_t end = 0;  // index after its last descendant
};

// Parents before their children, in order of start.
using Script = std::vector<Span>;

struct ApiCall {
  std::string_view name;
  uint32_t callback = 0;  // cbid
  uint32_t host_ns = 0;
  HostWait wait = HostWait::kNothing;
};

inline constexpr ApiCall kLaunchKernel{"cudaLaunchKernel", 211, 3800, HostWait::kNothing};
inline constexpr ApiCall kLaunchKernelExC{"cudaLaunchKernelExC", 430, 4200, HostWait::kNothing};
inline constexpr ApiCall kDriverLaunch{"cuLaunchKernelEx", 652, 4400, HostWait::kNothing};
inline constexpr ApiCall kMemcpyAsync{"cudaMemcpyAsync", 41, 5600, HostWait::kNothing};
inline constexpr ApiCall kMemcpyPageable{"cudaMemcpyAsync", 41, 7200, HostWait::kItsWork};
inline constexpr ApiCall kMemsetAsync{"cudaMemsetAsync", 51, 4300, HostWait::kNothing};
inline constexpr ApiCall kEventRecord{"cudaEventRecord", 135, 1300, HostWait::kNothing};
inline constexpr ApiCall kEventQuery{"cudaEventQuery", 136, 900, HostWait::kNothing};
inline constexpr ApiCall kMalloc{"cudaMalloc", 20, 140'000, HostWait::kNothing};
inline constexpr ApiCall kFree{"cudaFree", 22, 210'000, HostWait::kAllWork};

class ScriptBuilder {
 public:
  // `body` adds what is within the span.
  template <typename Body>
  void Within(SpanKind kind, std::string_view name, Body&& body) {
    const size_t at = Open(kind, name);
    body();
    Close(at);
  }
  template <typename Body>
  void Operator(std::string_view name, Body&& body) {
    Within(SpanKind::kOperator, name, body);
  }
  void Operator(std::string_view name) { Close(Open(SpanKind::kOperator, name)); }
  void Call(const ApiCall& call) { Call(call, {}); }
  void Call(const ApiCall& call, const GpuPart& gpu);

  void Launch(const ApiCall& call, std::string_view kernel, double gpu_ns);
  void LaunchMatrix(std::string_view kernel, double gpu_ns);
  void Copy(const ApiCall& call, std::string_view name, uint64_t bytes);
  // An operator that fills memory with zeroes.
  void Zero(uint64_t bytes);
  // An operator that launches one kernel.
  void KernelOperator(std::string_view name, std::string_view kernel, double gpu_ns);
  // An operator on sizes and strides alone.
  void View(std::string_view name);

  // Operators that record a collective: between these calls what launches it.
  template <typename Body>
  void Recorded(GpuWork collective, const CollectiveCost& cost, Body&& body) {
    const size_t at = Open(SpanKind::kCommunication, "record_param_comms");
    script_[at].gpu.collective = collective;
    script_[at].gpu.in_elements = cost.in_elements;
    script_[at].gpu.out_elements = cost.out_elements;
    body();
    Close(at);
  }

  Script Take() { return std::move(script_); }

 private:
  size_t Open(SpanKind kind, std::string_view name);
  void Close(size_t at);

  Script script_;
  uint32_t depth_ = 0;  // operators that are open
};

}  // namespace telltale::simulate
