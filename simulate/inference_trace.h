#pragma once

// One rank's part in traced steps as a Kineto trace of vLLM or SGLang workers: key order and line
// breaks as libkineto's output_json.cpp writes them, times relative to baseTimeNanoseconds on the
// clock of the rank's host. NCCL kernels carry the arguments that libkineto copies from the
// operator record_param_comms; their sequence number stays on the operator (`Seq`).

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "simulate/host_clock.h"
#include "simulate/inference_times.h"
#include "simulate/log_file.h"

namespace telltale::simulate {

class InferenceTrace {
 public:
  InferenceTrace(const InferenceOptions& options, const InferenceHost& host, uint32_t rank,
                 const std::string& path);

  Status Open(int64_t start_ns);
  // `capture` is the name of our own annotation within the step, or empty.
  Status Append(std::string_view step_name, std::string_view capture, const RankTimes& times);
  Status Close(int64_t end_ns);

  const std::string& path() const { return file_.path(); }
  uint64_t text_bytes() const { return file_.text_bytes(); }

 private:
  // A kernel as traces describe it, but for its time.
  struct KernelShape {
    uint32_t registers = 0;  // a thread
    uint32_t shared_bytes = 0;
    uint64_t blocks = 0;
    uint32_t threads = 0;  // a block
  };

  void AppendWork(const RankTimes& times);
  void AppendSpans(const RankTimes& times);
  void BeginSpan(const Span& span, const SpanTimes& times);
  void SpanCall(const Span& span, const SpanTimes& times);
  void Range(std::string_view category, std::string_view name, int64_t start_ns, int64_t end_ns);
  void Operator(const WorkTimes& times);
  void CollectiveOperator(const WorkTimes& times);
  void CollectiveRecord(const WorkTimes& times);
  void Call(std::string_view name, uint32_t callback, int64_t start_ns, int64_t end_ns);
  void Kernel(const WorkTimes& times);
  void Kernel(std::string_view name, int64_t start_ns, int64_t end_ns, const KernelShape& shape,
              std::string_view arguments);
  void Transfer(std::string_view category, std::string_view name, int64_t start_ns, int64_t end_ns,
                uint64_t bytes);
  void ExternalId();
  void Flow(char phase, int64_t at_ns);
  void Begin(std::string_view category, std::string_view name, uint32_t pid, uint32_t tid,
             int64_t start_ns, int64_t end_ns);
  void Metadata(std::string_view name, uint32_t pid, uint32_t tid, std::string_view key,
                std::string_view value, int64_t at_ns);
  std::string CollectiveArguments(const WorkTimes& times) const;
  bool HasArguments(GpuWork work) const;

  const InferenceOptions& options_;
  const HostClock clock_;
  const uint32_t rank_;
  const uint32_t gpu_;
  const uint32_t pid_;
  std::string ranks_text_;  // [0, 1, ...]
  LogFile file_;
  std::string out_;
  uint64_t operator_id_ = 0;  // of the last operator or range: its External id
  uint64_t work_id_ = 0;      // External id of the operator at work; 0: none
  uint64_t correlation_ = 0;  // of the last call
};

}  // namespace telltale::simulate
