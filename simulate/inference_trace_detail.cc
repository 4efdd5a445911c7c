// Traces of TraceDetail::kOperators: the spans of a rank's script.

#include <algorithm>

#include "simulate/inference_trace.h"

namespace telltale::simulate {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint64_t kMostBlocks = 2112;  // 16 on each of 132 multiprocessors
constexpr double kNsPerBlock = 20;

// What a collective's operators and kernel are described by.
WorkTimes WorkOf(const Span& span, const SpanTimes& times) {
  WorkTimes work;
  work.work = span.gpu.collective;
  work.operator_ns = times.start_ns;
  work.operator_end_ns = times.end_ns;
  work.gpu_ns = times.gpu_ns;
  work.gpu_end_ns = times.gpu_end_ns;
  work.in_elements = span.gpu.in_elements;
  work.out_elements = span.gpu.out_elements;
  work.sequence = times.sequence;
  return work;
}

}  // namespace

void InferenceTrace::AppendSpans(const RankTimes& times) {
  // The operators that are open: where each ends, and its External id.
  struct Open {
    size_t end = 0;
    uint64_t id = 0;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < times.script.size(); ++i) {
    while (!open.empty() && open.back().end <= i) open.pop_back();
    const Span& span = times.script[i];
    if (span.kind == SpanKind::kCall) {
      work_id_ = open.empty() ? 0 : open.back().id;
      SpanCall(span, times.spans[i]);
      continue;
    }
    BeginSpan(span, times.spans[i]);
    if (span.kind != SpanKind::kRange) open.push_back({span.end, operator_id_});
  }
}

void InferenceTrace::BeginSpan(const Span& span, const SpanTimes& times) {
  if (span.kind == SpanKind::kCommunication) return CollectiveRecord(WorkOf(span, times));
  Range(span.kind == SpanKind::kRange ? "user_annotation" : "cpu_op", span.name, times.start_ns,
        times.end_ns);
}

void InferenceTrace::SpanCall(const Span& span, const SpanTimes& times) {
  Call(span.name, span.callback, times.start_ns, times.end_ns);
  if (span.gpu.kind == GpuKind::kNone) return;
  Flow('s', times.start_ns);
  const GpuPart& gpu = span.gpu;
  switch (gpu.kind) {
    case GpuKind::kNone:
      break;
    case GpuKind::kKernel: {
      const auto blocks = static_cast<uint64_t>(gpu.gpu_ns / kNsPerBlock);
      Kernel(gpu.name, times.gpu_ns, times.gpu_end_ns,
             {32, 0, std::clamp(blocks, uint64_t{1}, kMostBlocks), kThreads}, "");
      break;
    }
    case GpuKind::kMatrixKernel:
      Kernel(gpu.name, times.gpu_ns, times.gpu_end_ns, {168, 229'376, 132, 384}, "");
      break;
    case GpuKind::kCopy:
      Transfer("gpu_memcpy", gpu.name, times.gpu_ns, times.gpu_end_ns, gpu.bytes);
      break;
    case GpuKind::kFill:
      Transfer("gpu_memset", gpu.name, times.gpu_ns, times.gpu_end_ns, gpu.bytes);
      break;
    case GpuKind::kCollective:
      Kernel(WorkOf(span, times));
      break;
  }
  Flow('f', times.gpu_ns);
}

}  // namespace telltale::simulate
