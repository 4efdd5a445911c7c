#include "readers/nsight/nsight_loader.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <unordered_map>

namespace telltale::nsight {
namespace {

using trace::Event;
using trace::EventKind;
using trace::TraceData;
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

constexpr int64_t kStreamWaitEvent = 2;  // ENUM_CUPTI_SYNC_TYPE
constexpr uint64_t kTidBits = 0xffffff;
// The hardware id in the top byte makes some of these negative as they are stored.
uint64_t GlobalPidOf(uint64_t global_tid) { return global_tid & ~kTidBits; }
int64_t PidOf(uint64_t global_id) { return static_cast<int64_t>((global_id >> 24) & 0xffffff); }

// Tables that describe; the others with a time are tables of events.
bool IsDescription(std::string_view table) {
  for (const std::string_view prefix :
       {"ENUM_", "META_DATA_", "TARGET_INFO_", "ANALYSIS_", "NVTX_PAYLOAD_", "sqlite_"}) {
    if (table.starts_with(prefix)) return true;
  }
  return table == "StringIds" || table == "PROCESSES" || table == "ThreadNames" ||
         table == "ProcessStreams" || table == "SAMPLING_CALLCHAINS" || table == "EXPORT_META_DATA";
}

class Loader {
 public:
  explicit Loader(SqliteFile& file) : file_(file) {}

  Result<TraceData> Load() {
    Keep(LoadMetadata());
    Keep(LoadStrings());
    Keep(LoadDomains());
    LoadNvtx();
    LoadCalls("CUPTI_ACTIVITY_KIND_RUNTIME", EventKind::kRuntime);
    LoadCalls("CUPTI_ACTIVITY_KIND_DRIVER", EventKind::kDriver);
    LoadKernels();
    LoadMemory("CUPTI_ACTIVITY_KIND_MEMCPY", EventKind::kMemcpy);
    LoadMemory("CUPTI_ACTIVITY_KIND_MEMSET", EventKind::kMemset);
    LoadCudaEvents();
    LoadSynchronisation();
    LoadGraphs();
    LoadThreadCalls("OSRT_API");
    LoadThreadCalls("CUPTI_ACTIVITY_KIND_OVERHEAD");
    LoadThreadCalls("PROFILER_OVERHEAD");
    LoadDiagnostics();
    Keep(NameTracks());
    CountOtherTables();
    return std::move(data_);
  }

 private:
  // --- What describes.

  Status LoadMetadata() {
    bool normalised = false;
    TELLTALE_TRY(file_.Scan("META_DATA_EXPORT", {"name", "value"}, [&](const SqliteRow& row) {
      const std::string_view name = row.Text(0);
      const std::string_view value = row.Text(1);
      if (name == "EXPORT_SCHEMA_VERSION") data_.format_version = value;
      if (name == "EXPORT_PRODUCT_VERSION") data_.tool = "nsys " + std::string(value);
      if (name == "EXPORT_HOST") data_.host = value;
      // Values are UTC then, or moved by the user: adding the start again would be wrong.
      if (name == "EXPORT_PARAM_TIME_NORMALIZE") normalised = normalised || value == "true";
      if (name == "EXPORT_PARAM_TIME_SHIFT") {
        normalised = normalised || (value != "0" && !value.empty());
      }
    }));
    if (normalised) return {};
    return file_.Scan("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"},
                      [&](const SqliteRow& row) { session_start_ns_ = row.Integer(0); });
  }

  Status LoadStrings() {
    return file_.Scan("StringIds", {"id", "value"},
                      [&](const SqliteRow& row) { strings_.emplace(row.Integer(0), row.Text(1)); });
  }

  // Domains are numbered in each process; the default one, 0, has no name.
  Status LoadDomains() {
    if (!file_.HasTable("NVTX_EVENTS")) return {};
    return file_.Scan("NVTX_EVENTS", {"eventType", "globalTid", "domainId", "text", "textId"},
                      [&](const SqliteRow& row) {
                        if (row.Integer(0) != kNvtxDomainCreate) return;
                        const auto global_tid = static_cast<uint64_t>(row.Integer(1));
                        domains_[{GlobalPidOf(global_tid), row.Integer(2)}] =
                            row.IsNull(3) ? StringOf(row.Integer(4, -1)) : std::string(row.Text(3));
                      });
  }

  const std::string& StringOf(int64_t id) const {
    static const std::string kUnknown = "(unnamed)";
    const auto found = strings_.find(id);
    return found == strings_.end() ? kUnknown : found->second;
  }

  // --- Numbers for texts, processes and tracks.

  uint32_t NumberOfName(std::string_view text) {
    const auto found = name_numbers_.find(std::string(text));
    if (found != name_numbers_.end()) return found->second;
    const auto number = static_cast<uint32_t>(data_.names.size());
    data_.names.emplace_back(text);
    name_numbers_.emplace(text, number);
    return number;
  }
  // By id, so that long kernel names are hashed once.
  uint32_t NumberOfString(int64_t id, bool is_call) {
    const auto [place, added] = string_numbers_.try_emplace({id, is_call}, 0);
    if (added) {
      const std::string& text = StringOf(id);
      place->second = NumberOfName(is_call ? WithoutApiVersion(text) : std::string_view(text));
    }
    return place->second;
  }

  uint32_t ProcessOf(uint64_t global_pid) {
    const auto [place, added] =
        processes_.try_emplace(global_pid, static_cast<uint32_t>(data_.processes.size()));
    if (added) {
      trace::Process process;
      process.pid = PidOf(global_pid);
      data_.processes.push_back(std::move(process));
    }
    return place->second;
  }

  uint32_t ThreadOf(uint64_t global_tid) {
    if (last_thread_ == global_tid && !threads_.empty()) return last_thread_track_;
    const auto [place, added] =
        threads_.try_emplace(global_tid, static_cast<uint32_t>(data_.tracks.size()));
    if (added) {
      trace::Track track;
      track.process = ProcessOf(GlobalPidOf(global_tid));
      track.kind = TrackKind::kThread;
      track.id = static_cast<int64_t>(global_tid & kTidBits);
      data_.tracks.push_back(std::move(track));
    }
    last_thread_ = global_tid;
    last_thread_track_ = place->second;
    return place->second;
  }

  uint32_t StreamOf(uint64_t global_pid, int64_t device, int64_t context, int64_t stream) {
    const auto [place, added] =
        streams_.try_emplace({GlobalPidOf(global_pid), device, context, stream},
                             static_cast<uint32_t>(data_.tracks.size()));
    if (added) {
      trace::Track track;
      track.process = ProcessOf(GlobalPidOf(global_pid));
      track.kind = TrackKind::kStream;
      track.device = device;
      track.context = context;
      track.id = stream;
      data_.tracks.push_back(std::move(track));
    }
    return place->second;
  }

  // --- Events.

  // Sets the time; false, and a counted loss, where it makes no sense.
  bool SetTime(const SqliteRow& row, int start, int end, Event& event) {
    const int64_t from = row.Integer(start);
    int64_t moved = 0;
    if (!row.IsInteger(start) || __builtin_add_overflow(from, session_start_ns_, &moved) ||
        !trace::IsPlausible(moved, 0)) {
      return Lose("invalid_time");
    }
    event.start_ns = moved;
    event.position = static_cast<uint32_t>(position_);
    if (row.IsNull(end)) {
      event.duration_ns = trace::kUnfinished;
      ++unfinished_;
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

  bool Lose(const std::string& kind, const std::string& detail = {}) {
    auto& loss = losses_[{kind, detail}];
    if (loss.count++ == 0) loss.first_position = position_;
    return false;
  }

  // Reads one table; a damaged one up to where it is damaged.
  void Read(const std::string& table, const std::vector<std::string>& columns,
            const std::function<void(const SqliteRow&)>& on_row) {
    if (!file_.HasTable(table)) return;
    read_tables_.push_back(table);
    uint64_t rows = 0;
    const Status status = file_.Scan(
        table, columns,
        [&](const SqliteRow& row) {
          on_row(row);
          ++position_;
        },
        &rows);
    data_.records += rows;
    Keep(status);
  }

  // A damaged table is read up to where it is damaged; what is lost behind it nobody can count.
  void Keep(const Status& status) {
    if (status || damaged_.find(status.error().message) != std::string::npos) return;
    damaged_ += (damaged_.empty() ? "" : "; ") + status.error().message;
  }

  void LoadNvtx() {
    Read("NVTX_EVENTS",
         {"start", "end", "eventType", "text", "textId", "globalTid", "endGlobalTid", "domainId"},
         [&](const SqliteRow& row) { AddNvtx(row); });
  }

  void AddNvtx(const SqliteRow& row) {
    const int64_t type = row.Integer(2);
    const auto global_tid = static_cast<uint64_t>(row.Integer(5));
    switch (type) {
      case kNvtxThreadName:
        data_.tracks[ThreadOf(global_tid)].name =
            row.IsNull(3) ? StringOf(row.Integer(4, -1)) : std::string(row.Text(3));
        [[fallthrough]];
      case kNvtxCategory:
      case kNvtxDomainCreate:
      case kNvtxDomainDestroy:
        ++data_.metadata_records;
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
    std::string_view text;
    if (row.IsNull(3)) {
      text = StringOf(row.Integer(4, -1));
    } else {
      text = row.Text(3);
    }
    const std::string_view name = NameOfNvtxText(text, event.external_id);
    const auto domain = domains_.find({GlobalPidOf(global_tid), row.Integer(7)});
    const bool has_domain = domain != domains_.end() && !domain->second.empty();
    event.name =
        has_domain ? NumberOfName(domain->second + ":" + std::string(name)) : NumberOfName(name);
    const bool is_nccl = has_domain && domain->second == "NCCL";
    event.kind = type == kNvtxMark                            ? EventKind::kMarker
                 : is_nccl || name.starts_with("nccl:")       ? EventKind::kCommunication
                 : event.external_id != trace::kNoCorrelation ? EventKind::kOperator
                                                              : EventKind::kRange;
    const bool moves = !row.IsNull(6) && static_cast<uint64_t>(row.Integer(6)) != global_tid;
    event.nests = (type == kNvtxPushPop || type == kNvtxTextPushPop) && !moves;
    data_.events.push_back(event);
  }

  void LoadCalls(const std::string& table, EventKind kind) {
    Read(table,
         {"start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue"},
         [&](const SqliteRow& row) {
           Event event;
           if (!SetTime(row, 0, 1, event)) return;
           event.track = ThreadOf(static_cast<uint64_t>(row.Integer(3)));
           // Driver calls have lain in the table of runtime calls for years, with class 1.
           event.kind = row.Integer(2) == 1 ? EventKind::kDriver : kind;
           event.name = NumberOfString(row.Integer(5, -1), true);
           if (!row.IsNull(4)) event.correlation = static_cast<uint64_t>(row.Integer(4));
           data_.events.push_back(event);
           const int64_t result = row.Integer(6);
           if (result != 0) ++failed_calls_;
         });
  }

  // Times, place and correlation of GPU work: columns 0 to 6 of its query.
  static std::vector<std::string> GpuColumns(std::initializer_list<const char*> more) {
    std::vector<std::string> columns = {"start",    "end",           "deviceId", "contextId",
                                        "streamId", "correlationId", "globalPid"};
    columns.insert(columns.end(), more.begin(), more.end());
    return columns;
  }
  bool SetGpuWork(const SqliteRow& row, EventKind kind, Event& event) {
    if (!SetTime(row, 0, 1, event)) return false;
    event.kind = kind;
    event.track = StreamOf(static_cast<uint64_t>(row.Integer(6)), row.Integer(2, -1),
                           row.Integer(3, -1), row.Integer(4, -1));
    if (!row.IsNull(5)) event.correlation = static_cast<uint64_t>(row.Integer(5));
    return true;
  }
  uint32_t NextEvent() const { return static_cast<uint32_t>(data_.events.size()); }

  void LoadKernels() {
    Read("CUPTI_ACTIVITY_KIND_KERNEL",
         GpuColumns({"demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY",
                     "blockZ", "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
                     "graphNodeId"}),
         [&](const SqliteRow& row) {
           Event event;
           if (!SetGpuWork(row, EventKind::kKernel, event)) return;
           event.name = NumberOfString(row.IsNull(7) ? row.Integer(8, -1) : row.Integer(7), false);
           trace::KernelLaunch launch;
           launch.event = NextEvent();
           for (int i = 0; i < 3; ++i) {
             launch.grid[i] = static_cast<uint32_t>(row.Integer(9 + i));
             launch.block[i] = static_cast<uint32_t>(row.Integer(12 + i));
           }
           launch.registers_per_thread = static_cast<uint32_t>(row.Integer(15));
           launch.shared_memory_bytes = static_cast<uint32_t>(row.Integer(16) + row.Integer(17));
           launch.graph_node = row.Integer(18, -1);
           data_.launches.push_back(launch);
           data_.events.push_back(event);
         });
  }

  void LoadMemory(const std::string& table, EventKind kind) {
    // ENUM_CUDA_MEMCPY_OPER
    static const std::map<int64_t, const char*> kCopies = {{1, "memcpy HtoD"},
                                                           {2, "memcpy DtoH"},
                                                           {8, "memcpy DtoD"},
                                                           {9, "memcpy HtoH"},
                                                           {10, "memcpy PtoP"}};
    Read(table, GpuColumns({"bytes", "copyKind"}), [&](const SqliteRow& row) {
      Event event;
      if (!SetGpuWork(row, kind, event)) return;
      const auto copy = kCopies.find(row.Integer(8, -1));
      event.name = NumberOfName(kind == EventKind::kMemset ? "memset"
                                : copy == kCopies.end()    ? "memcpy"
                                                           : copy->second);
      data_.memory.push_back({NextEvent(), static_cast<uint64_t>(row.Integer(7))});
      data_.events.push_back(event);
    });
  }

  void LoadSynchronisation() {
    // ENUM_CUPTI_SYNC_TYPE
    static const std::map<int64_t, const char*> kTypes = {{1, "event synchronize"},
                                                          {2, "stream wait event"},
                                                          {3, "stream synchronize"},
                                                          {4, "context synchronize"}};
    Read("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", GpuColumns({"syncType", "eventId", "eventSyncId"}),
         [&](const SqliteRow& row) {
           Event event;
           if (!SetGpuWork(row, EventKind::kSync, event)) return;
           const auto type = kTypes.find(row.Integer(7));
           event.name = NumberOfName(type == kTypes.end() ? "synchronize" : type->second);
           if (row.Integer(7) == kStreamWaitEvent && !row.IsNull(9)) {
             const auto recorded = recorded_.find(RecordKey(row, 8));
             data_.waits.push_back(
                 {NextEvent(), recorded == recorded_.end() ? trace::kNoEvent : recorded->second});
           }
           data_.events.push_back(event);
         });
  }

  // With --cuda-graph-trace=graph a launch of a graph is one bar, and its kernels are not there.
  void LoadGraphs() {
    Read("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", GpuColumns({"graphId"}), [&](const SqliteRow& row) {
      Event event;
      if (!SetGpuWork(row, EventKind::kGraph, event)) return;
      event.name = NumberOfName(fmt::format("CUDA graph {}", row.Integer(7)));
      data_.events.push_back(event);
      ++graphs_;
    });
  }

  void LoadCudaEvents() {
    std::vector<std::string> columns = GpuColumns({"eventId", "eventSyncId"});
    columns[0] = columns[1] = "timestamp";
    Read("CUPTI_ACTIVITY_KIND_CUDA_EVENT", columns, [&](const SqliteRow& row) {
      // Without device timestamps the time is 0 or missing.
      if (row.Integer(0) == 0) {
        (void)Lose("no_device_timestamp");
        return;
      }
      Event event;
      if (!SetGpuWork(row, EventKind::kMarker, event)) return;
      event.name = NumberOfName("CUDA event record");
      event.nests = false;
      if (!row.IsNull(8)) recorded_[RecordKey(row, 7)] = NextEvent();
      data_.events.push_back(event);
    });
  }

  // eventSyncId tells records of the same event apart; `column` is that of eventId.
  using RecordedKey = std::tuple<uint64_t, int64_t, int64_t>;
  static RecordedKey RecordKey(const SqliteRow& row, int column) {
    return {GlobalPidOf(static_cast<uint64_t>(row.Integer(6))), row.Integer(column),
            row.Integer(column + 1)};
  }

  // OSRT_API (calls into the operating system) and the profiler's own overhead.
  void LoadThreadCalls(const std::string& table) {
    Read(table, {"start", "end", "globalTid", "nameId"}, [&](const SqliteRow& row) {
      Event event;
      if (!SetTime(row, 0, 1, event)) return;
      event.kind = EventKind::kOther;
      event.track = ThreadOf(static_cast<uint64_t>(row.Integer(2)));
      event.name = NumberOfString(row.Integer(3, -1), false);
      event.nests = table == "OSRT_API";
      data_.events.push_back(event);
    });
  }

  // The profiler's own words about what it dropped or could not do.
  void LoadDiagnostics() {
    constexpr int64_t kWarning = 2;
    Read("DIAGNOSTIC_EVENT", {"severity", "text"}, [&](const SqliteRow& row) {
      ++data_.metadata_records;
      if (row.Integer(0) < kWarning) return;
      diagnostics_[std::string(row.Text(1).substr(0, 500))] += 1;
    });
  }

  void CountOtherTables() {
    for (const std::string& table : file_.tables()) {
      if (IsDescription(table)) continue;
      if (std::find(read_tables_.begin(), read_tables_.end(), table) != read_tables_.end())
        continue;
      const std::set<std::string> columns = file_.ColumnsOf(table);
      if (!columns.contains("start") && !columns.contains("timestamp") &&
          !columns.contains("rawTimestamp")) {
        continue;
      }
      const auto count = file_.CountOf(table);
      if (!count || *count == 0) continue;
      data_.records += *count;
      losses_[{"table_not_read", table}].count += *count;
    }
    for (const auto& [key, loss] : losses_) {
      data_.losses.push_back({key.first, "line", loss.count, loss.first_position, key.second});
    }
    for (const auto& [text, count] : diagnostics_) {
      data_.losses.push_back({"profiler_diagnostic", "note", count, 0, text});
    }
    const auto note = [&](const char* kind, uint64_t count, const std::string& detail) {
      if (count > 0) data_.losses.push_back({kind, "note", count, 0, detail});
    };
    note("unfinished_event", unfinished_, "");
    note("failed_call", failed_calls_,
         "CUDA calls that returned an error (also cudaErrorNotReady)");
    note("graph_without_kernels", graphs_,
         "recorded with --cuda-graph-trace=graph; =node shows their kernels");
    note("damaged_file", damaged_.empty() ? 0 : 1, damaged_ + ": rows behind it are missing");
  }

  Status NameTracks() {
    TELLTALE_TRY(file_.Scan("PROCESSES", {"globalPid", "name"}, [&](const SqliteRow& row) {
      const auto found = processes_.find(GlobalPidOf(static_cast<uint64_t>(row.Integer(0))));
      if (found != processes_.end()) data_.processes[found->second].name = row.Text(1);
    }));
    return file_.Scan("ThreadNames", {"nameId", "globalTid"}, [&](const SqliteRow& row) {
      const auto found = threads_.find(static_cast<uint64_t>(row.Integer(1)));
      if (found == threads_.end()) return;
      std::string& name = data_.tracks[found->second].name;
      // What the program itself said goes first.
      if (name.empty()) name = StringOf(row.Integer(0, -1));
    });
  }

  struct LossCount {
    uint64_t count = 0;
    uint64_t first_position = 0;
  };
  SqliteFile& file_;
  TraceData data_;
  int64_t session_start_ns_ = 0;
  uint64_t position_ = 0;
  std::unordered_map<int64_t, std::string> strings_;
  std::map<std::pair<uint64_t, int64_t>, std::string> domains_;
  std::unordered_map<std::string, uint32_t> name_numbers_;
  std::map<std::pair<int64_t, bool>, uint32_t> string_numbers_;
  std::map<uint64_t, uint32_t> processes_, threads_;
  std::map<std::tuple<uint64_t, int64_t, int64_t, int64_t>, uint32_t> streams_;
  uint64_t last_thread_ = 0;
  uint32_t last_thread_track_ = 0;
  std::map<RecordedKey, uint32_t> recorded_;  // events that were recorded on streams
  std::map<std::pair<std::string, std::string>, LossCount> losses_;
  std::map<std::string, uint64_t> diagnostics_;
  std::vector<std::string> read_tables_;
  std::string damaged_;
  uint64_t unfinished_ = 0;
  uint64_t failed_calls_ = 0;
  uint64_t graphs_ = 0;
};

}  // namespace

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

Result<TraceData> LoadExport(SqliteFile& file) { return Loader(file).Load(); }

}  // namespace telltale::nsight
