#pragma once

// Bytes from a file or standard input, decompressed on the way: plain, gzip (also of several
// members) and zstd (also of several frames), told apart by their first bytes and never by their
// names.
//
// A compressed stream that ends early or is damaged gives all bytes before the fault and then ends;
// damage() says what was wrong. Expansion is bounded: a stream that grows beyond kMaxExpansion
// times its compressed size (and beyond kFreeExpansion bytes) ends there, and damage() says so.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/fingerprint.h"
#include "base/result.h"

namespace telltale {

enum class Compression { kNone, kGzip, kZstd };
const char* CompressionName(Compression compression);

constexpr uint64_t kMaxExpansion = 400;
constexpr uint64_t kFreeExpansion = uint64_t{256} << 20;

class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // Fills `out` as far as the stream has bytes; fewer than asked for only at the end, 0 after it.
  virtual Result<size_t> Read(std::span<char> out) = 0;

  // Why the stream ended before its time; empty when it did not.
  const std::string& damage() const { return damage_; }

 protected:
  std::string damage_;
};

struct OpenedStream {
  std::unique_ptr<ByteStream> bytes;
  Compression compression = Compression::kNone;
};

// Opens `path` ("-" is standard input). `fingerprint`, when given, takes in every byte as it lies
// in the file (before decompression) and must outlive the stream.
Result<OpenedStream> OpenByteStream(const std::string& path, Fingerprint* fingerprint = nullptr);

// Decompresses `source` if its first bytes say that it is compressed. For tests and nested formats.
Result<OpenedStream> Decompress(std::unique_ptr<ByteStream> source);

// Gives `head`, which was read ahead, and then the rest of the stream.
std::unique_ptr<ByteStream> WithHead(std::vector<char> head, ByteStream& rest);

// A stream over bytes in memory, which must outlive it.
std::unique_ptr<ByteStream> MemoryStream(std::span<const char> bytes);

// Part of a plain file, from `offset` on.
Result<std::unique_ptr<ByteStream>> OpenFileAt(const std::string& path, uint64_t offset);

}  // namespace telltale
