#include "base/byte_stream.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <isa-l/igzip_lib.h>
#include <zstd.h>

namespace telltale {
namespace {

constexpr size_t kCompressedBufferBytes = size_t{256} << 10;

class FileStream : public ByteStream {
 public:
  FileStream(int descriptor, std::string path, bool owned, Fingerprint* fingerprint)
      : descriptor_(descriptor), path_(std::move(path)), owned_(owned), fingerprint_(fingerprint) {}
  ~FileStream() override {
    if (owned_) close(descriptor_);
  }

  Result<size_t> Read(std::span<char> out) override {
    size_t filled = 0;
    while (filled < out.size()) {
      const ssize_t got = read(descriptor_, out.data() + filled, out.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Fail("{}: read: {}", path_, SystemErrorText(errno));
      if (got == 0) break;
      filled += static_cast<size_t>(got);
    }
    if (fingerprint_ != nullptr) fingerprint_->Add(out.first(filled));
    return filled;
  }

 private:
  int descriptor_;
  std::string path_;
  bool owned_;
  Fingerprint* fingerprint_;
};

class SpanStream : public ByteStream {
 public:
  explicit SpanStream(std::span<const char> bytes) : bytes_(bytes) {}
  Result<size_t> Read(std::span<char> out) override {
    const size_t take = std::min(out.size(), bytes_.size());
    if (take > 0) std::memcpy(out.data(), bytes_.data(), take);
    bytes_ = bytes_.subspan(take);
    return take;
  }

 private:
  std::span<const char> bytes_;
};

// Gives back bytes that were read ahead to find the compression, then the rest of the stream.
class PushbackStream : public ByteStream {
 public:
  PushbackStream(std::vector<char> head, ByteStream& rest,
                 std::unique_ptr<ByteStream> owned = nullptr)
      : head_(std::move(head)), rest_(rest), owned_(std::move(owned)) {}
  Result<size_t> Read(std::span<char> out) override {
    const size_t take = std::min(out.size(), head_.size() - given_);
    if (take > 0) std::memcpy(out.data(), head_.data() + given_, take);
    given_ += take;
    if (take == out.size()) return take;
    TELLTALE_ASSIGN(const size_t more, rest_.Read(out.subspan(take)));
    return take + more;
  }

 private:
  std::vector<char> head_;
  size_t given_ = 0;
  ByteStream& rest_;
  std::unique_ptr<ByteStream> owned_;
};

// What gzip and zstd share: a buffer of compressed bytes and the bound on expansion.
class DecompressingStream : public ByteStream {
 public:
  explicit DecompressingStream(std::unique_ptr<ByteStream> source)
      : source_(std::move(source)), buffer_(kCompressedBufferBytes) {}

 protected:
  // More compressed bytes into buffer_; false at the end of the source.
  Result<bool> Refill() {
    TELLTALE_ASSIGN(const size_t got, source_->Read(std::span(buffer_)));
    filled_ = got;
    compressed_bytes_ += got;
    return got > 0;
  }

  // Ends the stream if it has grown out of all proportion.
  void Account(size_t produced) {
    expanded_bytes_ += produced;
    if (expanded_bytes_ > kFreeExpansion && expanded_bytes_ / kMaxExpansion > compressed_bytes_) {
      End(fmt::format("expands to more than {} times its compressed size; stopped after {} bytes",
                      kMaxExpansion, expanded_bytes_));
    }
  }

  void End(std::string why) {
    damage_ = std::move(why);
    ended_ = true;
  }

  std::unique_ptr<ByteStream> source_;
  std::vector<char> buffer_;
  size_t filled_ = 0;
  uint64_t compressed_bytes_ = 0;
  uint64_t expanded_bytes_ = 0;
  bool ended_ = false;
};

class GzipStream : public DecompressingStream {
 public:
  explicit GzipStream(std::unique_ptr<ByteStream> source) : DecompressingStream(std::move(source)) {
    StartMember();
  }

  Result<size_t> Read(std::span<char> out) override {
    size_t filled = 0;
    while (filled < out.size() && !ended_) {
      if (state_.avail_in == 0 && starved_) {
        TELLTALE_ASSIGN(const bool more, Refill());
        if (!more) {
          if (in_member_) End("gzip data ends in the middle of a member (file cut off)");
          ended_ = true;
          break;
        }
        state_.next_in = reinterpret_cast<uint8_t*>(buffer_.data());
        state_.avail_in = static_cast<uint32_t>(filled_);
        starved_ = false;
      }
      if (!in_member_ && !NextMember()) continue;
      const size_t want = std::min<size_t>(out.size() - filled, size_t{1} << 30);
      state_.next_out = reinterpret_cast<uint8_t*>(out.data() + filled);
      state_.avail_out = static_cast<uint32_t>(want);
      const int code = isal_inflate(&state_);
      const size_t produced = want - state_.avail_out;
      filled += produced;
      if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT) {
        End(fmt::format("gzip data is damaged (inflate error {})", code));
        break;
      }
      Account(produced);
      if (state_.block_state == ISAL_BLOCK_FINISH) in_member_ = false;
      // Output may still wait inside the decoder when all input is taken: ask for more only when a
      // call with room for output gave none.
      starved_ = state_.avail_in == 0 && (produced == 0 || !in_member_);
    }
    return filled;
  }

 private:
  void StartMember() {
    const auto* next_in = state_.next_in;
    const auto avail_in = state_.avail_in;
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
    state_.next_in = const_cast<uint8_t*>(next_in);
    state_.avail_in = avail_in;
    in_member_ = true;
  }

  // After a member: zero padding is skipped, another member starts, anything else is damage.
  // True when a member is open now.
  bool NextMember() {
    while (state_.avail_in > 0 && *state_.next_in == 0) {
      ++state_.next_in;
      --state_.avail_in;
    }
    if (state_.avail_in == 0) {
      starved_ = true;
      return false;
    }
    if (*state_.next_in != 0x1f) {
      End("gzip data is followed by bytes that are not gzip");
      return false;
    }
    StartMember();
    return true;
  }

  inflate_state state_{};
  bool in_member_ = false;
  bool starved_ = true;  // the decoder has nothing left to work on
};

class ZstdStream : public DecompressingStream {
 public:
  explicit ZstdStream(std::unique_ptr<ByteStream> source)
      : DecompressingStream(std::move(source)), context_(ZSTD_createDStream()) {}
  ~ZstdStream() override { ZSTD_freeDStream(context_); }
  ZstdStream(const ZstdStream&) = delete;
  ZstdStream& operator=(const ZstdStream&) = delete;

  Result<size_t> Read(std::span<char> out) override {
    size_t filled = 0;
    while (filled < out.size() && !ended_) {
      if (input_.pos == input_.size && !output_pending_) {
        TELLTALE_ASSIGN(const bool more, Refill());
        input_ = {buffer_.data(), filled_, 0};
        if (!more) {
          if (in_frame_) End("zstd data ends in the middle of a frame (file cut off)");
          ended_ = true;
          break;
        }
      }
      ZSTD_outBuffer output = {out.data() + filled, out.size() - filled, 0};
      const size_t code = ZSTD_decompressStream(context_, &output, &input_);
      filled += output.pos;
      if (ZSTD_isError(code)) {
        End(fmt::format("zstd data is damaged ({})", ZSTD_getErrorName(code)));
        break;
      }
      in_frame_ = code != 0;
      output_pending_ = output.pos == output.size && in_frame_;
      Account(output.pos);
    }
    return filled;
  }

 private:
  ZSTD_DStream* context_;
  ZSTD_inBuffer input_ = {nullptr, 0, 0};
  bool in_frame_ = false;
  bool output_pending_ = false;
};

}  // namespace

const char* CompressionName(Compression compression) {
  switch (compression) {
    case Compression::kGzip:
      return "gzip";
    case Compression::kZstd:
      return "zstd";
    case Compression::kNone:
      break;
  }
  return "none";
}

namespace {

Compression CompressionOf(std::string_view head) {
  if (head.starts_with("\x1f\x8b")) return Compression::kGzip;
  if (head == "\x28\xb5\x2f\xfd") return Compression::kZstd;
  // A skippable frame, as pzstd puts in front of each of its own.
  if (head.size() == 4 && (head[0] & '\xf0') == '\x50' && head.ends_with("\x2a\x4d\x18")) {
    return Compression::kZstd;
  }
  return Compression::kNone;
}

}  // namespace

Result<OpenedStream> Decompress(std::unique_ptr<ByteStream> source) {
  std::vector<char> head(4);
  TELLTALE_ASSIGN(const size_t got, source->Read(std::span(head)));
  head.resize(got);
  OpenedStream opened;
  opened.compression = CompressionOf(std::string_view(head.data(), head.size()));
  ByteStream& rest = *source;
  auto whole = std::make_unique<PushbackStream>(std::move(head), rest, std::move(source));
  switch (opened.compression) {
    case Compression::kGzip:
      opened.bytes = std::make_unique<GzipStream>(std::move(whole));
      break;
    case Compression::kZstd:
      opened.bytes = std::make_unique<ZstdStream>(std::move(whole));
      break;
    case Compression::kNone:
      opened.bytes = std::move(whole);
      break;
  }
  return opened;
}

Result<OpenedStream> OpenByteStream(const std::string& path, Fingerprint* fingerprint) {
  if (path == "-") {
    return Decompress(
        std::make_unique<FileStream>(STDIN_FILENO, "standard input", false, fingerprint));
  }
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Fail("{}: open: {}", path, SystemErrorText(errno));
  return Decompress(std::make_unique<FileStream>(descriptor, path, true, fingerprint));
}

std::unique_ptr<ByteStream> WithHead(std::vector<char> head, ByteStream& rest) {
  return std::make_unique<PushbackStream>(std::move(head), rest);
}

std::unique_ptr<ByteStream> MemoryStream(std::span<const char> bytes) {
  return std::make_unique<SpanStream>(bytes);
}

Result<std::unique_ptr<ByteStream>> OpenFileAt(const std::string& path, uint64_t offset) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return Fail("{}: open: {}", path, SystemErrorText(errno));
  auto stream = std::make_unique<FileStream>(descriptor, path, true, nullptr);
  if (offset > 0 && lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) < 0) {
    return Fail("{}: seek: {}", path, SystemErrorText(errno));
  }
  return stream;
}

}  // namespace telltale
