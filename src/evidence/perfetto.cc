#include "evidence/perfetto.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/json_text.h"

namespace telltale::evidence {
namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

std::string Microseconds(int64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

}  // namespace

std::vector<uint32_t> LanesOf(const TraceEvents& events) {
  std::vector<uint32_t> lanes(events.size());
  std::vector<std::vector<int64_t>> open;  // by lane: ends of what is open, innermost last
  uint32_t track = kNone;
  for (size_t i = 0; i < events.size(); ++i) {
    if (events.track[i] != track) {
      track = events.track[i];
      open.clear();
    }
    const int64_t start = events.start_ns[i];
    const int64_t end = events.EndNs(i);
    size_t lane = 0;
    for (;; ++lane) {
      if (lane == open.size()) open.emplace_back();
      std::vector<int64_t>& ends = open[lane];
      while (!ends.empty() && ends.back() <= start) ends.pop_back();
      if (ends.empty() || ends.back() >= end) break;
    }
    open[lane].push_back(end);
    lanes[i] = static_cast<uint32_t>(lane);
  }
  return lanes;
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
