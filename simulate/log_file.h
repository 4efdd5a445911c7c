#pragma once

// A log file that is written in pieces, plain or as one gzip member, without staying open in
// between (a job has thousands of them), or that is missing in the end and never written.

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace telltale::simulate {

class LogFile {
 public:
  enum class Kind { kPlain, kGzip, kMissing };

  LogFile(std::string path, Kind kind) : path_(std::move(path)), kind_(kind) {}

  // Creates the file, empty; an existing one is replaced.
  Status Create();
  Status Append(std::string_view text);
  // Must be called once after the last Append.
  Status Finish();

  const std::string& path() const { return path_; }
  bool is_missing() const { return kind_ == Kind::kMissing; }
  uint64_t text_bytes() const { return text_bytes_; }

 private:
  Status Write(std::string_view bytes, int flags);

  std::string path_;
  Kind kind_;
  uint64_t text_bytes_ = 0;
  uint32_t checksum_ = 0;
};

}  // namespace telltale::simulate
