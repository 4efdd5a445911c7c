#include "evidence/perfetto.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <queue>

#include "base/json_text.h"

namespace telltale::evidence {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// Lanes of one track, each with the ends of what is open on it. Finds the first on which an event
// can lie in the logarithm of their number: streams of hostile profiles have 100,000 of them.
class Lanes {
 public:
  // The events come in the order of their start.
  uint32_t Add(int64_t start_ns, int64_t end_ns) {
    while (!ends_.empty() && ends_.top().first <= start_ns) {
      const uint32_t lane = ends_.top().second;
      ends_.pop();
      open_[lane].pop_back();
      Set(lane, open_[lane].empty() ? kNothingOpen : open_[lane].back());
    }
    const uint32_t lane = FirstWithRoomFor(end_ns);
    open_[lane].push_back(end_ns);
    Set(lane, end_ns);
    ends_.emplace(end_ns, lane);
    return lane;
  }

 private:
  static constexpr int64_t kNothingOpen = std::numeric_limits<int64_t>::max();

  // An event fits on a lane if the innermost of what is open there lasts as long, or nothing is.
  uint32_t FirstWithRoomFor(int64_t end_ns) {
    if (latest_.empty() || latest_[1] < end_ns) Grow();
    size_t node = 1;
    while (node < open_.size()) node = 2 * node + (latest_[2 * node] < end_ns ? 1 : 0);
    return static_cast<uint32_t>(node - open_.size());
  }
  void Grow() {
    open_.resize(std::max<size_t>(1, 2 * open_.size()));
    latest_.assign(2 * open_.size(), kNothingOpen);
    for (size_t lane = 0; lane < open_.size(); ++lane) {
      if (!open_[lane].empty()) Set(static_cast<uint32_t>(lane), open_[lane].back());
    }
  }
  void Set(uint32_t lane, int64_t end_ns) {
    size_t node = open_.size() + lane;
    latest_[node] = end_ns;
    for (node /= 2; node > 0; node /= 2) {
      latest_[node] = std::max(latest_[2 * node], latest_[2 * node + 1]);
    }
  }

  std::vector<std::vector<int64_t>> open_;  // by lane: ends, innermost last
  std::vector<int64_t> latest_;             // a tree over lanes: the latest of their innermost ends
  using End = std::pair<int64_t, uint32_t>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;  // of all that is open
};

}  // namespace

std::vector<uint32_t> LanesOf(const TraceEvents& events) {
  std::vector<uint32_t> of_event(events.size());
  std::optional<Lanes> lanes;
  for (size_t i = 0; i < events.size(); ++i) {
    if (i == 0 || events.track[i] != events.track[i - 1]) lanes.emplace();
    of_event[i] = lanes->Add(events.start_ns[i], events.EndNs(i));
  }
  return of_event;
}

Status WritePerfetto(const TraceEvents& events,
                     const std::function<Status(std::string_view)>& write) {
  const std::vector<uint32_t> lanes = LanesOf(events);
  const int64_t origin = *std::min_element(events.start_ns.begin(), events.start_ns.end());
  std::string out = fmt::format(R"({{"telltaleStartNs":{},"traceEvents":[)", origin);
  // A process of the trace for the host part, and one for each GPU; a thread for each lane.
  std::map<std::tuple<uint32_t, bool, int64_t>, uint32_t> pids;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> tids;  // by (track, lane)
  bool first = true;
  const auto next = [&] {
    if (!first) out += ",\n";
    first = false;
  };
  const auto name = [&](const char* what, uint32_t pid, uint32_t tid, const std::string& text) {
    next();
    out +=
        fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":)", what, pid, tid);
    AppendJsonString(out, text);
    out += "}}";
  };
  const auto place_of = [&](size_t event) {
    const uint32_t track_index = events.track[event];
    const TraceTrack& track = events.tracks[track_index];
    const TraceProcess& process = events.processes[track.process];
    const auto [pid, new_pid] = pids.try_emplace(
        std::tuple(track.process, track.is_stream, track.is_stream ? track.device : 0),
        static_cast<uint32_t>(pids.size() + 1));
    if (new_pid) {
      std::string label = process.rank ? fmt::format("rank {} ", *process.rank) : "";
      label += process.name;
      if (process.pid) label += fmt::format(" {}", *process.pid);
      if (track.is_stream) label += fmt::format(" GPU {}", track.device);
      name("process_name", pid->second, 0, label);
    }
    const auto [tid, new_tid] =
        tids.try_emplace({track_index, lanes[event]}, static_cast<uint32_t>(tids.size() + 1));
    if (new_tid) {
      name("thread_name", pid->second, tid->second,
           lanes[event] == 0 ? track.label : fmt::format("{} ({})", track.label, lanes[event] + 1));
    }
    return std::pair(pid->second, tid->second);
  };
  uint64_t flow = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    const auto [pid, tid] = place_of(i);
    next();
    const bool instant = events.kind[i] == EventKind::kMarker && events.duration_ns[i] <= 0;
    out += fmt::format(R"({{"ph":"{}","cat":"{}","pid":{},"tid":{},"ts":{},"name":)",
                       instant ? "i" : "X", trace::EventKindName(events.kind[i]), pid, tid,
                       Microseconds(events.start_ns[i] - origin));
    AppendJsonString(out, events.Name(i));
    if (!instant) {
      out += fmt::format(R"(,"dur":{})", Microseconds(std::max<int64_t>(events.duration_ns[i], 0)));
    }
    out += fmt::format(R"(,"args":{{"event":{})", events.id[i]);
    if (events.correlation[i] >= 0)
      out += fmt::format(R"(,"correlation":{})", events.correlation[i]);
    if (events.duration_ns[i] < 0) out += R"(,"unfinished":true)";
    out += "}}";
    const uint32_t launch = events.parent[i];
    if (events.IsGpu(i) && launch != kNone && !events.IsGpu(launch)) {
      const auto [from_pid, from_tid] = place_of(launch);
      ++flow;
      next();
      out += fmt::format(
          R"({{"ph":"s","id":{0},"cat":"launch","name":"launch","pid":{1},"tid":{2},"ts":{3}}},)"
          R"({{"ph":"f","bp":"e","id":{0},"cat":"launch","name":"launch","pid":{4},"tid":{5},"ts":{6}}})",
          flow, from_pid, from_tid, Microseconds(events.start_ns[launch] - origin), pid, tid,
          Microseconds(events.start_ns[i] - origin));
    }
    if (out.size() >= kPieceBytes) {
      TELLTALE_TRY(write(out));
      out.clear();
    }
  }
  out += "]}\n";
  return write(out);
}

}  // namespace telltale::evidence
