#pragma once

// A content fingerprint of a file that can be checked for a prefix: XXH3-128 over the digests of
// blocks of 4 MiB and the size. So a file that has grown is recognised by the fingerprint of its
// first bytes, and blocks of one file can be digested on several cores.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/xxh3_update.h"

namespace telltale {

class Fingerprint {
 public:
  static constexpr uint64_t kBlockBytes = uint64_t{4} << 20;

  void Add(std::span<const char> bytes);
  uint64_t size() const { return size_; }

  // 32 hexadecimal digits; ends the current block, so nothing may be added afterwards.
  std::string Finish();

 private:
  void EndBlock();

  Xxh3 block_;
  uint64_t block_fill_ = 0;
  uint64_t size_ = 0;
  std::vector<uint64_t> digests_;
};

// The fingerprint of the first `size` bytes of a file (of all, when it is not given).
Result<std::string> FingerprintOfFile(const std::string& path, uint64_t size = UINT64_MAX);

}  // namespace telltale
