#pragma once

// All that a reader collected from a source, as text: for comparing two readings of the same bytes
// in tests and fuzzers.

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "readers/nccl_inspector/loss_kinds.h"
#include "readers/nccl_inspector/records.h"
#include "readers/nccl_inspector/sequence_set.h"

namespace telltale::nccl_inspector::source_text {

inline std::string Show(const std::string& text) { return "\"" + text + "\""; }
inline std::string Show(bool flag) { return flag ? "true" : "false"; }
inline std::string Show(double number) {
  // The bits, so that only equal numbers are equal.
  if (std::isnan(number)) return "nan";
  return fmt::format("{}#{:x}", number, std::bit_cast<uint64_t>(number));
}
template <typename Integer>
requires std::integral<Integer> std::string Show(Integer number) { return std::to_string(number); }
template <typename T>
std::string Show(const std::optional<T>& value) {
  return value ? Show(*value) : "-";
}
template <typename Values>
std::string ShowAll(const Values& values) {
  std::string text;
  for (const auto& value : values) text += " " + Show(value);
  return text;
}

class Describer {
 public:
  explicit Describer(const SourceData& data) : data_(data) {}

  std::string Process(uint32_t index) const {
    const ProcessKey& process = data_.processes.at(index);
    return fmt::format("host {} pid {} git {} mechanism {} version {}", Show(process.host),
                       Show(process.pid), Show(process.git_rev), Show(process.rec_mechanism),
                       Show(process.format_version));
  }
  std::string Rank(uint32_t index) const {
    const CommunicatorRankKey& rank = data_.communicator_ranks.at(index);
    return fmt::format("id {} name {} rank {} of {} nnodes {} {}", Show(rank.id), Show(rank.name),
                       rank.rank, rank.n_ranks, Show(rank.nnodes), Process(rank.process));
  }
  std::string SeriesText(uint32_t index) const {
    const Series& series = data_.series.at(index);
    const SeriesKey& key = series.key;
    return fmt::format(
        "{} {} peer {} bytes {} algorithm {} protocol {} source {} traffic {} bus {} of {}",
        key.kind == OperationKind::kP2p ? "p2p" : "collective", Show(key.operation), Show(key.peer),
        Show(key.message_bytes), Show(key.algorithm), Show(key.protocol), Show(key.timing_source),
        Show(series.traffic_bytes), Show(series.bus_factor), Rank(key.communicator_rank));
  }
  std::string Tracker(const SequenceTracker& tracker) const {
    return fmt::format("counter {} {} records {} highest {} many {} of {}",
                       tracker.kind == OperationKind::kP2p ? "p2p" : "collective",
                       Show(tracker.operation), tracker.records, tracker.Highest(),
                       tracker.too_many_runs, Rank(tracker.communicator_rank));
  }
  static std::string Run(const SequenceRun& run) {
    return fmt::format("[{}, {}]{}", run.first, run.last, run.after_full_ring ? " full" : "");
  }

  template <typename Add>
  void Facts(const Add& add) const {
    add(fmt::format("lines {} rows {}", data_.lines, data_.rows));
    for (uint32_t i = 0; i < data_.processes.size(); ++i) add("process " + Process(i));
    for (uint32_t i = 0; i < data_.communicator_ranks.size(); ++i) add("rank " + Rank(i));
    for (uint32_t i = 0; i < data_.series.size(); ++i) {
      const std::string series = SeriesText(i);
      add("series " + series);
      for (const Record& record : data_.series[i].records) {
        add(fmt::format("line {} sequence {} us {} at {} {}", record.line, record.sequence,
                        record.exec_time_us, record.dump_timestamp_us, series));
      }
    }
    for (const IrregularRecord& record : data_.irregular) {
      add(fmt::format("line {} irregular sequence {} bytes {} us {} at {} algobw {} busbw {} {}",
                      record.line, Show(record.sequence), Show(record.message_bytes),
                      Show(record.exec_time_us), Show(record.dump_timestamp_us),
                      Show(record.algobw_gbs), Show(record.busbw_gbs), SeriesText(record.series)));
    }
    for (const SequenceTracker& tracker : data_.trackers) {
      std::vector<SequenceRun> runs = tracker.runs;
      MergeRuns(runs);
      std::string text = Tracker(tracker);
      for (const SequenceRun& run : runs) text += " " + Run(run);
      add(text);
    }
    for (const OperationEvents& events : data_.events) {
      std::string text = fmt::format(
          "line {} events {} sn {} {} us {} {}", events.line, Show(events.sequence),
          Show(events.start_sn), Show(events.stop_sn), Show(events.start_us), Show(events.stop_us));
      for (const KernelEvent& kernel : events.kernels) {
        text += fmt::format(" channel {} sn {} {} {} us {} {} {}", Show(kernel.channel),
                            Show(kernel.start_sn), Show(kernel.stop_sn), Show(kernel.record_sn),
                            Show(kernel.start_us), Show(kernel.stop_us), Show(kernel.record_us));
      }
      add(text + " " + SeriesText(events.series));
    }
    for (const DumpStats& stats : data_.dump_stats) {
      add(fmt::format("line {} stats at {}{} mode {} {}", stats.line, Show(stats.dump_timestamp_us),
                      ShowAll(stats.counters), Show(stats.proxy_output_mode),
                      Rank(stats.communicator_rank)));
    }
    for (const ProxyOp& op : data_.proxy_ops) {
      add(fmt::format(
          "line {} proxy {} at {} parent {} direction {} source {} final {} bw {}{} sn{} us{} {}",
          op.line, op.record_type, Show(op.dump_timestamp_us), Show(op.parent_type),
          Show(op.direction), Show(op.timing_source), Show(op.is_final), Show(op.op_bw_gbs),
          ShowAll(op.numbers), ShowAll(op.sn), ShowAll(op.us), Rank(op.communicator_rank)));
    }
    for (const ProxyStep& step : data_.proxy_steps) {
      add(fmt::format("line {} step {} op {} direction {} peer {} channel {}{} sn{} us{} {}",
                      step.line, step.position, Show(step.proxy_op_sn), Show(step.direction),
                      Show(step.peer), Show(step.channel), ShowAll(step.numbers), ShowAll(step.sn),
                      ShowAll(step.us), Rank(step.communicator_rank)));
    }
    for (const Loss& loss : data_.losses) {
      add(fmt::format("loss {} {} first {} operation {} detail {} {}", loss.kind->name, loss.count,
                      loss.first_position, Show(loss.operation), Show(loss.detail),
                      loss.communicator_rank ? Rank(*loss.communicator_rank) : "-"));
    }
  }

 private:
  const SourceData& data_;
};

// All of it as text, a fact a line, in its order; NaN equals NaN.
inline std::string TextOf(const SourceData& data) {
  std::string text;
  Describer(data).Facts([&](const std::string& fact) { text += fact + "\n"; });
  return text;
}

// The same without the order in which series and ranks were first seen, for sources that were put
// together from parts.
inline std::vector<std::string> SortedFactsOf(const SourceData& data) {
  std::vector<std::string> facts;
  Describer(data).Facts([&](const std::string& fact) { facts.push_back(fact); });
  std::sort(facts.begin(), facts.end());
  return facts;
}

// Lines of the file that are no rows.
inline uint64_t LineLossesOf(const SourceData& data) {
  uint64_t count = 0;
  for (const Loss& loss : data.losses) {
    count += loss.kind->loss_class == LossClass::kLine ? loss.count : 0;
  }
  return count;
}

}  // namespace telltale::nccl_inspector::source_text
