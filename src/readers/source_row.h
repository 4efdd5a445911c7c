#pragma once

// What a reader knows of a file for the table source, but for what is counted while it is read.

#include <cstdint>
#include <string>

namespace telltale {

struct SourceRow {
  int64_t run = 0;
  std::string path;
  std::string format;
  std::string format_version;
  std::string compression;
  uint64_t size_bytes = 0;
  uint64_t expanded_bytes = 0;
  std::string fingerprint;
  std::string damage;
  int64_t replaces = -1;  // a source that this one takes the place of; -1 for none
};

}  // namespace telltale
