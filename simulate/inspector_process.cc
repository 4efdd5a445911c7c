#include "simulate/inspector_process.h"

#include <algorithm>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

constexpr size_t kWriteAtBytes = 4 << 20;
constexpr uint64_t kMostBetweenLinesUs = 5;
constexpr uint64_t kMostBetweenCommunicatorsUs = 20;

struct Transport {
  std::string_view algorithm;
  std::string_view protocol;
};

// As NCCL's tuner roughly chooses on one host or several.
Transport TransportOf(Function function, uint64_t message_bytes, uint64_t ranks) {
  if (function == Function::kInvalid) return {"unknown", "unknown"};
  const bool tree = function == Function::kAllReduce && message_bytes < (1 << 20) && ranks > 2;
  const std::string_view algorithm = tree ? "TREE" : "RING";
  if (message_bytes < (32 << 10)) return {algorithm, "LL"};
  if (message_bytes < (512 << 10)) return {algorithm, "LL128"};
  return {algorithm, "SIMPLE"};
}

bool EndsEarlier(const OperationRecord& a, const OperationRecord& b) {
  return std::tie(a.end_ns, a.group, a.sequence, a.function) <
         std::tie(b.end_ns, b.group, b.sequence, b.function);
}

bool IsPointToPoint(const OperationRecord& record) {
  return record.function == Function::kSend || record.function == Function::kRecv;
}

}  // namespace

InspectorProcess::InspectorProcess(
    const InspectorSettings& settings,
    const std::vector<std::pair<Group, InspectorIdentity>>& identities,
    const std::vector<ProgramOperation>& program, LogFile file)
    : settings_(settings), program_(&program), file_(std::move(file)) {
  // The plugin's list of communicators starts with the one made last.
  for (size_t i = identities.size(); i-- > 0;) {
    const auto& [group, identity] = identities[i];
    log_of_group_[static_cast<size_t>(group)] = static_cast<uint8_t>(logs_.size());
    logs_.push_back(
        {group, identity.rank_count, InspectorLineWriter(settings.format, identity), {}, {}});
  }
  // Dump threads start when their process happens to be ready.
  next_dump_ns_ = 1 + static_cast<int64_t>(Draw(static_cast<uint64_t>(settings.interval_ns)));
}

Status InspectorProcess::Take(std::vector<OperationRecord>& records, int64_t known_until,
                              LineBuffer& buffer) {
  const auto later =
      std::partition(records.begin(), records.end(),
                     [&](const OperationRecord& record) { return record.end_ns < known_until; });
  std::sort(records.begin(), later, EndsEarlier);
  buffer.Clear();
  for (auto record = records.begin(); record != later; ++record) {
    while (next_dump_ns_ < record->end_ns) TELLTALE_TRY(Dump(buffer));
    Push(*record);
  }
  records.erase(records.begin(), later);
  while (next_dump_ns_ < known_until) TELLTALE_TRY(Dump(buffer));
  return buffer.size() == 0 ? Status() : file_.Append(buffer.text());
}

Status InspectorProcess::Finish(bool lose_last_interval, LineBuffer& buffer) {
  buffer.Clear();
  if (!lose_last_interval) TELLTALE_TRY(Dump(buffer));
  for (const CommunicatorLog& log : logs_) {
    counts_.left_in_ring += log.collectives.records.size() + log.p2p.records.size();
    counts_.overwritten += log.collectives.dropped_total + log.p2p.dropped_total;
  }
  if (buffer.size() > 0) TELLTALE_TRY(file_.Append(buffer.text()));
  return file_.Finish();
}

void InspectorProcess::Push(const OperationRecord& record) {
  CommunicatorLog& log = logs_[log_of_group_[static_cast<size_t>(record.group)]];
  Ring& ring = IsPointToPoint(record) ? log.p2p : log.collectives;
  if (ring.records.size() < settings_.ring_size) {
    ring.records.push_back(record);
    return;
  }
  ring.records[ring.oldest] = record;
  if (++ring.oldest == ring.records.size()) ring.oldest = 0;
  ++ring.dropped_total;
}

Status InspectorProcess::Dump(LineBuffer& buffer) {
  const uint64_t begin_us = HostUs(next_dump_ns_);
  dump_us_ = begin_us;
  for (CommunicatorLog& log : logs_) {
    Ring& collectives = log.collectives;
    Ring& p2p = log.p2p;
    const bool has_records = !collectives.records.empty() || !p2p.records.empty();
    const uint64_t collectives_dropped = collectives.dropped_total - collectives.dropped_reported;
    const uint64_t p2p_dropped = p2p.dropped_total - p2p.dropped_reported;
    if (!has_records && collectives_dropped == 0 && p2p_dropped == 0) continue;
    MoveTime(kMostBetweenCommunicatorsUs);
    if (settings_.format >= InspectorFormat::kV41) {
      log.writer.AppendDumpStats(
          dump_us_,
          {collectives.records.size(), collectives.dropped_total, collectives_dropped,
           p2p.records.size(), p2p.dropped_total, p2p_dropped},
          buffer);
      ++counts_.dump_stats;
      MoveTime(kMostBetweenLinesUs);
    }
    DumpRing(log, collectives, buffer);
    DumpRing(log, p2p, buffer);
    if (buffer.size() >= kWriteAtBytes) {
      TELLTALE_TRY(file_.Append(buffer.text()));
      buffer.Clear();
    }
  }
  // The thread sleeps for the interval after it has written, and wakes a little late.
  const auto wrote_ns = static_cast<int64_t>(dump_us_ - begin_us) * 1000;
  const auto late_ns = 60'000 + static_cast<int64_t>(Draw(200'000));
  next_dump_ns_ += wrote_ns + settings_.interval_ns + late_ns;
  return {};
}

void InspectorProcess::DumpRing(CommunicatorLog& log, Ring& ring, LineBuffer& buffer) {
  const size_t count = ring.records.size();
  for (size_t i = 0; i < count; ++i) {
    size_t position = ring.oldest + i;
    if (position >= count) position -= count;
    DumpRecord(log, ring.records[position], buffer);
    MoveTime(kMostBetweenLinesUs);
  }
  counts_.written += count;
  ring.records.clear();
  ring.oldest = 0;
  ring.dropped_reported = ring.dropped_total;
}

void InspectorProcess::DumpRecord(const CommunicatorLog& log, const OperationRecord& record,
                                  LineBuffer& buffer) {
  OperationLine line{};
  line.function = record.function;
  line.sequence = record.sequence;
  line.peer = record.peer;
  line.message_bytes = (*program_)[record.operation].message_bytes;
  line.exec_time_us = static_cast<uint64_t>(record.end_ns - record.start_ns) / 1000;
  line.timing_source = "kernel_gpu";
  if (settings_.verbose_events) {
    FillTrace(record);
    line.trace = &trace_;
  }
  if (IsPointToPoint(record)) {
    log.writer.AppendPointToPoint(dump_us_, line, buffer);
    return;
  }
  const Transport transport = TransportOf(record.function, line.message_bytes, log.rank_count);
  line.algorithm = transport.algorithm;
  line.protocol = transport.protocol;
  log.writer.AppendCollective(dump_us_, line, buffer);
}

// The order and times of the host's callbacks: enqueued, each channel's kernel started, recorded
// and stopped. A point-to-point operation's counter starts at its sequence number.
void InspectorProcess::FillTrace(const OperationRecord& record) {
  const uint64_t channels = 3 + Draw(2);
  uint64_t counter = IsPointToPoint(record) ? record.sequence : 0;
  const uint64_t start_us = HostUs(record.start_ns);
  uint64_t end_us = HostUs(record.end_ns) + 20 + Draw(40);  // the proxy thread polls
  trace_.start_sn = ++counter;
  trace_.stop_sn = ++counter;
  trace_.start_us = start_us;
  trace_.stop_us = start_us;
  trace_.channels.resize(channels);
  for (uint64_t i = 0; i < channels; ++i) {
    trace_.channels[i] = {i, ++counter, 0, 0, start_us + Draw(2), 0, 0};
  }
  for (ChannelTrace& channel : trace_.channels) {
    channel.record_sn = ++counter;
    channel.stop_sn = ++counter;
    channel.record_us = end_us;
    end_us += Draw(2);
    channel.stop_us = end_us;
  }
}

uint64_t InspectorProcess::Draw(uint64_t bound) {
  return BelowFromBits(RandomBits(settings_.seed, draws_++), bound);
}

// Moves the running dump's time on by 1 to `most_us`.
void InspectorProcess::MoveTime(uint64_t most_us) { dump_us_ += 1 + Draw(most_us); }

uint64_t InspectorProcess::HostUs(int64_t ns) const {
  return static_cast<uint64_t>(settings_.start_us + settings_.clock_offset_us + ns / 1000);
}

}  // namespace telltale::simulate
