#include "readers/nsight/export_part.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace telltale::nsight {
namespace {

using trace::Event;
using trace::EventKind;
using trace::TrackKind;

// eventType of NVTX_EVENTS (ENUM_NSYS_EVENT_TYPE).
enum NvtxType : int64_t {
  kNvtxCategory = 33,
  kNvtxMark = 34,
  kNvtxThreadName = 39,
  kNvtxPushPop = 59,
  kNvtxStartEnd = 60,
  kNvtxTextPushPop = 70,
  kNvtxTextStartEnd = 71,
  kNvtxDomainCreate = 75,
  kNvtxDomainDestroy = 76,
};

// Times, place and correlation of GPU work: columns 0 to 6 of its query.
std::vector<std::string> GpuColumns(std::initializer_list<const char*> more) {
  std::vector<std::string> columns = {"start",    "end",           "deviceId", "contextId",
                                      "streamId", "correlationId", "globalPid"};
  columns.insert(columns.end(), more.begin(), more.end());
  return columns;
}

}  // namespace

const std::string& ExportTexts::StringOf(int64_t id) const {
  static const std::string kUnknown = "(unnamed)";
  const auto found = strings.find(id);
  return found == strings.end() ? kUnknown : found->second;
}

std::string PartReader::TextOf(const SqliteRow& row, size_t text, size_t text_id) const {
  return row.IsNull(text) ? texts_.StringOf(row.Integer(text_id, -1)) : std::string(row.Text(text));
}

// By id, so that long kernel names are hashed once.
uint32_t PartReader::NumberOfString(int64_t id, bool is_call) {
  const auto [place, added] = (is_call ? call_numbers_ : string_numbers_).try_emplace(id, 0);
  if (added) {
    const std::string& text = texts_.StringOf(id);
    place->second = part_.names.Add(is_call ? WithoutApiVersion(text) : std::string_view(text));
  }
  return place->second;
}

uint32_t PartReader::TrackOf(const TrackKey& key) {
  if (!part_.tracks.empty() && key == last_key_) return last_track_;
  const auto [place, added] =
      track_numbers_.try_emplace(key, static_cast<uint32_t>(part_.tracks.size()));
  if (added) part_.tracks.push_back(key);
  last_key_ = key;
  last_track_ = place->second;
  return last_track_;
}

uint32_t PartReader::ThreadOf(uint64_t global_tid) {
  return TrackOf({GlobalPidOf(global_tid), TrackKind::kThread, -1, -1, TidOf(global_tid)});
}

// Sets the time; false, and a counted loss, where it makes no sense.
bool PartReader::SetTime(const SqliteRow& row, size_t start, size_t end, Event& event) {
  const int64_t from = row.Integer(start);
  int64_t moved = 0;
  if (!row.IsInteger(start) || __builtin_add_overflow(from, texts_.session_start_ns, &moved) ||
      !trace::IsPlausible(moved, 0)) {
    return Lose("invalid_time");
  }
  event.start_ns = moved;
  event.position = static_cast<uint32_t>(position_);
  if (row.IsNull(end)) {
    event.duration_ns = trace::kUnfinished;
    ++part_.unfinished;
    return true;
  }
  int64_t duration = 0;
  if (!row.IsInteger(end) || __builtin_sub_overflow(row.Integer(end), from, &duration) ||
      duration < 0 || !trace::IsPlausible(moved, duration)) {
    return Lose("invalid_time");
  }
  event.duration_ns = duration;
  return true;
}

bool PartReader::Lose(const std::string& kind, const std::string& detail) {
  auto& loss = part_.losses[{kind, detail}];
  if (loss.count++ == 0) loss.first_position = position_;
  return false;
}

// A damaged table is read up to where it is damaged.
void PartReader::Read(const std::string& table, const std::vector<std::string>& columns,
                      const Piece& piece, const std::function<void(const SqliteRow&)>& on_row) {
  uint64_t rows = 0;
  const Status status = file_.Scan(
      table, columns,
      [&](const SqliteRow& row) {
        on_row(row);
        ++position_;
      },
      &rows, piece);
  part_.records += rows;
  if (!status) part_.damages.push_back(status.error().message);
}

void PartReader::ReadNvtx(const Piece& piece) {
  Read("NVTX_EVENTS",
       {"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "domainId",
        "jsonText", "jsonTextId"},
       piece, [&](const SqliteRow& row) { AddNvtx(row); });
}

void PartReader::AddNvtx(const SqliteRow& row) {
  const int64_t type = row.Integer(2);
  const auto global_tid = static_cast<uint64_t>(row.Integer(5));
  const DomainKey domain = {GlobalPidOf(global_tid), row.Integer(7)};
  switch (type) {
    case kNvtxThreadName:
      part_.track_names.emplace_back(ThreadOf(global_tid), TextOf(row, 3, 4));
      ++part_.metadata_records;
      return;
    case kNvtxDomainCreate:
      part_.domains[domain] = TextOf(row, 3, 4);
      ++part_.metadata_records;
      return;
    case kNvtxCategory:
    case kNvtxDomainDestroy:
      ++part_.metadata_records;
      return;
    case kNvtxMark:
    case kNvtxPushPop:
    case kNvtxStartEnd:
    case kNvtxTextPushPop:
    case kNvtxTextStartEnd:
      break;
    default:
      (void)Lose("unknown_event_type", fmt::format("NVTX event type {}", type));
      return;
  }
  Event event;
  if (!SetTime(row, 0, type == kNvtxMark ? 0 : 1, event)) return;
  event.track = ThreadOf(global_tid);
  const std::string_view text =
      row.IsNull(3) ? std::string_view(texts_.StringOf(row.Integer(4, -1))) : row.Text(3);
  const std::string_view name = NameOfNvtxText(text, event.external_id);
  event.name = part_.names.Add(name);
  event.kind = type == kNvtxMark                            ? EventKind::kMarker
               : name.starts_with("nccl:")                  ? EventKind::kCommunication
               : event.external_id != trace::kNoCorrelation ? EventKind::kOperator
                                                            : EventKind::kRange;
  const bool moves = !row.IsNull(6) && static_cast<uint64_t>(row.Integer(6)) != global_tid;
  event.nests = (type == kNvtxPushPop || type == kNvtxTextPushPop) && !moves;
  // The default domain, 0, has no name.
  if (domain.second != 0) part_.events_in_domains.emplace_back(NextEvent(), domain);
  // Values of payloads are there with --include-json=true.
  if (!row.IsNull(8) || !row.IsNull(9)) part_.payloads.push_back({NextEvent(), TextOf(row, 8, 9)});
  part_.events.push_back(event);
}

void PartReader::ReadCalls(const std::string& table, const Piece& piece) {
  const bool is_driver_table = table == "CUPTI_ACTIVITY_KIND_DRIVER";
  Read(table, {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"},
       piece, [&](const SqliteRow& row) {
         Event event;
         if (!SetTime(row, 0, 1, event)) return;
         event.track = ThreadOf(static_cast<uint64_t>(row.Integer(3)));
         // Driver calls have lain in the table of runtime calls for years, with class 1.
         event.kind =
             row.Integer(2) == 1 || is_driver_table ? EventKind::kDriver : EventKind::kRuntime;
         event.name = NumberOfString(row.Integer(5, -1), true);
         if (row.IsInteger(4)) event.correlation = static_cast<uint64_t>(row.Integer(4));
         part_.events.push_back(event);
         if (row.Integer(6) != 0) ++part_.failed_calls;
       });
}

bool PartReader::SetGpuWork(const SqliteRow& row, EventKind kind, Event& event) {
  if (!SetTime(row, 0, 1, event)) return false;
  event.kind = kind;
  event.track = TrackOf({GlobalPidOf(static_cast<uint64_t>(row.Integer(6))), TrackKind::kStream,
                         row.Integer(2, -1), row.Integer(3, -1), row.Integer(4, -1)});
  if (row.IsInteger(5)) event.correlation = static_cast<uint64_t>(row.Integer(5));
  return true;
}

void PartReader::ReadKernels(const Piece& piece) {
  Read("CUPTI_ACTIVITY_KIND_KERNEL",
       GpuColumns({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                   "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
                   "graphNodeId"}),
       piece, [&](const SqliteRow& row) {
         Event event;
         if (!SetGpuWork(row, EventKind::kKernel, event)) return;
         event.name = NumberOfString(row.IsNull(7) ? row.Integer(8, -1) : row.Integer(7), false);
         trace::KernelLaunch launch;
         launch.event = NextEvent();
         for (size_t i = 0; i < 3; ++i) {
           launch.shape.grid[i] = row.AsUnsigned<uint32_t>(9 + i);
           launch.shape.block[i] = row.AsUnsigned<uint32_t>(12 + i);
         }
         launch.shape.registers_per_thread = row.AsUnsigned<uint32_t>(15);
         launch.shape.shared_memory_bytes =
             row.AsUnsigned<uint32_t>(16) + row.AsUnsigned<uint32_t>(17);
         launch.graph_node = row.Integer(18, -1);
         part_.launches.push_back(launch);
         part_.events.push_back(event);
       });
}

void PartReader::ReadMemory(const std::string& table, const Piece& piece) {
  // ENUM_CUDA_MEMCPY_OPER
  static const std::map<int64_t, const char*> kCopies = {{1, "memcpy HtoD"},
                                                         {2, "memcpy DtoH"},
                                                         {8, "memcpy DtoD"},
                                                         {9, "memcpy HtoH"},
                                                         {10, "memcpy PtoP"}};
  const bool is_memset = table == "CUPTI_ACTIVITY_KIND_MEMSET";
  Read(table, GpuColumns({"bytes", "copyKind"}), piece, [&](const SqliteRow& row) {
    Event event;
    if (!SetGpuWork(row, is_memset ? EventKind::kMemset : EventKind::kMemcpy, event)) return;
    const auto copy = kCopies.find(row.Integer(8, -1));
    event.name = part_.names.Add(is_memset               ? "memset"
                                 : copy == kCopies.end() ? "memcpy"
                                                         : copy->second);
    part_.memory.push_back({NextEvent(), row.AsUnsigned<uint64_t>(7)});
    part_.events.push_back(event);
  });
}

// eventSyncId tells records of the same event apart; `column` is that of eventId.
PartReader::RecordedKey PartReader::RecordKey(const SqliteRow& row, size_t column) {
  return {GlobalPidOf(static_cast<uint64_t>(row.Integer(6))), row.Integer(column),
          row.Integer(column + 1)};
}

void PartReader::ReadSynchronisation() {
  std::map<RecordedKey, uint32_t> recorded;  // events that were recorded on streams
  std::vector<std::string> columns = GpuColumns({"eventId", "eventSyncId"});
  columns[0] = columns[1] = "timestamp";
  Read("CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, {}, [&](const SqliteRow& row) {
    // Without device timestamps the time is 0 or missing.
    if (row.Integer(0) == 0) {
      (void)Lose("no_device_timestamp");
      return;
    }
    Event event;
    if (!SetGpuWork(row, EventKind::kMarker, event)) return;
    event.name = part_.names.Add("CUDA event record");
    event.nests = false;
    if (!row.IsNull(8)) recorded[RecordKey(row, 7)] = NextEvent();
    part_.events.push_back(event);
  });

  // ENUM_CUPTI_SYNC_TYPE
  static const std::map<int64_t, const char*> kTypes = {{1, "event synchronize"},
                                                        {2, "stream wait event"},
                                                        {3, "stream synchronize"},
                                                        {4, "context synchronize"}};
  constexpr int64_t kStreamWaitEvent = 2;
  Read("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", GpuColumns({"syncType", "eventId", "eventSyncId"}),
       {}, [&](const SqliteRow& row) {
         Event event;
         if (!SetGpuWork(row, EventKind::kSync, event)) return;
         const auto type = kTypes.find(row.Integer(7));
         event.name = part_.names.Add(type == kTypes.end() ? "synchronize" : type->second);
         if (row.Integer(7) == kStreamWaitEvent && !row.IsNull(9)) {
           const auto found = recorded.find(RecordKey(row, 8));
           part_.waits.push_back(
               {NextEvent(), found == recorded.end() ? trace::kNoEvent : found->second});
         }
         part_.events.push_back(event);
       });
}

// With --cuda-graph-trace=graph a launch of a graph is one bar, and its kernels are not there.
void PartReader::ReadGraphs() {
  Read("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", GpuColumns({"graphId"}), {}, [&](const SqliteRow& row) {
    Event event;
    if (!SetGpuWork(row, EventKind::kGraph, event)) return;
    event.name = part_.names.Add(fmt::format("CUDA graph {}", row.Integer(7)));
    part_.events.push_back(event);
    ++part_.graphs;
  });
}

// OSRT_API (calls into the operating system) and the profiler's own overhead.
void PartReader::ReadThreadCalls(const std::string& table, const Piece& piece) {
  Read(table, {"start", "end", "globalTid", "nameId"}, piece, [&](const SqliteRow& row) {
    Event event;
    if (!SetTime(row, 0, 1, event)) return;
    event.kind = EventKind::kOther;
    event.track = ThreadOf(static_cast<uint64_t>(row.Integer(2)));
    event.name = NumberOfString(row.Integer(3, -1), false);
    event.nests = table == "OSRT_API";
    part_.events.push_back(event);
  });
}

// The profiler's own words about what it dropped or could not do.
void PartReader::ReadDiagnostics() {
  constexpr int64_t kWarning = 2;
  Read("DIAGNOSTIC_EVENT", {"severity", "text"}, {}, [&](const SqliteRow& row) {
    ++part_.metadata_records;
    if (row.Integer(0) < kWarning) return;
    part_.diagnostics[std::string(row.Text(1).substr(0, 500))] += 1;
  });
}

std::string_view NameOfNvtxText(std::string_view text, uint64_t& op_id) {
  constexpr std::string_view kOpId = ", op_id = ";
  constexpr std::string_view kSeq = ", seq = ";
  const size_t at = text.find(kOpId);
  if (at != std::string_view::npos) {
    const std::string_view digits = text.substr(at + kOpId.size());
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end != digits.data()) op_id = value;
  }
  return text.substr(0, std::min(at, text.find(kSeq)));
}

std::string_view WithoutApiVersion(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits == name.size() || digits < 2 || name.substr(digits - 2, 2) != "_v") return name;
  return name.substr(0, digits - 2);
}

}  // namespace telltale::nsight
