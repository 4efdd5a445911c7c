#include "evidence/clock_hosts.h"

#include <algorithm>
#include <filesystem>
#include <optional>

namespace telltale::evidence {
namespace {

bool CutEnd(std::string_view& text, std::string_view end) {
  if (!text.ends_with(end)) return false;
  text.remove_suffix(end.size());
  return true;
}

using Parts = std::vector<std::string>;

Parts FolderOf(const std::string& path) {
  Parts parts;
  for (const auto& part : std::filesystem::path(path).parent_path().lexically_normal()) {
    parts.push_back(part.string());
  }
  return parts;
}

// How many parts the folders of all have in common.
size_t CommonParts(std::span<const Parts> folders) {
  if (folders.empty()) return 0;
  size_t common = folders[0].size();
  for (const Parts& folder : folders) {
    const auto [differs, other] =
        std::mismatch(folder.begin(), folder.end(), folders[0].begin(), folders[0].end());
    common = std::min(common, static_cast<size_t>(differs - folder.begin()));
  }
  return common;
}

}  // namespace

std::string HostOfTraceName(std::string_view file_name) {
  if (!CutEnd(file_name, ".gz")) CutEnd(file_name, ".zst");
  if (!CutEnd(file_name, ".pt.trace.json")) return {};
  const size_t line = file_name.rfind('_');
  if (line == std::string_view::npos || line == 0) return {};
  const std::string_view numbers = file_name.substr(line + 1);
  // The process id, and perhaps the time.
  const size_t end = numbers.find_first_not_of("0123456789");
  if (numbers.empty() || end == 0) return {};
  if (end != std::string_view::npos && numbers[end] != '.') return {};
  return std::string(file_name.substr(0, line));
}

std::vector<std::string> HostsOfSources(std::span<const SourceName> sources) {
  std::vector<std::string> hosts;
  std::vector<Parts> folders;  // of sources that nothing else tells
  std::vector<size_t> untold;
  for (const SourceName& source : sources) {
    hosts.push_back(source.host);
    if (hosts.back().empty()) {
      hosts.back() = HostOfTraceName(std::filesystem::path(source.path).filename().string());
    }
    if (!hosts.back().empty()) continue;
    untold.push_back(hosts.size() - 1);
    folders.push_back(FolderOf(source.path));
  }
  const size_t common = CommonParts(folders);
  for (size_t i = 0; i < untold.size(); ++i) {
    std::string& host = hosts[untold[i]];
    for (size_t part = common; part < folders[i].size(); ++part) {
      host += (host.empty() ? "" : "/") + folders[i][part];
    }
    if (host.empty()) host = sources[untold[i]].path;
  }
  return hosts;
}

}  // namespace telltale::evidence
