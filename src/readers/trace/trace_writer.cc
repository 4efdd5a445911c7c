#include "readers/trace/trace_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <type_traits>
#include <unordered_map>

#include "base/slices.h"
#include "readers/remove_source.h"
#include "store/transaction.h"

namespace telltale::trace {
namespace {

using enum ColumnType;

template <typename Integer>
Cell ToCell(const std::optional<Integer>& value) {
  return value ? Cell(static_cast<int64_t>(*value)) : Cell();
}

Cell Unsigned(uint64_t value) { return Cell(value); }
Cell Known(int64_t value) { return value < 0 ? Cell() : Cell(value); }

template <typename Value>
Value* Column(std::span<void* const> columns, size_t column) {
  return static_cast<Value*>(columns[column]);
}

}  // namespace

struct TraceWriter::Ids {
  int64_t source = 0;
  std::vector<int64_t> processes;
  uint32_t first_track = 0;
  uint32_t first_name = 0;
  std::vector<uint32_t> place;  // of an event in the order, by index in TraceData
  int64_t Event(uint32_t index) const { return (source << 32) + place[index]; }
};

Result<std::unique_ptr<TraceWriter>> TraceWriter::Create(Store& store, unsigned threads) {
  TELLTALE_ASSIGN(auto connection, store.Connect());
  std::unique_ptr<TraceWriter> writer(new TraceWriter(store, std::move(connection), threads));
  constexpr std::array kEvent = {kInt64, kUInt32, kUInt32, kUInt32, kInt64, kInt64,
                                 kInt64, kUInt32, kInt64,  kInt64,  kUInt32};
  constexpr std::array kLaunch = {kInt64, kUInt32, kInt64};
  constexpr std::array kMemory = {kInt64, kUInt64};
  constexpr std::array kWait = {kInt64, kInt64};
  constexpr std::array kFlow = {kInt64, kUInt64, kUInt32, kUInt32, kUInt32};
  constexpr std::array kCounter = {kInt64, kUInt32, kUInt32, kDouble};
  const auto create = [&](const char* table, std::span<const ColumnType> columns) {
    return BulkInsert::Create(*writer->connection_, table, columns);
  };
  TELLTALE_ASSIGN(writer->event_insert_, create("event", kEvent));
  TELLTALE_ASSIGN(writer->launch_insert_, create("kernel_launch", kLaunch));
  TELLTALE_ASSIGN(writer->memory_insert_, create("memory_operation", kMemory));
  TELLTALE_ASSIGN(writer->wait_insert_, create("stream_wait", kWait));
  TELLTALE_ASSIGN(writer->flow_insert_, create("flow_point", kFlow));
  TELLTALE_ASSIGN(writer->counter_insert_, create("counter_value", kCounter));
  return writer;
}

Status TraceWriter::Write(const SourceRow& row, const TraceData& data, const CallChain& chain) {
  Ids ids;
  ids.source = store_.NextId(Store::kSource);
  for (size_t i = 0; i < data.processes.size(); ++i) {
    ids.processes.push_back(store_.NextId(Store::kTraceProcess));
  }
  ids.first_track = static_cast<uint32_t>(store_.NextIds(Store::kTrack, data.tracks.size()));
  ids.first_name = static_cast<uint32_t>(store_.NextIds(Store::kEventName, data.names.size()));
  ids.place.resize(data.events.size());
  ForEachSlice(chain.order.size(), threads_, [&](size_t, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) ids.place[chain.order[i]] = static_cast<uint32_t>(i);
  });
  std::optional<ParallelInserts> parallel;
  if (threads_ > 1) TELLTALE_TRY(parallel.emplace(*connection_, threads_).Start());
  return InTransaction(*connection_, [&]() -> Status {
    if (row.replaces >= 0) TELLTALE_TRY(RemoveRows(row.replaces));
    TELLTALE_TRY(WriteEvents(data, chain, ids));
    TELLTALE_TRY(WriteSideTables(data, chain, ids));
    return WriteDimensions(row, data, ids);
  });
}

Status TraceWriter::WriteEvents(const TraceData& data, const CallChain& chain, const Ids& ids) {
  const auto put = [&](size_t i, std::span<void* const> columns, size_t at) {
    const uint32_t index = chain.order[i];
    const Event& event = data.events[index];
    const uint32_t parent = chain.parent[index];
    Column<int64_t>(columns, 0)[at] = ids.Event(index);
    Column<uint32_t>(columns, 1)[at] = ids.first_track + event.track;
    Column<uint32_t>(columns, 2)[at] = static_cast<uint32_t>(event.kind);
    Column<uint32_t>(columns, 3)[at] = ids.first_name + event.name;
    Column<int64_t>(columns, 4)[at] = event.start_ns;
    Column<int64_t>(columns, 5)[at] = event.duration_ns;
    Column<int64_t>(columns, 6)[at] = parent == kNoEvent ? -1 : ids.Event(parent);
    Column<uint32_t>(columns, 7)[at] = static_cast<uint32_t>(chain.basis[index]);
    Column<int64_t>(columns, 8)[at] = static_cast<int64_t>(event.correlation);
    Column<int64_t>(columns, 9)[at] = static_cast<int64_t>(event.external_id);
    Column<uint32_t>(columns, 10)[at] = event.position;
  };
  return event_insert_->InsertRows(data.events.size(), put, threads_);
}

// Profiles hold millions of launches of some hundred shapes.
Status TraceWriter::WriteLaunches(const TraceData& data, const Ids& ids) {
  struct Hash {
    size_t operator()(const LaunchShape& shape) const {
      static_assert(std::has_unique_object_representations_v<LaunchShape>);
      const auto bytes = std::bit_cast<std::array<char, sizeof(LaunchShape)>>(shape);
      return std::hash<std::string_view>()({bytes.data(), bytes.size()});
    }
  };
  std::unordered_map<LaunchShape, uint32_t, Hash> numbers;
  std::vector<const LaunchShape*> shapes;
  std::vector<uint32_t> shape_of(data.launches.size());
  for (size_t i = 0; i < data.launches.size(); ++i) {
    const auto [place, added] =
        numbers.try_emplace(data.launches[i].shape, static_cast<uint32_t>(shapes.size()));
    if (added) shapes.push_back(&place->first);
    shape_of[i] = place->second;
  }
  const auto first = static_cast<uint32_t>(store_.NextIds(Store::kLaunchShape, shapes.size()));
  LazyAppender rows(*connection_, "launch_shape");
  for (size_t i = 0; i < shapes.size(); ++i) {
    const LaunchShape& shape = *shapes[i];
    std::vector<Cell> row = {Unsigned(first + i), Cell(ids.source)};
    for (const auto& extent : {shape.grid, shape.block}) {
      for (const uint32_t size : extent) row.push_back(Unsigned(size));
    }
    row.push_back(Unsigned(shape.registers_per_thread));
    row.push_back(Unsigned(shape.shared_memory_bytes));
    TELLTALE_TRY(rows.Append(row));
  }
  TELLTALE_TRY(rows.Close());
  return launch_insert_->InsertRows(
      data.launches.size(),
      [&](size_t i, std::span<void* const> columns, size_t at) {
        Column<int64_t>(columns, 0)[at] = ids.Event(data.launches[i].event);
        Column<uint32_t>(columns, 1)[at] = first + shape_of[i];
        Column<int64_t>(columns, 2)[at] = data.launches[i].graph_node;
      },
      threads_);
}

Status TraceWriter::WriteSideTables(const TraceData& data, const CallChain& chain, const Ids& ids) {
  TELLTALE_TRY(WriteLaunches(data, ids));
  TELLTALE_TRY(memory_insert_->InsertRows(
      data.memory.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
        Column<int64_t>(columns, 0)[at] = ids.Event(data.memory[i].event);
        Column<uint64_t>(columns, 1)[at] = data.memory[i].bytes;
      }));
  TELLTALE_TRY(wait_insert_->InsertRows(
      chain.waits.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
        Column<int64_t>(columns, 0)[at] = ids.Event(chain.waits[i].second);
        Column<int64_t>(columns, 1)[at] = ids.Event(chain.waits[i].first);
      }));
  TELLTALE_TRY(flow_insert_->InsertRows(
      data.flows.size(),
      [&](size_t i, std::span<void* const> columns, size_t at) {
        const FlowPoint& flow = data.flows[i];
        Column<int64_t>(columns, 0)[at] = flow.time_ns;
        Column<uint64_t>(columns, 1)[at] = flow.id;
        Column<uint32_t>(columns, 2)[at] = ids.first_name + flow.category;
        Column<uint32_t>(columns, 3)[at] = ids.first_track + flow.track;
        Column<uint32_t>(columns, 4)[at] = flow.phase;
      },
      threads_));
  TELLTALE_TRY(counter_insert_->InsertRows(
      data.counters.size(), [&](size_t i, std::span<void* const> columns, size_t at) {
        const CounterValue& counter = data.counters[i];
        Column<int64_t>(columns, 0)[at] = counter.time_ns;
        Column<uint32_t>(columns, 1)[at] = ids.first_track + counter.track;
        Column<uint32_t>(columns, 2)[at] = ids.first_name + counter.name;
        Column<double>(columns, 3)[at] = counter.value;
      }));
  LazyAppender rows(*connection_, "communication_event");
  for (const Communication& row : data.communications) {
    TELLTALE_TRY(rows.Append(
        {Cell(ids.Event(row.event)), TextOrNull(row.collective), TextOrNull(row.data_type),
         ToCell(row.in_elements), ToCell(row.out_elements), TextOrNull(row.group_name),
         TextOrNull(row.group_description), TextOrNull(row.group_ranks), ToCell(row.group_size),
         ToCell(row.rank), ToCell(row.sequence), TextOrNull(row.communicator_id)}));
  }
  TELLTALE_TRY(rows.Close());
  LazyAppender payloads(*connection_, "event_payload");
  for (const Payload& payload : data.payloads) {
    TELLTALE_TRY(payloads.Append({Cell(ids.Event(payload.event)), Cell(payload.json)}));
  }
  return payloads.Close();
}

Status TraceWriter::WriteDimensions(const SourceRow& row, const TraceData& data, const Ids& ids) {
  LazyAppender processes(*connection_, "trace_process");
  for (size_t i = 0; i < data.processes.size(); ++i) {
    const Process& process = data.processes[i];
    TELLTALE_TRY(
        processes.Append({Cell(ids.processes[i]), Cell(ids.source), TextOrNull(data.host),
                          ToCell(process.pid), TextOrNull(process.name), TextOrNull(process.labels),
                          ToCell(data.rank), ToCell(data.world_size)}));
  }
  TELLTALE_TRY(processes.Close());
  LazyAppender tracks(*connection_, "track");
  for (size_t i = 0; i < data.tracks.size(); ++i) {
    const Track& track = data.tracks[i];
    TELLTALE_TRY(tracks.Append({Cell(int64_t{ids.first_track} + static_cast<int64_t>(i)),
                                Cell(ids.source), Cell(ids.processes[track.process]),
                                std::string(TrackKindName(track.kind)), Known(track.device),
                                Known(track.context), Cell(track.id), TextOrNull(track.name)}));
  }
  TELLTALE_TRY(tracks.Close());
  LazyAppender names(*connection_, "event_name");
  for (size_t i = 0; i < data.names.size(); ++i) {
    TELLTALE_TRY(names.Append({Cell(int64_t{ids.first_name} + static_cast<int64_t>(i)),
                               Cell(ids.source), data.names[i]}));
  }
  TELLTALE_TRY(names.Close());
  TELLTALE_TRY(WriteOutput(data, ids));
  SourceRow source = row;
  source.format_version = data.format_version;
  return WriteSource(*connection_, ids.source, source,
                     {data.records, data.records - data.LostRecords()}, data.losses);
}

// Lines that processes wrote, each stream of a process as one that writes to a log.
Status TraceWriter::WriteOutput(const TraceData& data, const Ids& ids) {
  constexpr int64_t kNone = 0xFFFFFFFF;
  std::map<std::pair<std::string, std::optional<uint32_t>>, int64_t> writers;
  LazyAppender processes(*connection_, "log_process");
  LazyAppender lines(*connection_, "log_line");
  for (const OutputLine& line : data.output) {
    const auto [writer, is_new] = writers.try_emplace({line.stream, line.process}, 0);
    if (is_new) {
      writer->second = store_.NextId(Store::kLogProcess);
      const Process* const process = line.process ? &data.processes[*line.process] : nullptr;
      TELLTALE_TRY(processes.Append(
          {Cell(writer->second), Cell(ids.source),
           process != nullptr ? TextOrNull(process->name) : Cell(), TextOrNull(data.host),
           process != nullptr ? ToCell(process->pid) : Cell(), ToCell(data.rank), Cell(),
           Cell(line.stream), process != nullptr ? Cell(ids.processes[*line.process]) : Cell()}));
    }
    TELLTALE_TRY(lines.Append({Cell(ids.source), Unsigned(line.line), Unsigned(line.line),
                               Cell(int64_t{-1}), Cell(int64_t{0}), Cell(int64_t{0}),
                               Cell(writer->second), Cell(kNone), Cell(kNone), Cell(line.text)}));
  }
  TELLTALE_TRY(processes.Close());
  return lines.Close();
}

Status TraceWriter::Remove(int64_t source) {
  return InTransaction(*connection_, [&] { return RemoveRows(source); });
}

Status TraceWriter::RemoveRows(int64_t source) {
  const std::array<Cell, 1> parameters = {Cell(source)};
  for (const char* table : {"event", "kernel_launch", "memory_operation", "communication_event",
                            "event_payload", "stream_wait"}) {
    TELLTALE_TRY(
        connection_->Run(fmt::format("DELETE FROM {} WHERE event >> 32 = $1", table), parameters));
  }
  for (const char* table : {"flow_point", "counter_value"}) {
    TELLTALE_TRY(connection_->Run(
        fmt::format("DELETE FROM {} WHERE track IN (SELECT track FROM track WHERE source = $1)",
                    table),
        parameters));
  }
  return RemoveSource(
      *connection_, source,
      {"track", "event_name", "launch_shape", "log_line", "log_process", "trace_process"});
}

}  // namespace telltale::trace
