#include "readers/nsight/nsight_loader.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "base/slices.h"
#include "readers/nsight/export_part.h"

namespace telltale::nsight {
namespace {

using trace::Event;
using trace::EventKind;
using trace::TraceData;

// Tables that describe; the others with a time are tables of events.
bool IsDescription(std::string_view table) {
  for (const std::string_view prefix :
       {"ENUM_", "META_DATA_", "TARGET_INFO_", "ANALYSIS_", "NVTX_PAYLOAD_", "sqlite_"}) {
    if (table.starts_with(prefix)) return true;
  }
  return table == "StringIds" || table == "PROCESSES" || table == "ThreadNames" ||
         table == "ProcessStreams" || table == "SAMPLING_CALLCHAINS" || table == "EXPORT_META_DATA";
}

// A table, or a piece of one, and how it is read.
struct Reading {
  std::function<void(PartReader&, const PartReader::Piece&)> read;
  PartReader::Piece piece;
};

// Rows that are worth another thread, and the most pieces that a table is cut into.
constexpr uint64_t kPieceRows = uint64_t{1} << 18;
constexpr uint64_t kMostPieces = 256;

std::vector<PartReader::Piece> PiecesOf(const SqliteFile& file, const std::string& table) {
  const std::optional<RowidRange> rows = file.RowidsOf(table);
  if (!rows) return {{}};
  // Row ids may be any numbers; as unsigned ones their distance does not overflow.
  const uint64_t distance = static_cast<uint64_t>(rows->last) - static_cast<uint64_t>(rows->first);
  const uint64_t step = std::max(kPieceRows, distance / kMostPieces + 1);
  std::vector<PartReader::Piece> pieces;
  for (uint64_t begin = 0;; begin += step) {
    const uint64_t end = distance - begin < step ? distance : begin + step - 1;
    const auto id_of = [&](uint64_t offset) {
      return static_cast<int64_t>(static_cast<uint64_t>(rows->first) + offset);
    };
    pieces.push_back(RowidRange{id_of(begin), id_of(end)});
    if (end == distance) return pieces;
  }
}

class Loader {
 public:
  Loader(SqliteFile& file, unsigned threads) : file_(file), threads_(threads) {}

  Result<TraceData> Load() {
    Keep(LoadMetadata());
    Keep(file_.Scan("StringIds", {"id", "value"}, [&](const SqliteRow& row) {
      texts_.strings.emplace(row.Integer(0), row.Text(1));
    }));
    PlanReadings();
    TELLTALE_TRY(ReadAll());
    Join();
    Keep(NameTracks());
    Keep(ReadOutput());
    CountOtherTables();
    AddNotes();
    const auto& names = names_.texts();
    data_.names.assign(names.begin(), names.end());
    return std::move(data_);
  }

 private:
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
    has_start_ = false;
    return file_.Scan("TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, [&](const SqliteRow& row) {
      if (has_start_ || !row.IsNumber(0)) return;
      has_start_ = true;
      texts_.session_start_ns = row.Integer(0);
    });
  }

  // Positions count the rows of the tables in this order.
  void PlanReadings() {
    using Piece = PartReader::Piece;
    const auto add = [&](const std::string& table, auto read) {
      read_tables_.insert(table);
      for (const Piece& piece : PiecesOf(file_, table)) readings_.push_back({read, piece});
    };
    add("NVTX_EVENTS", [](PartReader& to, const Piece& piece) { to.ReadNvtx(piece); });
    for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
      add(table, [table](PartReader& to, const Piece& piece) { to.ReadCalls(table, piece); });
    }
    add("CUPTI_ACTIVITY_KIND_KERNEL",
        [](PartReader& to, const Piece& piece) { to.ReadKernels(piece); });
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"}) {
      add(table, [table](PartReader& to, const Piece& piece) { to.ReadMemory(table, piece); });
    }
    readings_.push_back({[](PartReader& to, const Piece&) {
                           to.ReadSynchronisation();
                           to.ReadGraphs();
                         },
                         {}});
    for (const char* table : {"OSRT_API", "CUPTI_ACTIVITY_KIND_OVERHEAD", "PROFILER_OVERHEAD"}) {
      add(table, [table](PartReader& to, const Piece& piece) { to.ReadThreadCalls(table, piece); });
    }
    readings_.push_back({[](PartReader& to, const Piece&) { to.ReadDiagnostics(); }, {}});
    read_tables_.insert({"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                         "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "DIAGNOSTIC_EVENT"});
  }

  // Each thread has a connection of its own: SQLite reads on one thread a connection.
  Status ReadAll() {
    parts_.resize(readings_.size());
    const size_t threads = std::min<size_t>(threads_, readings_.size());
    std::vector<std::unique_ptr<SqliteFile>> others;
    for (size_t i = 1; i < threads; ++i) {
      TELLTALE_ASSIGN(others.emplace_back(), SqliteFile::Open(file_.path()));
    }
    std::atomic<size_t> next{0};
    ForEachSlice(threads, threads, [&](size_t thread, size_t, size_t) {
      SqliteFile& file = thread == 0 ? file_ : *others[thread - 1];
      for (size_t i = next++; i < readings_.size(); i = next++) {
        PartReader reader(file, texts_, parts_[i]);
        readings_[i].read(reader, readings_[i].piece);
      }
    });
    return {};
  }

  void Join() {
    std::map<DomainKey, std::string> domains;
    std::vector<std::vector<uint32_t>> names(parts_.size()), tracks(parts_.size());
    std::vector<uint64_t> first_position;
    std::vector<trace::TraceRows*> rows;
    for (size_t i = 0; i < parts_.size(); ++i) {
      ExportPart& part = parts_[i];
      for (const std::string& name : part.names.texts()) names[i].push_back(names_.Add(name));
      for (const TrackKey& key : part.tracks) tracks[i].push_back(NumberOfTrack(key));
      for (auto& [track, name] : part.track_names) {
        data_.tracks[tracks[i][track]].name = std::move(name);
      }
      for (auto& [key, name] : part.domains) domains[key] = std::move(name);
      first_position.push_back(data_.records);
      rows.push_back(&part);
      AddCounts(part);
    }
    ForEachSlice(parts_.size(), threads_, [&](size_t, size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        for (Event& event : parts_[i].events) {
          event.name = names[i][event.name];
          event.track = tracks[i][event.track];
          event.position += static_cast<uint32_t>(first_position[i]);
        }
      }
    });
    for (ExportPart& part : parts_) {
      for (const auto& [event, key] : part.events_in_domains) {
        const auto domain = domains.find(key);
        if (domain != domains.end()) MoveToDomain(part.events[event], domain->second);
      }
    }
    trace::JoinRows(rows, data_);
    parts_ = {};
  }

  void MoveToDomain(Event& event, const std::string& domain) {
    if (domain.empty()) return;
    event.name = names_.Add(domain + ":" + names_.texts()[event.name]);
    if (domain == "NCCL" && event.kind != EventKind::kMarker) {
      event.kind = EventKind::kCommunication;
    }
  }

  void AddCounts(ExportPart& part) {
    // A damaged file has any number of kinds of events.
    constexpr size_t kMostDetails = 64;
    for (const auto& [key, loss] : part.losses) {
      const bool is_one_of_many = losses_.size() >= kMostDetails && !losses_.contains(key);
      auto& sum = losses_[is_one_of_many ? std::pair(key.first, std::string("others")) : key];
      if (sum.count == 0) sum.first_position = data_.records + loss.first_position;
      sum.count += loss.count;
    }
    for (const auto& [text, count] : part.diagnostics) diagnostics_[text] += count;
    for (const std::string& damage : part.damages) Keep(Fail("{}", damage));
    data_.records += part.records;
    data_.metadata_records += part.metadata_records;
    unfinished_ += part.unfinished;
    failed_calls_ += part.failed_calls;
    graphs_ += part.graphs;
  }

  uint32_t NumberOfTrack(const TrackKey& key) {
    const auto [place, added] =
        tracks_.try_emplace(key, static_cast<uint32_t>(data_.tracks.size()));
    if (added) {
      const auto [process, is_new] =
          processes_.try_emplace(key.process, static_cast<uint32_t>(data_.processes.size()));
      if (is_new) data_.processes.emplace_back().pid = PidOf(key.process);
      data_.tracks.push_back({process->second, key.kind, key.device, key.context, key.id, ""});
    }
    return place->second;
  }

  Status NameTracks() {
    TELLTALE_TRY(file_.Scan("PROCESSES", {"globalPid", "name"}, [&](const SqliteRow& row) {
      const auto found = processes_.find(GlobalPidOf(static_cast<uint64_t>(row.Integer(0))));
      if (found != processes_.end()) data_.processes[found->second].name = row.Text(1);
    }));
    return file_.Scan("ThreadNames", {"nameId", "globalTid"}, [&](const SqliteRow& row) {
      const auto global_tid = static_cast<uint64_t>(row.Integer(1));
      const auto found = tracks_.find(
          {GlobalPidOf(global_tid), trace::TrackKind::kThread, -1, -1, TidOf(global_tid)});
      if (found == tracks_.end()) return;
      std::string& name = data_.tracks[found->second].name;
      // What the program itself said goes first.
      if (name.empty()) name = texts_.StringOf(row.Integer(0, -1));
    });
  }

  // Files that the profiler captured: what processes wrote, and its own settings, which stay
  // outside.
  Status ReadOutput() {
    return file_.Scan(
        "ProcessStreams", {"globalPid", "filenameId", "contentId"}, [&](const SqliteRow& row) {
          const std::string& name = texts_.StringOf(row.Integer(1, -1));
          const char* const stream = name.ends_with("_stdout.log")   ? "stdout"
                                     : name.ends_with("_stderr.log") ? "stderr"
                                                                     : nullptr;
          if (stream == nullptr) return;
          const auto content = texts_.strings.find(row.Integer(2, -1));
          if (content == texts_.strings.end()) {
            ++output_without_text_;
            return;
          }
          const auto process = processes_.find(GlobalPidOf(static_cast<uint64_t>(row.Integer(0))));
          AddLines(content->second, stream,
                   process == processes_.end() ? std::nullopt : std::optional(process->second));
        });
  }

  void AddLines(std::string_view text, const char* stream, std::optional<uint32_t> process) {
    uint32_t number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      data_.output.push_back({process, stream, ++number, std::string(line)});
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void CountOtherTables() {
    for (const std::string& table : file_.tables()) {
      if (IsDescription(table) || read_tables_.contains(table)) continue;
      const std::set<std::string> columns = file_.ColumnsOf(table);
      if (!columns.contains("start") && !columns.contains("timestamp") &&
          !columns.contains("rawTimestamp")) {
        continue;
      }
      const auto count = file_.CountOf(table);
      if (!count) Keep(Fail("{}", count.error().message));
      if (!count || *count == 0) continue;
      data_.records += *count;
      losses_[{"table_not_read", table}].count += *count;
    }
  }

  void AddNotes() {
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
    note("no_session_start", has_start_ ? 0 : 1, "the table TARGET_INFO_SESSION_START_TIME");
    note("output_without_text", output_without_text_,
         "standard output or error that was captured, but whose text is not in the file");
    note("failed_call", failed_calls_,
         "CUDA calls that returned an error (also cudaErrorNotReady)");
    note("graph_without_kernels", graphs_,
         "recorded with --cuda-graph-trace=graph; =node shows their kernels");
    note("damaged_file", damaged_.empty() ? 0 : 1, damaged_ + ": rows behind it are missing");
  }

  // What is lost behind a damage nobody can count.
  void Keep(const Status& status) {
    if (status || damaged_.find(status.error().message) != std::string::npos) return;
    damaged_ += (damaged_.empty() ? "" : "; ") + status.error().message;
  }

  SqliteFile& file_;
  unsigned threads_;
  ExportTexts texts_;
  std::vector<Reading> readings_;
  std::vector<ExportPart> parts_;  // by reading
  std::set<std::string> read_tables_;
  TraceData data_;
  Interner names_;
  std::map<TrackKey, uint32_t> tracks_;
  std::map<uint64_t, uint32_t> processes_;
  std::map<std::pair<std::string, std::string>, ExportPart::LossCount> losses_;
  std::map<std::string, uint64_t> diagnostics_;
  std::string damaged_;
  bool has_start_ = true;  // of the session, or needs none
  uint64_t unfinished_ = 0;
  uint64_t failed_calls_ = 0;
  uint64_t output_without_text_ = 0;
  uint64_t graphs_ = 0;
};

}  // namespace

Result<TraceData> LoadExport(SqliteFile& file, unsigned threads) {
  return Loader(file, std::max(threads, 1U)).Load();
}

}  // namespace telltale::nsight
