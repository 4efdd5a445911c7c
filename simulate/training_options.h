#pragma once

// What a simulated training job looks like and how its NCCL Inspector is set up.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "simulate/inspector_line.h"
#include "simulate/training_fault.h"

namespace telltale::simulate {

enum class NcclVersion { k228, k229, k230 };

// How mixture-of-experts layers exchange tokens: PyTorch's all_to_all arrives as Send and Recv;
// NCCL's own AlltoAll is a function that the Inspector does not know and prints as "Invalid".
enum class AllToAll { kSendRecv, kNative };

struct TrainingOptions {
  // The job: data parallel size = ranks / (tensor * pipeline).
  uint32_t ranks = 64;
  uint32_t gpus_per_host = 8;
  uint32_t tensor_parallel = 0;  // 0: the largest divisor that a host holds, up to 8
  uint32_t pipeline_parallel = 1;
  uint32_t expert_parallel = 1;
  uint32_t steps = 20;
  std::optional<uint64_t> target_records;  // each replaces `steps` by the number that comes close
  std::optional<uint64_t> target_bytes;

  // The model. These layers take so long that the default ring holds all operations of a second.
  uint32_t layers = 8;
  uint32_t hidden_size = 12288;
  uint32_t sequence_length = 4096;
  uint32_t micro_batches = 4;
  uint64_t bucket_bytes = 256 << 20;  // gradients reduced at once by data parallelism
  AllToAll all_to_all = AllToAll::kSendRecv;

  // The Inspector.
  InspectorFormat format = InspectorFormat::kV40;
  NcclVersion nccl = NcclVersion::k230;
  bool verbose_events = false;
  uint64_t interval_ms = 1000;
  uint32_t ring_size = 1024;
  uint64_t min_size_bytes = 8192;
  bool lose_last_interval = false;
  uint64_t start_us = 1795953925000000;  // the job's first moment, microseconds UTC

  uint64_t seed = 1;
  std::vector<Fault> faults;

  // Output.
  std::string directory;
  bool force =
      false;  // write into a directory that holds files; those of the same name are replaced
  bool gzip = false;
  std::string truth_path;  // empty: `directory` + ".truth.json", which no reader opens
  uint32_t threads = 0;    // 0: one per CPU; changes no byte of the output
};

}  // namespace telltale::simulate
