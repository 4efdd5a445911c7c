#include "evidence/trace_events.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "evidence/cells.h"
#include "store/column_scan.h"

namespace telltale::evidence {
namespace {

class Loader {
 public:
  Loader(Connection& connection, const TraceFilter& filter)
      : connection_(connection), filter_(filter) {}

  Status RequireTracks() {
    TELLTALE_TRY(LoadTracks());
    if (events_.tracks.empty()) return NoEvents();
    return {};
  }

  Result<TraceEvents> Load() {
    TELLTALE_TRY(RequireTracks());
    TELLTALE_TRY(LoadEvents());
    if (events_.size() == 0) return NoEvents();
    LinkParents();
    TELLTALE_TRY(LoadNames());
    return std::move(events_);
  }

 private:
  tl::unexpected<Error> NoEvents() const {
    if (!filter_.run.empty() || filter_.rank) {
      return Fail(
          "no profile in the store matches the run or rank asked for; `telltale sources` "
          "lists what is there");
    }
    return Fail("the store holds no profile; ingest a PyTorch trace or an nsys export first");
  }

  Status LoadTracks() {
    const std::array<Cell, 2> parameters = {filter_.run.empty() ? Cell() : Cell(filter_.run),
                                            filter_.rank ? Cell(*filter_.rank) : Cell()};
    TELLTALE_ASSIGN(
        const Table table,
        connection_.Query(
            "SELECT t.track::BIGINT, t.kind, coalesce(t.device, -1), t.id, coalesce(t.name, ''), "
            "  p.trace_process::BIGINT, f.source::BIGINT, f.path, u.name, coalesce(p.host, ''), "
            "  coalesce(p.name, ''), p.pid, p.rank "
            "FROM track t JOIN trace_process p ON p.trace_process = t.trace_process "
            "JOIN source f ON f.source = t.source JOIN run u ON u.run = f.run "
            "WHERE ($1::VARCHAR IS NULL OR u.name = $1) AND ($2::BIGINT IS NULL OR p.rank = $2) "
            "ORDER BY t.track",
            parameters));
    std::unordered_map<int64_t, uint32_t> processes;
    for (const std::vector<Cell>& row : table.rows) {
      const int64_t number = *IntegerOf(row[5]);
      const auto [place, added] =
          processes.try_emplace(number, static_cast<uint32_t>(events_.processes.size()));
      if (added) {
        events_.processes.push_back({number, *IntegerOf(row[6]), CellText(row[7]), CellText(row[8]),
                                     CellText(row[9]), CellText(row[10]), IntegerOf(row[11]),
                                     IntegerOf(row[12])});
      }
      TraceTrack track;
      track.number = static_cast<uint32_t>(*IntegerOf(row[0]));
      track.process = place->second;
      track.is_stream = CellText(row[1]) == "stream";
      track.device = *IntegerOf(row[2]);
      track.id = *IntegerOf(row[3]);
      const std::string name = CellText(row[4]);
      track.label = track.is_stream ? fmt::format("GPU {} stream {}", track.device, track.id)
                    : !name.empty() ? name
                                    : fmt::format("{} {}", CellText(row[1]), track.id);
      index_of_track_[track.number] = static_cast<uint32_t>(events_.tracks.size());
      events_.tracks.push_back(std::move(track));
    }
    return {};
  }

  Status LoadEvents() {
    const uint32_t first = events_.tracks.front().number;
    const uint32_t last = events_.tracks.back().number;
    uint32_t number = kNone;
    uint32_t index = kNone;
    return ScanColumns(
        connection_,
        fmt::format("SELECT event, track, kind, name, start_ns, duration_ns, parent, parent_basis, "
                    "correlation FROM event WHERE track BETWEEN {} AND {} ORDER BY event",
                    first, last),
        [&](std::span<const void* const> columns, size_t rows) {
          const auto* id = static_cast<const int64_t*>(columns[0]);
          const auto* track = static_cast<const uint32_t*>(columns[1]);
          const auto* kind = static_cast<const uint32_t*>(columns[2]);
          const auto* name = static_cast<const uint32_t*>(columns[3]);
          const auto* start = static_cast<const int64_t*>(columns[4]);
          const auto* duration = static_cast<const int64_t*>(columns[5]);
          const auto* parent = static_cast<const int64_t*>(columns[6]);
          const auto* basis = static_cast<const uint32_t*>(columns[7]);
          const auto* correlation = static_cast<const int64_t*>(columns[8]);
          for (size_t i = 0; i < rows; ++i) {
            if (track[i] != number) {
              number = track[i];
              const auto found = index_of_track_.find(number);
              index = found == index_of_track_.end() ? kNone : found->second;
            }
            if (index == kNone) continue;
            events_.id.push_back(id[i]);
            events_.track.push_back(index);
            events_.kind.push_back(
                static_cast<EventKind>(std::min<uint32_t>(kind[i], trace::kEventKinds - 1)));
            events_.name.push_back(name[i]);
            events_.start_ns.push_back(start[i]);
            events_.duration_ns.push_back(duration[i]);
            events_.basis.push_back(static_cast<uint8_t>(basis[i]));
            events_.correlation.push_back(correlation[i]);
            parents_.push_back(parent[i]);
          }
        });
  }

  void LinkParents() {
    events_.parent.resize(events_.size());
    for (size_t i = 0; i < events_.size(); ++i) {
      events_.parent[i] = kNone;
      if (parents_[i] < 0) continue;
      const auto at = std::lower_bound(events_.id.begin(), events_.id.end(), parents_[i]);
      if (at != events_.id.end() && *at == parents_[i]) {
        events_.parent[i] = static_cast<uint32_t>(at - events_.id.begin());
      }
    }
    parents_ = {};
  }

  // Names become indexes; equal texts of several sources become one.
  Status LoadNames() {
    std::unordered_map<uint32_t, uint32_t> index_of_number;
    std::unordered_map<std::string, uint32_t> index_of_text;
    TELLTALE_TRY(connection_.Query(
        "SELECT name::BIGINT, text FROM event_name", {},
        [](const std::vector<ColumnInfo>&) -> Status { return {}; },
        [&](std::vector<Cell>& row) -> Status {
          std::string text = CellText(row[1]);
          const auto [place, added] = index_of_text.try_emplace(
              std::move(text), static_cast<uint32_t>(events_.names.size()));
          if (added) events_.names.push_back(place->first);
          index_of_number[static_cast<uint32_t>(*IntegerOf(row[0]))] = place->second;
          return {};
        }));
    for (uint32_t& name : events_.name) {
      const auto found = index_of_number.find(name);
      if (found == index_of_number.end()) return Fail("the store is damaged: event without a name");
      name = found->second;
    }
    return {};
  }

  Connection& connection_;
  const TraceFilter& filter_;
  TraceEvents events_;
  std::unordered_map<uint32_t, uint32_t> index_of_track_;
  std::vector<int64_t> parents_;  // ids
};

}  // namespace

Result<TraceEvents> LoadTraceEvents(Connection& connection, const TraceFilter& filter) {
  return Loader(connection, filter).Load();
}

Status RequireTracks(Connection& connection, const TraceFilter& filter) {
  return Loader(connection, filter).RequireTracks();
}

bool IsCommunicationKernel(std::string_view name) {
  return name.starts_with("nccl") || name.find("ncclDevKernel") != std::string_view::npos ||
         name.find("ncclKernel") != std::string_view::npos ||
         name.find("rcclKernel") != std::string_view::npos;
}

}  // namespace telltale::evidence
