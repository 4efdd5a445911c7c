#pragma once

// Reads rows of an export's tables, or of a piece of one, on one thread. Columns come and go with
// versions; facts about each table are where it is read.

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/interner.h"
#include "readers/nsight/sqlite_file.h"
#include "readers/trace/trace_data.h"

namespace telltale::nsight {

// What all parts of an export share.
struct ExportTexts {
  std::unordered_map<int64_t, std::string> strings;  // table StringIds
  int64_t session_start_ns = 0;                      // to be added to times
  const std::string& StringOf(int64_t id) const;
};

// Where events lie: a thread or a stream of a process (its globalPid).
struct TrackKey {
  uint64_t process = 0;
  trace::TrackKind kind = trace::TrackKind::kThread;
  int64_t device = -1;
  int64_t context = -1;
  int64_t id = 0;
  auto operator<=>(const TrackKey&) const = default;
};

using DomainKey = std::pair<uint64_t, int64_t>;  // domains are numbered in each process

// What has been read. Numbers of names and tracks, positions and indexes of events are of the part.
struct ExportPart : trace::TraceRows {
  struct LossCount {
    uint64_t count = 0;
    uint64_t first_position = 0;
  };
  Interner names;
  std::vector<TrackKey> tracks;
  std::vector<std::pair<uint32_t, std::string>> track_names;
  std::map<DomainKey, std::string> domains;
  std::vector<std::pair<uint32_t, DomainKey>> events_in_domains;    // but for the default domain
  std::map<std::pair<std::string, std::string>, LossCount> losses;  // by kind and detail
  std::map<std::string, uint64_t> diagnostics;
  std::vector<std::string> damages;
  uint64_t records = 0;
  uint64_t metadata_records = 0;
  uint64_t unfinished = 0;
  uint64_t failed_calls = 0;
  uint64_t graphs = 0;
};

class PartReader {
 public:
  PartReader(SqliteFile& file, const ExportTexts& texts, ExportPart& part)
      : file_(file), texts_(texts), part_(part) {}

  using Piece = std::optional<RowidRange>;
  void ReadNvtx(const Piece& piece);
  void ReadCalls(const std::string& table, const Piece& piece);
  void ReadKernels(const Piece& piece);
  void ReadMemory(const std::string& table, const Piece& piece);
  void ReadThreadCalls(const std::string& table, const Piece& piece);
  // Recorded CUDA events, and what waits for them.
  void ReadSynchronisation();
  void ReadGraphs();
  void ReadDiagnostics();

 private:
  using RecordedKey = std::tuple<uint64_t, int64_t, int64_t>;

  void Read(const std::string& table, const std::vector<std::string>& columns, const Piece& piece,
            const std::function<void(const SqliteRow&)>& on_row);
  void AddNvtx(const SqliteRow& row);
  bool SetTime(const SqliteRow& row, size_t start, size_t end, trace::Event& event);
  bool SetGpuWork(const SqliteRow& row, trace::EventKind kind, trace::Event& event);
  bool Lose(const std::string& kind, const std::string& detail = {});
  std::string TextOf(const SqliteRow& row, size_t text, size_t text_id) const;
  uint32_t NumberOfString(int64_t id, bool is_call);
  uint32_t TrackOf(const TrackKey& key);
  uint32_t ThreadOf(uint64_t global_tid);
  static RecordedKey RecordKey(const SqliteRow& row, size_t column);
  uint32_t NextEvent() const { return static_cast<uint32_t>(part_.events.size()); }

  SqliteFile& file_;
  const ExportTexts& texts_;
  ExportPart& part_;
  uint64_t position_ = 0;
  std::unordered_map<int64_t, uint32_t> string_numbers_, call_numbers_;
  std::map<TrackKey, uint32_t> track_numbers_;
  TrackKey last_key_;
  uint32_t last_track_ = 0;
};

// Ids hold a process id and, below it, a thread id. The hardware id in the top byte makes some of
// them negative as they are stored.
inline uint64_t GlobalPidOf(uint64_t global_id) { return global_id & ~uint64_t{0xffffff}; }
inline int64_t TidOf(uint64_t global_tid) { return static_cast<int64_t>(global_tid & 0xffffff); }
inline int64_t PidOf(uint64_t global_id) {
  return static_cast<int64_t>((global_id >> 24) & 0xffffff);
}

// "aten::view, op_id = 314290" → "aten::view" and 314290: PyTorch's NVTX texts carry numbers that
// make each different.
std::string_view NameOfNvtxText(std::string_view text, uint64_t& op_id);
// "cudaLaunchKernel_v7000" → "cudaLaunchKernel".
std::string_view WithoutApiVersion(std::string_view name);

}  // namespace telltale::nsight
