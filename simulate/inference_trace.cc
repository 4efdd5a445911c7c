#include "simulate/inference_trace.h"

#include <array>
#include <iterator>

#include <fmt/format.h>

#include "base/json_text.h"
#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr int64_t kBaseNs = 1'767'189'312'000'000'000;  // as of PyTorch builds of late 2025
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr uint32_t kStream = 7;

struct Kind {
  std::string_view operator_name;
  std::string_view call;
  uint32_t callback;  // cbid
  std::string_view kernel;
};

constexpr std::array<Kind, 7> kKinds = {{
    {"aten::embedding", "cudaLaunchKernel", 211,
     "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, int, unsigned "
     "int, 2, 2, -2>"},
    {"vllm::unified_attention_with_output", "cuLaunchKernelEx", 652,
     "void flash::flash_fwd_splitkv_kernel<128, 64, 128, 4>(flash::Flash_fwd_params)"},
    {"aten::mm", "cudaLaunchKernelExC", 430, "nvjet_sm90_tst_128x64_64x9_1x2_h_bz_coopA_TNT"},
    {"record_param_comms", "cudaLaunchKernelExC", 430,
     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {"record_param_comms", "cudaLaunchKernelExC", 430,
     "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
    {"aten::argmax", "cudaLaunchKernel", 211,
     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::ArgMaxOps<float>, unsigned int, long, 4, 4> >"},
    {"aten::copy_", "cudaMemcpyAsync", 41, "Memcpy DtoH (Device -> Pinned)"},
}};

const Kind& KindOf(GpuWork work) { return kKinds[static_cast<size_t>(work)]; }

std::string_view OperatorName(const InferenceOptions& options, GpuWork work) {
  if (work == GpuWork::kAttention && options.engine == Engine::kSglang) {
    return "sgl_kernel::fwd";
  }
  return KindOf(work).operator_name;
}

std::string RanksText(uint32_t ranks) {
  std::string text = "[";
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    fmt::format_to(std::back_inserter(text), "{}{}", rank > 0 ? ", " : "", rank);
  }
  return text + "]";
}

}  // namespace

InferenceTrace::InferenceTrace(const InferenceOptions& options, const InferenceHost& host,
                               uint32_t rank, const std::string& path)
    : options_(options),
      clock_(host.clock),
      rank_(rank),
      gpu_(rank % options.gpus_per_host),
      pid_(host.worker_pids[gpu_]),
      ranks_text_(RanksText(options.Ranks())),
      file_(path, options.gzip ? LogFile::Kind::kGzip : LogFile::Kind::kPlain) {}

Status InferenceTrace::Open(int64_t start_ns) {
  std::string devices;
  for (uint32_t gpu = 0; gpu < options_.gpus_per_host; ++gpu) {
    fmt::format_to(std::back_inserter(devices),
                   "{}\n    {{\n      \"id\": {}, \"name\": \"NVIDIA H100 80GB HBM3\", "
                   "\"totalGlobalMem\": 84929347584,\n      \"computeMajor\": 9, "
                   "\"computeMinor\": 0, \"numSms\": 132\n    }}",
                   gpu > 0 ? "," : "", gpu);
  }
  out_ = fmt::format(
      "{{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{}\n  ],\n  \"cupti_version\": 26,\n  "
      "\"cuda_runtime_version\": 12080,\n  \"cuda_driver_version\": 12080,\n  "
      "\"distributedInfo\": {{\"backend\": \"nccl\", \"rank\": {}, \"world_size\": {}, "
      "\"pg_count\": 2, \"pg_config\": [{{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", "
      "\"backend_config\": \"cuda:nccl\", \"pg_size\": {}, \"ranks\": {}}}, {{\"pg_name\": \"3\", "
      "\"pg_desc\": \"undefined\", \"backend_config\": \"cuda:nccl\", \"pg_size\": {}, \"ranks\": "
      "{}}}], \"nccl_version\": \"2.27.5\"}},\n  \"with_stack\": 0,\n  \"trace_id\": "
      "\"{:016X}{:016X}\",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {},\n  "
      "\"traceEvents\": [\n",
      devices, rank_, options_.Ranks(), options_.Ranks(), ranks_text_, options_.Ranks(),
      ranks_text_, RandomBits(options_.seed, 0x300, rank_), RandomBits(options_.seed, 0x301, rank_),
      kBaseNs);
  const std::string name =
      options_.engine == Engine::kSglang ? fmt::format("sglang::scheduler_TP{}", rank_)
      : options_.engine == Engine::kVllm ? fmt::format("VLLM::Worker_TP{}", rank_)
                                         : "python3";
  Metadata("process_name", pid_, 0, "name", JsonString(name), start_ns);
  Metadata("process_labels", pid_, 0, "labels", "\"CPU\"", start_ns);
  Metadata("process_sort_index", pid_, 0, "sort_index", fmt::format("{}", pid_), start_ns);
  Metadata("process_name", gpu_, 0, "name", JsonString(name), start_ns);
  Metadata("process_labels", gpu_, 0, "labels", fmt::format("\"GPU {}\"", gpu_), start_ns);
  Metadata("thread_name", pid_, pid_, "name", fmt::format("\"thread {} (python3)\"", pid_),
           start_ns);
  Metadata("thread_name", gpu_, kStream, "name", fmt::format("\"stream {} \"", kStream), start_ns);
  return file_.Create();
}

Status InferenceTrace::Append(std::string_view step_name, std::string_view capture,
                              const RankTimes& times) {
  Range("user_annotation", step_name, times.start_ns, times.end_ns);
  const uint64_t step_id = operator_id_;
  if (!capture.empty()) {
    Range("user_annotation", capture, times.start_ns + 2000, times.end_ns - 2000);
  }
  if (options_.trace_detail == TraceDetail::kOperators) {
    AppendSpans(times);
  } else {
    AppendWork(times);
  }
  work_id_ = 0;
  Call("cudaEventSynchronize", 137, times.wait_ns, times.wait_end_ns);
  // The GPU's twin of the range starts a nanosecond before its first work and ends one after its
  // last.
  Begin("gpu_user_annotation", step_name, gpu_, kStream, times.gpu_ns - 1, times.gpu_end_ns + 1);
  fmt::format_to(std::back_inserter(out_), "\"External id\": {}\n    }}\n  }},\n", step_id);
  if (out_.size() < kPieceBytes) return {};
  TELLTALE_TRY(file_.Append(out_));
  out_.clear();
  return {};
}

void InferenceTrace::AppendWork(const RankTimes& times) {
  for (const WorkTimes& work : times.work) {
    // NCCL called directly has no operator.
    work_id_ = 0;
    if (HasArguments(work.work)) {
      CollectiveOperator(work);
    } else if (!IsCollective(work.work)) {
      Operator(work);
    }
    const Kind& kind = KindOf(work.work);
    Call(kind.call, kind.callback, work.call_ns, work.call_end_ns);
    Flow('s', work.call_ns);
    if (work.work == GpuWork::kCopyOut) {
      Transfer("gpu_memcpy", kind.kernel, work.gpu_ns, work.gpu_end_ns, work.in_elements);
    } else {
      Kernel(work);
    }
    Flow('f', work.gpu_ns);
  }
}

Status InferenceTrace::Close(int64_t end_ns) {
  const int64_t at_ns = clock_.Local(end_ns) - kBaseNs;
  fmt::format_to(std::back_inserter(out_),
                 "  {{\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    "
                 "\"pid\": \"\", \"tid\": \"\", \"ts\": {}.{:03}\n  }}\n  ],\n  \"traceName\": "
                 "\"trace.json\"\n}}\n",
                 at_ns / 1000, at_ns % 1000);
  TELLTALE_TRY(file_.Append(out_));
  out_.clear();
  return file_.Finish();
}

// An event up to its arguments.
void InferenceTrace::Begin(std::string_view category, std::string_view name, uint32_t pid,
                           uint32_t tid, int64_t start_ns, int64_t end_ns) {
  const int64_t local_ns = clock_.Local(start_ns);
  const int64_t at_ns = local_ns - kBaseNs;
  const int64_t duration_ns = clock_.Local(end_ns) - local_ns;
  fmt::format_to(std::back_inserter(out_),
                 "  {{\n    \"ph\": \"X\", \"cat\": \"{}\", \"name\": \"{}\", \"pid\": {}, "
                 "\"tid\": {},\n    \"ts\": {}.{:03}, \"dur\": {}.{:03},\n    \"args\": {{\n      ",
                 category, name, pid, tid, at_ns / 1000, at_ns % 1000, duration_ns / 1000,
                 duration_ns % 1000);
}

void InferenceTrace::Range(std::string_view category, std::string_view name, int64_t start_ns,
                           int64_t end_ns) {
  Begin(category, name, pid_, pid_, start_ns, end_ns);
  ++operator_id_;
  fmt::format_to(std::back_inserter(out_),
                 "\"External id\": {},\"Record function id\": 0, \"Ev Idx\": {}\n    }}\n  }},\n",
                 operator_id_, operator_id_ - 1);
}

void InferenceTrace::Operator(const WorkTimes& times) {
  Range("cpu_op", OperatorName(options_, times.work), times.operator_ns, times.operator_end_ns);
  work_id_ = operator_id_;
}

bool InferenceTrace::HasArguments(GpuWork work) const {
  return work == GpuWork::kAllGather || (work == GpuWork::kAllReduce && options_.collective_args);
}

void InferenceTrace::CollectiveOperator(const WorkTimes& times) {
  CollectiveRecord(times);
  Range("user_annotation",
        times.work == GpuWork::kAllGather ? "nccl:_all_gather_base" : "nccl:all_reduce",
        times.operator_ns + 3000, times.operator_end_ns - 1500);
}

void InferenceTrace::CollectiveRecord(const WorkTimes& times) {
  Begin("cpu_op", "record_param_comms", pid_, pid_, times.operator_ns, times.operator_end_ns);
  work_id_ = ++operator_id_;
  fmt::format_to(std::back_inserter(out_),
                 "\"External id\": {},\"Record function id\": 0, {}, \"Rank\": {}, \"Global rank "
                 "start\": 0, \"Global rank stride\": 1, \"Seq\": {}, \"Ev Idx\": {}\n    }}\n  "
                 "}},\n",
                 work_id_, CollectiveArguments(times), rank_, times.sequence, work_id_ - 1);
}

std::string InferenceTrace::CollectiveArguments(const WorkTimes& times) const {
  return fmt::format(
      "\"Collective name\": \"{}\", \"In msg nelems\": {}, \"Out msg nelems\": {}, \"Group size\": "
      "{}, \"dtype\": \"BFloat16\", \"In split size\": \"[]\", \"Out split size\": \"[]\", "
      "\"Process Group Name\": \"3\", \"Process Group Description\": \"undefined\", \"Process "
      "Group Ranks\": \"{}\"",
      times.work == GpuWork::kAllGather ? "_allgather_base" : "allreduce", times.in_elements,
      times.out_elements, options_.Ranks(), ranks_text_);
}

void InferenceTrace::Call(std::string_view name, uint32_t callback, int64_t start_ns,
                          int64_t end_ns) {
  const bool is_driver = name.substr(0, 4) != "cuda";
  Begin(is_driver ? "cuda_driver" : "cuda_runtime", name, pid_, pid_, start_ns, end_ns);
  ++correlation_;
  ExternalId();
  fmt::format_to(std::back_inserter(out_), "\"cbid\": {}, \"correlation\": {}\n    }}\n  }},\n",
                 callback, correlation_);
}

// Of the operator that a call or its work on the GPU belongs to.
void InferenceTrace::ExternalId() {
  if (work_id_ == 0) return;
  fmt::format_to(std::back_inserter(out_), "\"External id\": {},      ", work_id_);
}

void InferenceTrace::Kernel(const WorkTimes& times) {
  const KernelShape shape = IsCollective(times.work) ? KernelShape{96, 103'808, 16, 512}
                                                     : KernelShape{168, 229'376, 132, 384};
  Kernel(KindOf(times.work).kernel, times.gpu_ns, times.gpu_end_ns, shape,
         HasArguments(times.work) ? ", " + CollectiveArguments(times) : std::string());
}

void InferenceTrace::Kernel(std::string_view name, int64_t start_ns, int64_t end_ns,
                            const KernelShape& shape, std::string_view arguments) {
  Begin("kernel", name, gpu_, kStream, start_ns, end_ns);
  ExternalId();
  fmt::format_to(std::back_inserter(out_),
                 "\"queued\": 0, \"device\": {}, \"context\": 1,      \"stream\": {}, "
                 "\"correlation\": {},      \"registers per thread\": {},      \"shared memory\": "
                 "{},      \"grid\": [{}, 1, 1],      \"block\": [{}, 1, 1],      \"est. achieved "
                 "occupancy %\": 0{}\n    }}\n  }},\n",
                 gpu_, kStream, correlation_, shape.registers, shape.shared_bytes, shape.blocks,
                 shape.threads, arguments);
}

void InferenceTrace::Transfer(std::string_view category, std::string_view name, int64_t start_ns,
                              int64_t end_ns, uint64_t bytes) {
  Begin(category, name, gpu_, kStream, start_ns, end_ns);
  ExternalId();
  fmt::format_to(std::back_inserter(out_),
                 "\"device\": {}, \"context\": 1,      \"stream\": {}, "
                 "\"correlation\": {},      \"bytes\": {}, \"memory bandwidth (GB/s)\": {:.3f}\n   "
                 " }}\n  }},\n",
                 gpu_, kStream, correlation_, bytes,
                 static_cast<double>(bytes) / static_cast<double>(end_ns - start_ns));
}

// From a call ('s') to its work on the GPU ('f').
void InferenceTrace::Flow(char phase, int64_t at_ns) {
  const bool is_end = phase == 'f';
  const int64_t local_ns = clock_.Local(at_ns) - kBaseNs;
  fmt::format_to(std::back_inserter(out_),
                 "  {{\n    \"ph\": \"{}\", \"id\": {}, \"pid\": {}, \"tid\": {}, \"ts\": "
                 "{}.{:03},\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"{}\n  }},\n",
                 phase, correlation_, is_end ? gpu_ : pid_, is_end ? kStream : pid_,
                 local_ns / 1000, local_ns % 1000, is_end ? ", \"bp\": \"e\"" : "");
}

void InferenceTrace::Metadata(std::string_view name, uint32_t pid, uint32_t tid,
                              std::string_view key, std::string_view value, int64_t at_ns) {
  const int64_t local_ns = clock_.Local(at_ns) - kBaseNs;
  fmt::format_to(std::back_inserter(out_),
                 "  {{\n    \"name\": \"{}\", \"ph\": \"M\", \"ts\": {}.{:03}, \"pid\": {}, "
                 "\"tid\": {},\n    \"args\": {{\n      \"{}\": {}\n    }}\n  }},\n",
                 name, local_ns / 1000, local_ns % 1000, pid, tid, key, value);
}

}  // namespace telltale::simulate
