#include "readers/kineto/trace_builder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>

#include "base/slices.h"
#include "base/text.h"
#include "readers/kineto/trace_members.h"
#include "readers/trace/call_chain.h"

namespace telltale::kineto {
namespace {

using trace::Event;
using trace::TraceData;
using trace::Track;
using trace::TrackKind;

// With a base, times below this are relative to it; Kineto's bases are fixed dates, so that
// relative times are large as well.
constexpr int64_t kLargestRelativeNs = 100'000'000'000'000'000;  // 10^14 us

// So many ranges that begin at the time of an end are passed over to find that which it ends.
constexpr ptrdiff_t kMostAtOneTime = 64;

// <host>_<pid>.<time>.pt.trace.json[.gz]
std::string HostOfPath(const std::string& path) {
  static const std::regex kName(R"((.+)_\d+\.\d+\.pt\.trace\.json(\.gz|\.zst)?)");
  const std::string name = std::filesystem::path(path).filename().string();
  std::smatch match;
  return std::regex_match(name, match, kName) ? match[1].str() : std::string();
}

class Builder {
 public:
  BuiltTrace Build(std::vector<TracePart> parts, std::string_view json, const std::string& path);

 private:
  void Join(std::vector<TracePart>& parts);
  uint32_t NumberOfTrack(const TrackKey& key);
  uint32_t NumberOfName(const std::string& name);
  void MoveEnds();
  void MatchEdges();
  void NumberProcesses();
  void MoveFlows();
  void ApplyNamings();
  void ApplyBase(int64_t base_ns);
  size_t RemoveAs(EventLoss loss, const std::vector<std::vector<uint32_t>>& found);
  void Remove(const std::vector<uint32_t>& doomed);
  void FindDuplicates(std::span<const uint32_t> group, std::vector<uint32_t>& found) const;
  std::vector<uint32_t> OrderWithoutDuplicates();
  void AddLosses();

  TraceData data_;
  std::map<TrackKey, uint32_t> track_numbers_;
  std::vector<TrackKey> keys_;  // by track
  std::unordered_map<std::string, uint32_t> name_numbers_;
  std::vector<uint64_t> track_events_, track_work_;  // as in TracePart
  bool has_nanoseconds_ = false;
  size_t threads_ = 1;
  std::vector<RangeEdge> edges_;
  std::vector<Naming> namings_;
  std::array<LossCount, kEventLosses> losses_;
};

uint32_t Builder::NumberOfTrack(const TrackKey& key) {
  const auto [place, added] = track_numbers_.try_emplace(key, static_cast<uint32_t>(keys_.size()));
  if (added) {
    keys_.push_back(key);
    Track track;
    track.kind = key.is_gpu ? TrackKind::kStream : TrackKind::kThread;
    const std::optional<int64_t> id = NumberOf<int64_t>(key.tid);
    if (id) track.id = *id;
    if (!id) track.name = key.tid;
    if (key.is_gpu) track.device = NumberOf<int64_t>(key.pid).value_or(-1);
    data_.tracks.push_back(track);
    track_events_.push_back(0);
    track_work_.push_back(0);
  }
  return place->second;
}

uint32_t Builder::NumberOfName(const std::string& name) {
  const auto [place, added] =
      name_numbers_.try_emplace(name, static_cast<uint32_t>(data_.names.size()));
  if (added) data_.names.push_back(name);
  return place->second;
}

void Builder::Join(std::vector<TracePart>& parts) {
  // Numbers do not depend on which thread met a name or track first.
  std::set<std::string_view> all_names;
  std::set<TrackKey> all_tracks;
  for (const TracePart& part : parts) {
    all_names.insert(part.names.texts().begin(), part.names.texts().end());
    all_tracks.insert(part.tracks.begin(), part.tracks.end());
  }
  for (const std::string_view name : all_names) (void)NumberOfName(std::string(name));
  for (const TrackKey& track : all_tracks) (void)NumberOfTrack(track);
  std::vector<std::vector<uint32_t>> names(parts.size()), tracks(parts.size());
  std::vector<trace::TraceRows*> rows;
  for (size_t i = 0; i < parts.size(); ++i) {
    const TracePart& part = parts[i];
    for (const std::string& name : part.names.texts()) names[i].push_back(NumberOfName(name));
    for (size_t track = 0; track < part.tracks.size(); ++track) {
      tracks[i].push_back(NumberOfTrack(part.tracks[track]));
      track_events_[tracks[i].back()] += part.track_events[track];
      track_work_[tracks[i].back()] += part.track_work[track];
    }
    rows.push_back(&parts[i]);
  }
  ForEachSlice(parts.size(), parts.size(), [&](size_t i, size_t, size_t) {
    const auto renumber = [&](auto& part_rows, auto name) {
      for (auto& row : part_rows) {
        row.*name = names[i][row.*name];
        row.track = tracks[i][row.track];
      }
    };
    renumber(parts[i].events, &Event::name);
    renumber(parts[i].flows, &trace::FlowPoint::category);
    renumber(parts[i].counters, &trace::CounterValue::name);
    renumber(parts[i].edges, &RangeEdge::name);
  });
  const std::vector<trace::MovedEvents> moved = trace::JoinRows(rows, data_);
  for (size_t part_number = 0; part_number < parts.size(); ++part_number) {
    TracePart& part = parts[part_number];
    for (RangeEdge& edge : part.edges) {
      if (edge.is_begin()) edge.event = moved[part_number].IndexOf(edge.event);
    }
    has_nanoseconds_ = has_nanoseconds_ || part.has_nanoseconds;
    edges_.insert(edges_.end(), part.edges.begin(), part.edges.end());
    namings_.insert(namings_.end(), part.namings.begin(), part.namings.end());
    data_.metadata_records += part.namings_seen;
    data_.records += part.records;
    for (size_t i = 0; i < kEventLosses; ++i) {
      LossCount& sum = losses_[i];
      const LossCount& more = part.losses[i];
      if (more.count == 0) continue;
      if (sum.count == 0 || more.first_position < sum.first_position) {
        sum.first_position = more.first_position;
      }
      sum.count += more.count;
    }
  }
}

// An end need not say of what category it is, so that it may seem to lie on a thread where its
// begin lies on a stream, or the other way round.
void Builder::MoveEnds() {
  if (edges_.empty()) return;
  std::vector<bool> begins(keys_.size());
  for (const RangeEdge& edge : edges_) begins[edge.track] = begins[edge.track] || edge.is_begin();
  for (RangeEdge& edge : edges_) {
    if (edge.is_begin() || begins[edge.track]) continue;
    TrackKey twin = keys_[edge.track];
    twin.is_gpu = !twin.is_gpu;
    const auto found = track_numbers_.find(twin);
    if (found != track_numbers_.end() && begins[found->second]) edge.track = found->second;
  }
}

// "B" opens a range of its track, "E" closes the last open one. Of several edges at one time the
// order in the file tells, but for an "E" with a name: what began at its time under another one is
// passed over.
void Builder::MatchEdges() {
  MoveEnds();
  // Events out of one broken element have one position, and stay as they are.
  std::stable_sort(edges_.begin(), edges_.end(), [](const RangeEdge& a, const RangeEdge& b) {
    return std::tie(a.track, a.time_ns, a.position) < std::tie(b.track, b.time_ns, b.position);
  });
  std::vector<const RangeEdge*> open;
  std::vector<uint32_t> doomed;
  const auto count = [&](EventLoss loss, uint64_t position) {
    losses_[static_cast<size_t>(loss)].Add(position);
  };
  const auto lose = [&](EventLoss loss, uint32_t index) {
    const Event& event = data_.events[index];
    count(loss, event.position);
    --track_events_[event.track];
    track_work_[event.track] -= event.kind != trace::EventKind::kOther ? 1 : 0;
    doomed.push_back(index);
  };
  const auto close_track = [&] {
    for (const RangeEdge* edge : open) lose(EventLoss::kUnmatchedEdge, edge->event);
    open.clear();
  };
  const RangeEdge* previous = nullptr;
  for (const RangeEdge& edge : edges_) {
    if (previous != nullptr && previous->track != edge.track) close_track();
    previous = &edge;
    if (edge.is_begin()) {
      open.push_back(&edge);
    } else if (open.empty()) {
      count(EventLoss::kUnmatchedEdge, edge.position);
    } else {
      auto closed = open.end() - 1;
      const bool has_name = !data_.names[edge.name].empty();
      while (has_name && closed != open.begin() && (*closed)->name != edge.name &&
             (*closed)->time_ns == edge.time_ns && open.end() - closed < kMostAtOneTime) {
        --closed;
      }
      if ((*closed)->name != edge.name) closed = open.end() - 1;
      Event& event = data_.events[(*closed)->event];
      event.duration_ns = edge.time_ns - event.start_ns;
      if (!trace::IsPlausible(event.start_ns, event.duration_ns)) {
        lose(EventLoss::kInvalidTime, (*closed)->event);
        count(EventLoss::kInvalidTime, edge.position);
      }
      if (event.correlation == trace::kNoCorrelation) event.correlation = edge.correlation;
      if (event.external_id == trace::kNoCorrelation) event.external_id = edge.external_id;
      open.erase(closed);
    }
  }
  close_track();
  edges_ = {};
  Remove(doomed);
}

// GPU work belongs to the process that called for it: the one with the most calls and operators.
void Builder::NumberProcesses() {
  std::map<std::string, uint64_t> events_of_pid;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].is_gpu || !NumberOf<int64_t>(keys_[i].pid)) continue;
    events_of_pid[keys_[i].pid] += track_work_[i];
  }
  std::map<std::string, uint32_t> numbers;
  const auto number_of = [&](const std::string& pid) {
    const auto [place, added] =
        numbers.try_emplace(pid, static_cast<uint32_t>(data_.processes.size()));
    if (added) {
      trace::Process process;
      process.pid = NumberOf<int64_t>(pid);
      if (!process.pid) process.name = pid;
      data_.processes.push_back(std::move(process));
    }
    return place->second;
  };
  std::string traced;
  uint64_t most = 0;
  for (const auto& [pid, count] : events_of_pid) {
    if (count > most) {
      most = count;
      traced = pid;
    }
  }
  const bool has_gpu =
      std::any_of(keys_.begin(), keys_.end(), [](const TrackKey& key) { return key.is_gpu; });
  if (!traced.empty()) (void)number_of(traced);
  // A trace of GPU work only.
  if (traced.empty() && has_gpu) data_.processes.emplace_back();
  for (size_t i = 0; i < keys_.size(); ++i) {
    data_.tracks[i].process = keys_[i].is_gpu ? 0 : number_of(keys_[i].pid);
  }
}

// The ends of flows lie on streams, but nothing in them says so.
void Builder::MoveFlows() {
  std::vector<uint32_t> moved(keys_.size());
  for (uint32_t track = 0; track < keys_.size(); ++track) {
    moved[track] = track;
    if (track_events_[track] > 0) continue;
    TrackKey twin = keys_[track];
    twin.is_gpu = true;
    const auto found = track_numbers_.find(twin);
    if (found != track_numbers_.end()) moved[track] = found->second;
  }
  for (trace::FlowPoint& flow : data_.flows) flow.track = moved[flow.track];
}

void Builder::ApplyNamings() {
  std::map<std::string, trace::Process*> process_of_pid;
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (!keys_[i].is_gpu) process_of_pid[keys_[i].pid] = &data_.processes[data_.tracks[i].process];
  }
  for (const Naming& naming : namings_) {
    const auto process = process_of_pid.find(naming.pid);
    if (naming.kind == "process_name" && process != process_of_pid.end()) {
      process->second->name = naming.value;
    } else if (naming.kind == "process_labels" && process != process_of_pid.end()) {
      process->second->labels = naming.value;
    } else if (naming.kind == "thread_name") {
      for (const bool is_gpu : {false, true}) {
        const auto track = track_numbers_.find(TrackKey{naming.pid, naming.tid, is_gpu});
        if (track != track_numbers_.end()) data_.tracks[track->second].name = naming.value;
      }
    }
  }
  namings_ = {};
}

void Builder::ApplyBase(int64_t base_ns) {
  const auto apply = [&](int64_t& time_ns, int64_t duration_ns) {
    if (time_ns >= kLargestRelativeNs) return true;
    int64_t moved = 0;
    if (__builtin_add_overflow(time_ns, base_ns, &moved) ||
        !trace::IsPlausible(moved, duration_ns)) {
      return false;
    }
    time_ns = moved;
    return true;
  };
  std::vector<std::vector<uint32_t>> found(threads_);
  ForEachSlice(data_.events.size(), threads_, [&](size_t slice, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      Event& event = data_.events[i];
      if (!apply(event.start_ns, event.duration_ns))
        found[slice].push_back(static_cast<uint32_t>(i));
    }
  });
  RemoveAs(EventLoss::kInvalidTime, found);
  LossCount& lost = losses_[static_cast<size_t>(EventLoss::kInvalidTime)];
  lost.count +=
      EraseIf(data_.flows, [&](trace::FlowPoint& flow) { return !apply(flow.time_ns, 0); });
  EraseIf(data_.counters, [&](trace::CounterValue& counter) {
    if (apply(counter.time_ns, 0)) return false;
    lost.count += counter.records;
    return true;
  });
}

// Removes what the threads have found, and counts it; returns how many that were.
size_t Builder::RemoveAs(EventLoss loss, const std::vector<std::vector<uint32_t>>& found) {
  std::vector<uint32_t> doomed;
  for (const std::vector<uint32_t>& some : found) {
    doomed.insert(doomed.end(), some.begin(), some.end());
  }
  for (const uint32_t index : doomed) {
    LossCount& lost = losses_[static_cast<size_t>(loss)];
    lost.Add(data_.events[index].position);
    lost.count += data_.events[index].records - 1;
  }
  Remove(doomed);
  return doomed.size();
}

void Builder::Remove(const std::vector<uint32_t>& doomed) {
  if (doomed.empty()) return;
  std::vector<uint32_t> new_index(data_.events.size());
  for (const uint32_t index : doomed) new_index[index] = trace::kNoEvent;
  uint32_t kept = 0;
  for (uint32_t i = 0; i < data_.events.size(); ++i) {
    if (new_index[i] == trace::kNoEvent) continue;
    data_.events[kept] = data_.events[i];
    new_index[i] = kept++;
  }
  data_.events.Truncate(kept);
  const auto renumber = [&](auto& rows) {
    EraseIf(rows, [&](auto& row) {
      row.event = new_index[row.event];
      return row.event == trace::kNoEvent;
    });
  };
  renumber(data_.launches);
  renumber(data_.memory);
  renumber(data_.communications);
  renumber(data_.payloads);
  renumber(data_.waits);
}

// The same event twice: Kineto writes some metadata spans so, and joined files hold more. Events
// without any id may be equal and yet be two, so they are kept.
std::vector<uint32_t> Builder::OrderWithoutDuplicates() {
  std::vector<uint32_t> order = trace::OrderOf(data_, static_cast<unsigned>(threads_));
  const auto same_time = [&](size_t i) {
    const Event& left = data_.events[order[i - 1]];
    const Event& right = data_.events[order[i]];
    return left.track == right.track && left.start_ns == right.start_ns &&
           left.duration_ns == right.duration_ns;
  };
  // Some tracks take longer than others.
  constexpr size_t kPiece = size_t{1} << 16;
  std::vector<std::vector<uint32_t>> found(order.size() / kPiece + 1);
  ForEachInTurn(found.size(), threads_, 1, [&](size_t piece) {
    size_t begin = piece * kPiece;
    const size_t end = std::min(begin + kPiece, order.size());
    // A group belongs to the piece in which it begins.
    while (begin > 0 && begin < end && same_time(begin)) ++begin;
    while (begin < end) {
      size_t behind = begin + 1;
      while (behind < order.size() && same_time(behind)) ++behind;
      if (behind - begin > 1)
        FindDuplicates(std::span(order).subspan(begin, behind - begin), found[piece]);
      begin = behind;
    }
  });
  return RemoveAs(EventLoss::kDuplicate, found) == 0
             ? order
             : trace::OrderOf(data_, static_cast<unsigned>(threads_));
}

// Adds those that are in `group`, events of one time, a second time.
void Builder::FindDuplicates(std::span<const uint32_t> group, std::vector<uint32_t>& found) const {
  using Identity = std::tuple<uint64_t, uint64_t, uint32_t, trace::EventKind>;
  const auto identity = [&](uint32_t index) {
    const Event& event = data_.events[index];
    return Identity(event.correlation, event.external_id, event.name, event.kind);
  };
  std::vector<uint32_t> with_id;
  for (const uint32_t index : group) {
    const Event& event = data_.events[index];
    if (event.correlation != trace::kNoCorrelation || event.external_id != trace::kNoCorrelation) {
      with_id.push_back(index);
    }
  }
  // They stand in the order of their positions, and stay in it.
  std::stable_sort(with_id.begin(), with_id.end(),
                   [&](uint32_t a, uint32_t b) { return identity(a) < identity(b); });
  for (size_t i = 1; i < with_id.size(); ++i) {
    if (identity(with_id[i]) == identity(with_id[i - 1])) found.push_back(with_id[i]);
  }
}

void Builder::AddLosses() {
  static constexpr const char* kNames[kEventLosses] = {"invalid_event",  "missing_field",
                                                       "invalid_time",   "unknown_phase",
                                                       "unmatched_edge", "duplicate_event"};
  for (size_t i = 0; i < kEventLosses; ++i) {
    if (losses_[i].count == 0) continue;
    data_.losses.push_back({kNames[i], "line", losses_[i].count, losses_[i].first_position, ""});
  }
}

BuiltTrace Builder::Build(std::vector<TracePart> parts, std::string_view json,
                          const std::string& path) {
  threads_ = parts.size();
  Join(parts);
  parts = {};
  name_numbers_.clear();
  MatchEdges();
  NumberProcesses();
  MoveFlows();
  ApplyNamings();
  const TraceMembers members = ReadTraceMembers(json);
  BuiltTrace built;
  // Times in whole microseconds are cut, so that a child may seem to end up to 1 us after its
  // parent.
  built.tolerance_ns = has_nanoseconds_ ? 1 : 1000;
  if (members.base_ns) ApplyBase(*members.base_ns);
  if (!members.invalid_base.empty())
    data_.losses.push_back({"invalid_base_time", "note", 1, 0, members.invalid_base});
  built.order = OrderWithoutDuplicates();
  AddLosses();
  data_.rank = members.rank;
  data_.world_size = members.world_size;
  data_.format_version = members.schema_version;
  data_.tool = members.tool;
  data_.host = HostOfPath(path);
  built.data = std::move(data_);
  return built;
}

}  // namespace

BuiltTrace BuildTrace(std::vector<TracePart> parts, std::string_view members,
                      const std::string& path) {
  return Builder().Build(std::move(parts), members, path);
}

}  // namespace telltale::kineto
