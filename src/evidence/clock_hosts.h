#pragma once

// On which host a profile was made, where the profile itself does not say.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::evidence {

// The host in a name as torch.profiler writes it,
// <host>_<pid>.<time>.pt.trace.json, with or without the time and .gz or .zst;
// empty for other names.
std::string HostOfTraceName(std::string_view file_name);

struct SourceName {
  std::string host;  // as the profile says; empty where it does not
  std::string path;
};

// By source: what the profile says; else what the file's name says; else its
// folder, below the folder that all have in common, where there are several;
// else the path, as a host of its own: two hosts that are one only cost
// accuracy, but one that is two would be wrong.
std::vector<std::string> HostsOfSources(std::span<const SourceName> sources);

}  // namespace telltale::evidence
