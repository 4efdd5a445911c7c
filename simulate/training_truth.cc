#include "simulate/training_truth.h"

#include <algorithm>

#include "base/json_text.h"
#include "simulate/json_list.h"

namespace telltale::simulate {
namespace {

std::string_view NcclName(NcclVersion version) {
  static constexpr std::string_view kNames[] = {"2.28", "2.29", "2.30"};
  return kNames[static_cast<size_t>(version)];
}

std::string JobJson(const TrainingOptions& options, uint32_t ring_size, const Layout& layout) {
  return fmt::format(
      R"({{"ranks":{},"gpus_per_host":{},"tensor_parallel":{},"pipeline_parallel":{},)"
      R"("data_parallel":{},"expert_parallel":{},"steps":{},"layers":{},"hidden_size":{},)"
      R"("sequence_length":{},"micro_batches":{},"format":"{}","nccl":"{}","verbose_events":{},)"
      R"("interval_ms":{},"ring_size":{},"min_size_bytes":{},"lose_last_interval":{},"start_us":{}}})",
      options.ranks, options.gpus_per_host, options.tensor_parallel, options.pipeline_parallel,
      layout.data_parallel, options.expert_parallel, options.steps, options.layers,
      options.hidden_size, options.sequence_length, options.micro_batches,
      FormatName(options.format), NcclName(options.nccl), options.verbose_events,
      options.interval_ms, ring_size, options.min_size_bytes, options.lose_last_interval,
      options.start_us);
}

std::string CommunicatorsJson(const Layout& layout) {
  JsonList list;
  for (const Communicator& communicator : layout.communicators) {
    JsonList ranks;
    for (const uint32_t rank : communicator.ranks) ranks.Add("{}", rank);
    list.Add(R"({{"communicator":{},"id":"{}","hash":"{:#018x}","n_ranks":{},"nnodes":{},)"
             R"("global_ranks":[{}]}})",
             JsonString(communicator.name), CommunicatorId(communicator.hash), communicator.hash,
             communicator.ranks.size(), communicator.node_count, ranks.text());
  }
  return list.text();
}

std::string LostJson(const LostOperations& lost) {
  return fmt::format(
      R"({{"overwritten":{},"last_interval":{},"missing_file":{},"below_min_size":{},)"
      R"("p2p_unsupported":{}}})",
      lost.overwritten, lost.last_interval, lost.missing_file, lost.below_min_size,
      lost.p2p_unsupported);
}

// A rank's communicators, with its rank there and what their rings lost.
std::string MembershipsJson(const Layout& layout, uint32_t rank, const InspectorProcess& process) {
  const Place& place = layout.places[rank];
  JsonList list;
  for (size_t group = 0; group < kGroups; ++group) {
    if (place.communicator[group] < 0) continue;
    const auto& communicator = layout.communicators[static_cast<size_t>(place.communicator[group])];
    const InspectorProcess::Overwritten lost = process.OverwrittenIn(static_cast<Group>(group));
    list.Add(R"({{"communicator":{},"rank":{},"overwritten_collectives":{},"overwritten_p2p":{}}})",
             JsonString(communicator.name), place.rank_in[group], lost.collectives, lost.p2p);
  }
  return list.text();
}

std::string RanksJson(const TrainingOptions& options, const Layout& layout, const TrainingJob& job,
                      const std::vector<InspectorProcess>& processes) {
  JsonList list;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    const Place& place = layout.places[rank];
    const InspectorProcess& process = processes[rank];
    list.Add(R"({{"global_rank":{},"host":{},"hostname":{},"pid":{},"gpu":{},"stage":{},"file":{},)"
             R"("file_missing":{},"records":{},"dump_stats":{},"bytes":{},"lost":{},)"
             R"("communicators":[{}]}})",
             rank, place.host, JsonString(layout.hostnames[place.host]), place.pid, place.gpu,
             place.stage, JsonString(LogFileName(options, layout, rank)),
             process.file().is_missing(), RecordsOf(process),
             process.file().is_missing() ? 0 : process.counts().dump_stats,
             process.file().text_bytes(), LostJson(LostBy(process, job, rank)),
             MembershipsJson(layout, rank, process));
  }
  return list.text();
}

std::string PlaceJson(const Fault& fault, const Layout& layout) {
  JsonList members;
  if (fault.rank) {
    const Place& place = layout.places[*fault.rank];
    members.Add(R"("global_rank":{},"host":{},"hostname":{},"pid":{},"gpu":{})", *fault.rank,
                place.host, JsonString(layout.hostnames[place.host]), place.pid, place.gpu);
  } else if (fault.host) {
    members.Add(R"("host":{},"hostname":{})", *fault.host,
                JsonString(layout.hostnames[*fault.host]));
  }
  if (fault.other_host) {
    members.Add(R"("other_host":{},"other_hostname":{})", *fault.other_host,
                JsonString(layout.hostnames[*fault.other_host]));
  }
  if (!fault.communicator.empty())
    members.Add(R"("communicator":{})", JsonString(fault.communicator));
  return members.text();
}

std::string SeverityJson(const Fault& fault) {
  switch (fault.kind) {
    case FaultKind::kLateRank:
    case FaultKind::kClockOffset:
      return fmt::format(R"("ms":{})", fault.milliseconds);
    case FaultKind::kSlowLink:
    case FaultKind::kSlowHost:
    case FaultKind::kCongestion:
      return fmt::format(R"("factor":{})", fault.factor);
    case FaultKind::kRingLoss:
      return fmt::format(R"("ring_size":{})", fault.ring_size);
    case FaultKind::kJitter:
      return fmt::format(R"("percent":{})", fault.percent);
    case FaultKind::kMissingRankFile:
      break;
  }
  return "";
}

// Where the fault acted directly; ranks that only wait for those are not listed.
std::string AffectedJson(const TrainingOptions& options, uint32_t fault, const Layout& layout,
                         const TrainingJob& job) {
  JsonList list;
  const auto& extents = job.fault_extents();
  for (auto entry = extents.lower_bound({fault, 0, Function{}, -1});
       entry != extents.end() && entry->first.fault == fault; ++entry) {
    const auto& [key, extent] = *entry;
    const Communicator& communicator = layout.communicators[key.communicator];
    list.Add(R"({{"communicator":{},"id":"{}","function":"{}","rank":{},"first_sequence":{},)"
             R"("last_sequence":{},"operations":{},"first_us":{},"last_us":{}}})",
             JsonString(communicator.name), CommunicatorId(communicator.hash),
             FunctionName(key.function), key.rank < 0 ? "null" : fmt::format("{}", key.rank),
             extent.first_sequence, extent.last_sequence, extent.operations,
             static_cast<int64_t>(options.start_us) + extent.first_ns / 1000,
             static_cast<int64_t>(options.start_us) + extent.last_ns / 1000);
  }
  return list.text();
}

std::string FaultsJson(const TrainingOptions& options, const Layout& layout,
                       const TrainingJob& job) {
  JsonList list;
  for (uint32_t i = 0; i < options.faults.size(); ++i) {
    const Fault& fault = options.faults[i];
    const Effect effect = EffectOf(fault, i, options.steps, 0);
    list.Add(R"({{"kind":"{}","text":{},"first_step":{},"end_step":{},"place":{{{}}},)"
             R"("severity":{{{}}},"affected":[{}]}})",
             FaultKindName(fault.kind), JsonString(fault.text), effect.from_step, effect.to_step,
             PlaceJson(fault, layout), SeverityJson(fault), AffectedJson(options, i, layout, job));
  }
  return list.text();
}

}  // namespace

LostOperations& LostOperations::operator+=(const LostOperations& other) {
  overwritten += other.overwritten;
  last_interval += other.last_interval;
  missing_file += other.missing_file;
  below_min_size += other.below_min_size;
  p2p_unsupported += other.p2p_unsupported;
  return *this;
}

LostOperations LostBy(const InspectorProcess& process, const TrainingJob& job, uint32_t rank) {
  const InspectorCounts& counts = process.counts();
  return {counts.overwritten, counts.left_in_ring, process.file().is_missing() ? counts.written : 0,
          job.BelowMinSize(rank), job.PointToPointUnsupported(rank)};
}

uint64_t RecordsOf(const InspectorProcess& process) {
  return process.file().is_missing() ? 0 : process.counts().written;
}

std::string TruthJson(const TrainingOptions& options, uint32_t ring_size, const Layout& layout,
                      const TrainingJob& job, const std::vector<InspectorProcess>& processes) {
  uint64_t records = 0;
  LostOperations lost;
  for (uint32_t rank = 0; rank < options.ranks; ++rank) {
    records += RecordsOf(processes[rank]);
    lost += LostBy(processes[rank], job, rank);
  }
  JsonList hostnames;
  for (const std::string& name : layout.hostnames) hostnames.Add("{}", JsonString(name));
  return fmt::format(
      "{{\"schema\":\"telltale/simulate-truth/1\",\n\"seed\":{},\n\"job\":{},\n\"records\":{},\n"
      "\"lost\":{},\n\"faults\":[{}],\n\"hosts\":[{}],\n\"communicators\":[{}],\n\"ranks\":[{}]}}"
      "\n",
      options.seed, JobJson(options, ring_size, layout), records, LostJson(lost),
      FaultsJson(options, layout, job), hostnames.text(), CommunicatorsJson(layout),
      RanksJson(options, layout, job, processes));
}

}  // namespace telltale::simulate
