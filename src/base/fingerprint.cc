#include "base/fingerprint.h"

#include <algorithm>

#include "base/byte_stream.h"

namespace telltale {

void Fingerprint::Add(std::span<const char> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const size_t take = std::min<uint64_t>(bytes.size(), kBlockBytes - block_fill_);
    block_.Add(bytes.data(), take);
    block_fill_ += take;
    bytes = bytes.subspan(take);
    if (block_fill_ == kBlockBytes) EndBlock();
  }
}

void Fingerprint::EndBlock() {
  const Xxh3::Digest digest = block_.Finish();
  digests_.push_back(digest.low);
  digests_.push_back(digest.high);
  block_fill_ = 0;
}

std::string Fingerprint::Finish() {
  if (block_fill_ > 0) EndBlock();
  digests_.push_back(size_);
  block_.Add(digests_.data(), digests_.size() * sizeof(digests_.front()));
  const Xxh3::Digest digest = block_.Finish();
  return fmt::format("{:016x}{:016x}", digest.high, digest.low);
}

Result<std::string> FingerprintOfFile(const std::string& path, uint64_t size) {
  TELLTALE_ASSIGN(std::unique_ptr<ByteStream> stream, OpenFileAt(path, 0));
  Fingerprint fingerprint;
  std::vector<char> buffer(size_t{1} << 17);  // stays in the cache
  while (size > 0) {
    const size_t ask = std::min<uint64_t>(buffer.size(), size);
    TELLTALE_ASSIGN(const size_t got, stream->Read(std::span(buffer).first(ask)));
    if (got == 0) break;
    fingerprint.Add(std::span(buffer).first(got));
    size -= got;
  }
  return fingerprint.Finish();
}

}  // namespace telltale
