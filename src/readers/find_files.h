#pragma once

// The files below the paths that a user names.

#include <cstdint>
#include <string>
#include <vector>

namespace telltale {

struct FoundFile {
  std::string path;
  std::string absolute_path;
  std::string folder;  // absolute; what the run is named after
  uint64_t size_bytes = 0;
  bool is_regular = true;  // false: standard input, a pipe, a device
  bool named_directly = false;
  std::string error;  // why it cannot be read; empty otherwise
};

// Folders are walked recursively, entries in the order of their names; links to folders are not
// followed. A path that does not exist comes back with its error.
std::vector<FoundFile> FindFiles(const std::vector<std::string>& paths);

}  // namespace telltale
