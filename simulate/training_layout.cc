#include "simulate/training_layout.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr std::string_view kGroupNames[] = {"WORLD", "TP Group", "PP Group", "DP Group",
                                            "EP Group"};

struct Coordinates {
  uint32_t tensor, data, stage, expert_block;
};

// What the ranks of one communicator of `group` have in common.
std::tuple<uint32_t, uint32_t, uint32_t> SharedBy(Group group, const Coordinates& at) {
  switch (group) {
    case Group::kWorld:
      return {0, 0, 0};
    case Group::kTensor:
      return {at.stage, at.data, 0};
    case Group::kPipeline:
      return {at.data, at.tensor, 0};
    case Group::kData:
      return {at.stage, at.tensor, 0};
    case Group::kExpert:
      return {at.stage, at.expert_block, at.tensor};
  }
  return {};
}

Status CheckShape(const TrainingOptions& options) {
  const uint32_t tensor = options.tensor_parallel;
  const uint32_t pipeline = options.pipeline_parallel;
  if (options.ranks == 0 || options.gpus_per_host == 0 || tensor == 0 || pipeline == 0 ||
      options.expert_parallel == 0) {
    return Fail("ranks, GPUs per host and parallel sizes must be at least 1");
  }
  constexpr uint32_t kMostRanks = 1 << 20;
  if (options.ranks > kMostRanks)
    return Fail("{} ranks are more than {}", options.ranks, kMostRanks);
  const uint64_t model = uint64_t{tensor} * pipeline;
  if (options.ranks % model != 0) {
    return Fail("{} ranks are not a multiple of tensor × pipeline parallel size = {} × {} = {}",
                options.ranks, tensor, pipeline, model);
  }
  const uint64_t data = options.ranks / model;
  if (data % options.expert_parallel != 0) {
    return Fail(
        "the expert parallel size {} does not divide the data parallel size {} (= {} ranks / "
        "tensor {} / pipeline {})",
        options.expert_parallel, data, options.ranks, tensor, pipeline);
  }
  return {};
}

std::vector<std::string> Hostnames(uint32_t hosts) {
  const size_t width = std::max<size_t>(3, fmt::format("{}", hosts).size());
  std::vector<std::string> names;
  for (uint32_t host = 1; host <= hosts; ++host) {
    names.push_back(fmt::format("node{:0{}}.cluster", host, width));
  }
  return names;
}

void AddGroup(Group group, const TrainingOptions& options, Layout& layout) {
  const uint32_t tensor = options.tensor_parallel;
  const uint32_t data = layout.data_parallel;
  const size_t first = layout.communicators.size();
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, int32_t> found;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    Place& place = layout.places[rank];
    const uint32_t data_index = rank / tensor % data;
    const Coordinates at{rank % tensor, data_index, place.stage,
                         data_index / options.expert_parallel};
    const auto next = static_cast<int32_t>(layout.communicators.size());
    const auto [entry, is_new] = found.emplace(SharedBy(group, at), next);
    if (is_new) {
      const size_t number = layout.communicators.size() - first;
      const std::string_view name = kGroupNames[static_cast<size_t>(group)];
      layout.communicators.push_back(
          {group,
           group == Group::kWorld ? std::string(name) : fmt::format("{} {}", name, number),
           RandomBits(options.seed, 0xc0, layout.communicators.size()),
           {},
           0});
    }
    Communicator& communicator = layout.communicators[static_cast<size_t>(entry->second)];
    place.communicator[static_cast<size_t>(group)] = entry->second;
    place.rank_in[static_cast<size_t>(group)] = static_cast<uint32_t>(communicator.ranks.size());
    communicator.ranks.push_back(rank);
  }
}

uint32_t CountHosts(const Communicator& communicator, const Layout& layout) {
  std::vector<uint32_t> hosts;
  for (const uint32_t rank : communicator.ranks) hosts.push_back(layout.places[rank].host);
  std::sort(hosts.begin(), hosts.end());
  return static_cast<uint32_t>(std::unique(hosts.begin(), hosts.end()) - hosts.begin());
}

}  // namespace

Result<Layout> MakeLayout(const TrainingOptions& options) {
  TELLTALE_TRY(CheckShape(options));
  Layout layout;
  layout.hostnames = Hostnames((options.ranks - 1) / options.gpus_per_host + 1);
  layout.data_parallel = options.ranks / options.tensor_parallel / options.pipeline_parallel;
  uint32_t pid = 0;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const uint32_t host = rank / options.gpus_per_host;
    const uint32_t gpu = rank % options.gpus_per_host;
    if (gpu == 0)
      pid = 12000 + static_cast<uint32_t>(RandomBits(options.seed, 0x91d, host) % 50000);
    pid += 1 + static_cast<uint32_t>(RandomBits(options.seed, 0x91e, rank) % 3);
    Place place{host, gpu, pid, rank / (options.tensor_parallel * layout.data_parallel), {}, {}};
    place.communicator.fill(-1);
    layout.places.push_back(place);
  }
  AddGroup(Group::kWorld, options, layout);
  if (options.tensor_parallel > 1) AddGroup(Group::kTensor, options, layout);
  if (options.pipeline_parallel > 1) AddGroup(Group::kPipeline, options, layout);
  if (layout.data_parallel > 1) AddGroup(Group::kData, options, layout);
  if (options.expert_parallel > 1) AddGroup(Group::kExpert, options, layout);
  for (Communicator& communicator : layout.communicators) {
    communicator.node_count = CountHosts(communicator, layout);
  }
  return layout;
}

uint32_t UsualTensorParallel(const TrainingOptions& options) {
  constexpr uint32_t kMost = 8;
  const uint32_t ranks = options.ranks / std::max(1U, options.pipeline_parallel);
  return std::max(1U, std::gcd(ranks, std::min(kMost, options.gpus_per_host)));
}

InspectorIdentity IdentityOf(const TrainingOptions& options, const Layout& layout, uint32_t rank,
                             Group group) {
  const Place& place = layout.places[rank];
  const auto index = static_cast<size_t>(group);
  const auto& communicator = layout.communicators[static_cast<size_t>(place.communicator[index])];
  InspectorIdentity identity;
  identity.communicator_hash = communicator.hash;
  identity.communicator_name = communicator.name;
  identity.writes_name = options.nccl == NcclVersion::k230;
  identity.rank = place.rank_in[index];
  identity.rank_count = communicator.ranks.size();
  identity.node_count = communicator.node_count;
  identity.git_revision = options.nccl == NcclVersion::k228 ? "" : "unknown";
  identity.hostname = layout.hostnames[place.host];
  identity.pid = place.pid;
  return identity;
}

std::string LogFileName(const TrainingOptions& options, const Layout& layout, uint32_t rank) {
  const Place& place = layout.places[rank];
  return fmt::format("{}-pid{}.log{}", layout.hostnames[place.host], place.pid,
                     options.gzip ? ".gz" : "");
}

}  // namespace telltale::simulate
