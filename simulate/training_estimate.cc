#include "simulate/training_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "simulate/training_job.h"

namespace telltale::simulate {
namespace {

struct Volume {
  double records = 0;
  double bytes = 0;
};

Result<double> StepNs(const TrainingOptions& options, const Layout& layout) {
  TrainingOptions one_step = options;
  one_step.steps = 1;
  one_step.faults.clear();
  TELLTALE_ASSIGN(const Machine machine, Machine::Make(one_step, layout));
  TrainingJob job(one_step, layout, machine);
  constexpr size_t kRecordsAtOnce = 1 << 20;
  for (bool more = true; more;) {
    more = job.Advance(kRecordsAtOnce);
    for (uint32_t rank = 0; rank < options.ranks; ++rank) job.Records(rank).clear();
    job.RecordsWereTaken();
  }
  return static_cast<double>(job.LastMoment());
}

// The bytes of one typical line.
double LineBytes(const TrainingOptions& options, const Layout& layout, uint32_t rank,
                 const ProgramOperation& operation) {
  EventTrace trace{1, 2, options.start_us, options.start_us, {}};
  constexpr size_t kUsualChannels = 4;
  trace.channels.resize(kUsualChannels,
                        {1, 9, 9, 10, options.start_us, options.start_us, options.start_us});
  OperationLine line{};
  line.function = operation.function;
  line.sequence = 100;
  line.message_bytes = operation.message_bytes;
  line.exec_time_us = 100;
  line.timing_source = "kernel_gpu";
  line.trace = options.verbose_events ? &trace : nullptr;
  const InspectorLineWriter writer(options.format,
                                   IdentityOf(options, layout, rank, operation.group));
  LineBuffer buffer;
  operation.peer_step != 0 || operation.function == Function::kSendRecv
      ? writer.AppendPointToPoint(options.start_us, line, buffer)
      : writer.AppendCollective(options.start_us, line, buffer);
  return static_cast<double>(buffer.size());
}

// What one rank writes in one step.
Volume RankVolume(const TrainingOptions& options, const Layout& layout, uint32_t rank,
                  double dumps_per_step, double ring_size) {
  const std::vector<ProgramOperation> program =
      StageProgram(options, layout, layout.places[rank].stage);
  std::array<std::array<Volume, 2>, kGroups> produced{};  // by group; collective, point-to-point
  for (const ProgramOperation& operation : program) {
    const bool p2p = operation.peer_step != 0 || operation.function == Function::kSendRecv;
    const bool is_new = options.nccl == NcclVersion::k230;
    if (is_new ? operation.message_bytes < options.min_size_bytes : p2p) continue;
    double records = 1.0 / operation.period;
    if (operation.function == Function::kSendRecv) records *= 2 * (options.expert_parallel - 1);
    Volume& volume = produced[static_cast<size_t>(operation.group)][p2p ? 1 : 0];
    volume.records += records;
    volume.bytes += records * LineBytes(options, layout, rank, operation);
  }
  Volume written;
  for (const auto& group : produced) {
    for (const Volume& volume : group) {
      if (volume.records == 0) continue;
      const double kept = std::min(1.0, ring_size * dumps_per_step / volume.records);
      written.records += kept * volume.records;
      written.bytes += kept * volume.bytes;
    }
    constexpr double kMarkerBytes = 430;
    const double produced_records = group[0].records + group[1].records;
    if (options.format >= InspectorFormat::kV41) {
      written.bytes += kMarkerBytes * std::min(dumps_per_step, produced_records);
    }
  }
  return written;
}

}  // namespace

Status ChooseSteps(const Layout& layout, uint32_t ring_size, TrainingOptions& options) {
  if (!options.target_records && !options.target_bytes) return {};
  TELLTALE_ASSIGN(const double step_ns, StepNs(options, layout));
  const double dumps_per_step = step_ns / (static_cast<double>(options.interval_ms) * 1e6);
  Volume step;
  const uint32_t stage_ranks = options.ranks / options.pipeline_parallel;
  for (uint32_t rank = 0; rank < options.ranks; rank += stage_ranks) {
    const Volume one = RankVolume(options, layout, rank, dumps_per_step, ring_size);
    step.records += one.records * stage_ranks;
    step.bytes += one.bytes * stage_ranks;
  }
  const double steps = options.target_records
                           ? static_cast<double>(*options.target_records) / step.records
                           : static_cast<double>(*options.target_bytes) / step.bytes;
  constexpr double kMostSteps = 100e6;
  if (!(steps < kMostSteps)) return Fail("the target needs more than {} steps", kMostSteps);
  options.steps = static_cast<uint32_t>(std::max(1.0, std::round(steps)));
  return {};
}

}  // namespace telltale::simulate
