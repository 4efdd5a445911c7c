#pragma once

// Which ranks there are, on which hosts, and in which communicators. Global ranks are numbered as
// Megatron-LM does by default: tensor parallelism fastest, then data (with expert) parallelism,
// then pipeline stages.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/inspector_line.h"
#include "simulate/training_options.h"

namespace telltale::simulate {

// A rank's communicators, in the order of their creation.
enum class Group : uint8_t { kWorld, kTensor, kPipeline, kData, kExpert };
inline constexpr size_t kGroups = 5;

struct Communicator {
  Group group;
  std::string name;
  uint64_t hash;
  std::vector<uint32_t> ranks;  // global ranks, in order of rank in the communicator
  uint32_t node_count;
  bool crosses_hosts() const { return node_count > 1; }
};

struct Place {
  uint32_t host;
  uint32_t gpu;
  uint32_t pid;
  uint32_t stage;                             // of the pipeline
  std::array<int32_t, kGroups> communicator;  // index, or -1 where the rank has none of this group
  std::array<uint32_t, kGroups> rank_in;
};

struct Layout {
  std::vector<std::string> hostnames;
  std::vector<Place> places;  // by global rank
  std::vector<Communicator> communicators;
  uint32_t data_parallel;
};

// Fails if the parallel sizes do not divide the ranks. `options.tensor_parallel` must be set.
Result<Layout> MakeLayout(const TrainingOptions& options);

// The tensor parallel size that is used if none is given.
uint32_t UsualTensorParallel(const TrainingOptions& options);

// What the Inspector of `rank` knows about its communicator of `group`, which must exist.
InspectorIdentity IdentityOf(const TrainingOptions& options, const Layout& layout, uint32_t rank,
                             Group group);

// Such as "node001.cluster-pid4711.log".
std::string LogFileName(const TrainingOptions& options, const Layout& layout, uint32_t rank);

}  // namespace telltale::simulate
