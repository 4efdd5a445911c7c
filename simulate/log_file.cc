#include "simulate/log_file.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

namespace telltale::simulate {
namespace {

// RFC 1952: magic, deflate, no flags, no time, no extra flags, Unix.
constexpr std::string_view kGzipHeader("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
// A final, empty block of fixed Huffman codes.
constexpr std::string_view kLastBlock("\x03\0", 2);

std::string LittleEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

// Deflates `text` to whole bytes and blocks, none of them final, so that pieces can be joined.
Result<std::string> DeflatePiece(std::string_view text) {
  z_stream stream{};
  constexpr int kRawWindowBits = -15;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kRawWindowBits, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return Fail("zlib has no memory for a compressor");
  }
  const std::unique_ptr<z_stream, int (*)(z_stream*)> cleanup(&stream, deflateEnd);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 16, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FULL_FLUSH) != Z_OK || stream.avail_in != 0) {
    return Fail("zlib could not compress {} bytes", text.size());
  }
  out.resize(out.size() - stream.avail_out);
  return out;
}

}  // namespace

Status LogFile::Create() {
  return Write(kind_ == Kind::kGzip ? kGzipHeader : std::string_view(), O_TRUNC);
}

Status LogFile::Append(std::string_view text) {
  if (kind_ == Kind::kMissing) return {};
  text_bytes_ += text.size();
  if (kind_ == Kind::kPlain) return Write(text, O_APPEND);
  constexpr size_t kPiece = 8 << 20;
  for (; !text.empty(); text.remove_prefix(std::min(kPiece, text.size()))) {
    const std::string_view piece = text.substr(0, kPiece);
    checksum_ = static_cast<uint32_t>(
        crc32_z(checksum_, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
    TELLTALE_ASSIGN(const std::string deflated, DeflatePiece(piece));
    TELLTALE_TRY(Write(deflated, O_APPEND));
  }
  return {};
}

Status LogFile::Finish() {
  if (kind_ != Kind::kGzip) return {};
  std::string trailer(kLastBlock);
  trailer += LittleEndian(checksum_);
  trailer += LittleEndian(static_cast<uint32_t>(text_bytes_));
  return Write(trailer, O_APPEND);
}

Status LogFile::Write(std::string_view bytes, int flags) {
  if (kind_ == Kind::kMissing) return {};
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666);
  if (file < 0) return Fail("cannot open {} for writing: {}", path_, SystemErrorText(errno));
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int error = errno;
      close(file);
      return Fail("cannot write {}: {}", path_, SystemErrorText(error));
    }
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (close(file) != 0) return Fail("cannot write {}: {}", path_, SystemErrorText(errno));
  return {};
}

}  // namespace telltale::simulate
