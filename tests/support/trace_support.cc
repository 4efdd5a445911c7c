#include "tests/support/trace_support.h"

#include <algorithm>
#include <filesystem>

#include "tests/support/inspector_support.h"

namespace telltale::test {

std::string TraceSamples() {
  const std::string inspector = InspectorSamples();
  if (inspector.empty()) return {};
  const auto folder = std::filesystem::path(inspector).parent_path() / "traces";
  return std::filesystem::exists(folder) ? folder.string() : std::string();
}

std::vector<std::string> TraceSampleFiles(const std::string& begin, const std::string& end) {
  std::vector<std::string> files;
  if (TraceSamples().empty()) return files;
  for (const std::string& path : FilesIn(TraceSamples())) {
    const std::string name = std::filesystem::path(path).filename().string();
    if (name.starts_with(begin) && name.ends_with(end)) files.push_back(path);
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<uint32_t> PlainNesting(const trace::TraceData& data, const std::vector<uint32_t>& order,
                                   int64_t tolerance_ns) {
  std::vector<uint32_t> parents(data.events.size(), trace::kNoEvent);
  const auto end_of = [](const trace::Event& event) {
    return event.start_ns + std::max<int64_t>(event.duration_ns, 0);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const trace::Event& event = data.events[order[i]];
    if (data.tracks[event.track].kind == trace::TrackKind::kStream) continue;
    for (size_t j = i; j-- > 0;) {
      const trace::Event& candidate = data.events[order[j]];
      if (candidate.track != event.track) break;
      if (!candidate.nests || candidate.duration_ns == trace::kUnfinished) continue;
      const int64_t end_ns = end_of(candidate);
      const bool begins_within =
          event.start_ns < end_ns || (event.start_ns == end_ns && end_of(event) == event.start_ns);
      if (begins_within && end_ns + tolerance_ns >= end_of(event)) {
        parents[order[i]] = order[j];
        break;
      }
    }
  }
  return parents;
}

}  // namespace telltale::test
