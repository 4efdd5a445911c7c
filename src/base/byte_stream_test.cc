#include "base/byte_stream.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

namespace telltale {
namespace {

using std::string_literals::operator""s;

// zlib is another implementation than the one that reads.
std::string Gzip(std::string_view text, int level = 6) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string Zstd(std::string_view text) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const size_t size =
      ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size());
  EXPECT_FALSE(ZSTD_isError(size));
  packed.resize(size);
  ZSTD_freeCCtx(context);
  return packed;
}

// Log lines with some numbers in them, so that they compress neither badly nor too well.
std::string SampleText(size_t bytes, uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::string text;
  while (text.size() < bytes) {
    text += "{\"rank\": " + std::to_string(random() % 64) +
            ", \"coll_sn\": " + std::to_string(random() % 100000) + "}\n";
  }
  text.resize(bytes);
  return text;
}

struct Reading {
  Compression compression = Compression::kNone;
  std::string bytes;
  std::string damage;
};

Reading ReadAll(std::string_view packed, size_t step = size_t{64} << 10) {
  auto opened = Decompress(MemoryStream(packed));
  EXPECT_TRUE(opened);
  Reading reading;
  reading.compression = opened->compression;
  std::string buffer(step, '\0');
  while (true) {
    const auto got = opened->bytes->Read(buffer);
    EXPECT_TRUE(got);
    reading.bytes.append(buffer, 0, *got);
    if (*got < step) break;
  }
  EXPECT_EQ(*opened->bytes->Read(buffer), 0U) << "bytes after the end";
  reading.damage = opened->bytes->damage();
  return reading;
}

class TemporaryFile {
 public:
  explicit TemporaryFile(std::string_view bytes) {
    const int descriptor = mkstemp(path_.data());
    if (descriptor < 0) std::abort();
    close(descriptor);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_ = testing::TempDir() + "telltale-bytes-XXXXXX";
};

// --- Plain ---

TEST(ByteStream, GivesPlainBytesAsTheyAre) {
  for (const std::string& text : {""s, "a"s, "ab\n"s, "\x1f"s, "\x28\xb5\x2f"s, "\0\0\0\0\0"s}) {
    const Reading reading = ReadAll(text);
    EXPECT_EQ(reading.compression, Compression::kNone);
    EXPECT_EQ(reading.bytes, text);
    EXPECT_EQ(reading.damage, "");
  }
}

TEST(ByteStream, ReadsFilesAndTakesTheirFingerprintBeforeDecompression) {
  const std::string text = SampleText(100'000);
  for (const std::string& packed : {text, Gzip(text), Zstd(text)}) {
    const TemporaryFile file(packed);
    Fingerprint fingerprint;
    auto opened = OpenByteStream(file.path(), &fingerprint);
    ASSERT_TRUE(opened);
    std::string bytes(text.size() + 1, '\0');
    ASSERT_EQ(*opened->bytes->Read(bytes), text.size());
    bytes.pop_back();
    EXPECT_EQ(bytes, text);
    EXPECT_EQ(fingerprint.size(), packed.size());
    EXPECT_EQ(fingerprint.Finish(), *FingerprintOfFile(file.path()));
  }
}

TEST(ByteStream, SaysWhichFileCannotBeRead) {
  const auto missing = OpenByteStream("/nonexistent/a.log");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "/nonexistent/a.log: open: No such file or directory");
  const auto folder = OpenByteStream("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().message, "/: read: Is a directory");
}

TEST(ByteStream, OpensAFileInTheMiddle) {
  const TemporaryFile file("0123456789");
  for (const uint64_t offset : {0, 1, 9, 10, 11}) {
    auto stream = OpenFileAt(file.path(), offset);
    ASSERT_TRUE(stream);
    std::string bytes(20, '\0');
    bytes.resize(*(*stream)->Read(bytes));
    EXPECT_EQ(bytes, std::string("0123456789").substr(std::min<uint64_t>(offset, 10)));
  }
}

TEST(ByteStream, PutsAHeadBackInFront) {
  const std::string text = SampleText(1000);
  for (const size_t step : {1, 7, 100, 5000}) {
    auto rest = MemoryStream(std::string_view(text).substr(300));
    const auto whole = WithHead({text.begin(), text.begin() + 300}, *rest);
    std::string bytes;
    std::string buffer(step, '\0');
    while (const size_t got = *whole->Read(buffer)) bytes.append(buffer, 0, got);
    EXPECT_EQ(bytes, text);
  }
}

// --- Compressed and whole ---

TEST(ByteStream, DecompressesWithBuffersOfAnySize) {
  const std::string text = SampleText(300'000);
  for (const std::string& packed : {Gzip(text), Gzip(text, 0), Gzip(text, 9), Zstd(text)}) {
    for (const size_t step : {size_t{1}, size_t{2}, size_t{4095}, text.size(), 2 * text.size()}) {
      const Reading reading = ReadAll(packed, step);
      ASSERT_NE(reading.compression, Compression::kNone);
      ASSERT_EQ(reading.damage, "");
      ASSERT_TRUE(reading.bytes == text) << "step " << step;
    }
  }
}

TEST(ByteStream, DecompressesNothing) {
  for (const std::string& packed : {Gzip(""), Zstd(""), Gzip("") + Gzip(""), Zstd("") + Zstd("")}) {
    const Reading reading = ReadAll(packed);
    EXPECT_NE(reading.compression, Compression::kNone);
    EXPECT_EQ(reading.bytes, "");
    EXPECT_EQ(reading.damage, "");
  }
}

TEST(ByteStream, JoinsMembersAndFrames) {
  const std::string a = SampleText(70'000, 1);
  const std::string b = SampleText(1, 2);
  const std::string c = SampleText(300'000, 3);
  for (const size_t step : {size_t{1}, size_t{1000}, size_t{1} << 20}) {
    const Reading gzip = ReadAll(Gzip(a) + Gzip(b) + Gzip("") + Gzip(c), step);
    EXPECT_EQ(gzip.damage, "");
    EXPECT_TRUE(gzip.bytes == a + b + c);
    const Reading zstd = ReadAll(Zstd(a) + Zstd(b) + Zstd("") + Zstd(c), step);
    EXPECT_EQ(zstd.damage, "");
    EXPECT_TRUE(zstd.bytes == a + b + c);
  }
}

TEST(ByteStream, TakesZeroPaddingAfterGzip) {
  const std::string text = SampleText(5000);
  for (const size_t zeros : {1, 512, 300'000}) {
    const Reading reading = ReadAll(Gzip(text) + std::string(zeros, '\0'));
    EXPECT_TRUE(reading.bytes == text);
    EXPECT_EQ(reading.damage, "");
  }
  const Reading two = ReadAll(Gzip(text) + std::string(700, '\0') + Gzip(text));
  EXPECT_TRUE(two.bytes == text + text);
  EXPECT_EQ(two.damage, "");
}

TEST(ByteStream, PassesOverSkippableFramesOfZstd) {
  // As pzstd writes them in front of each frame.
  const std::string skippable = "\x50\x2a\x4d\x18\x04\0\0\0abcd"s;
  const std::string text = SampleText(5000);
  for (const std::string& packed :
       {Zstd(text) + skippable, skippable + Zstd(text), skippable + Zstd(text) + skippable}) {
    const Reading reading = ReadAll(packed);
    EXPECT_EQ(reading.compression, Compression::kZstd);
    EXPECT_TRUE(reading.bytes == text);
    EXPECT_EQ(reading.damage, "");
  }
}

// --- Damaged ---

TEST(ByteStream, GivesWhatATruncatedFileHoldsAndSaysSo) {
  const std::string text = SampleText(3000);
  for (const std::string& packed : {Gzip(text), Zstd(text), Gzip(text) + Gzip(text)}) {
    const bool two_members = packed.size() == 2 * Gzip(text).size();
    const size_t magic = packed[0] == '\x1f' ? 2 : 4;
    const std::string whole = two_members ? text + text : text;
    for (size_t size = 0; size < packed.size(); ++size) {
      const Reading reading = ReadAll(std::string_view(packed).substr(0, size), 1000);
      if (size < magic) {
        EXPECT_EQ(reading.compression, Compression::kNone);
        EXPECT_EQ(reading.bytes, packed.substr(0, size));
        continue;
      }
      ASSERT_TRUE(whole.starts_with(reading.bytes)) << "cut at " << size;
      if (two_members && size == packed.size() / 2) {
        EXPECT_EQ(reading.damage, "") << "the end of the first member is no damage";
        continue;
      }
      ASSERT_NE(reading.damage.find("cut off"), std::string::npos)
          << "cut at " << size << ": " << reading.damage;
    }
    // All of the data is there when only gzip's trailer or zstd's checksum is cut.
    const Reading all = ReadAll(std::string_view(packed).substr(0, packed.size() - 1));
    EXPECT_EQ(all.bytes, whole);
  }
}

TEST(ByteStream, TellsGarbageBehindCompressedData) {
  const std::string text = SampleText(3000);
  for (const std::string& garbage : {"x"s, "PK\x03\x04"s, "\x1f"s, "\x1f\x8b"s, SampleText(1000)}) {
    for (const std::string& packed : {Gzip(text), Gzip(text) + "\0\0"s, Zstd(text)}) {
      const Reading reading = ReadAll(packed + garbage);
      EXPECT_EQ(reading.bytes, text);
      EXPECT_NE(reading.damage, "");
    }
  }
}

TEST(ByteStream, NeverTakesADamagedByteForData) {
  const std::string text = SampleText(2000);
  for (const std::string& packed : {Gzip(text), Zstd(text)}) {
    for (size_t at = 0; at < packed.size(); ++at) {
      for (const int bit : {0, 3, 7}) {
        std::string damaged = packed;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
        const Reading reading = ReadAll(damaged);
        if (reading.compression == Compression::kNone) {
          EXPECT_EQ(reading.bytes, damaged);
        } else if (reading.damage.empty()) {
          ASSERT_EQ(reading.bytes, text) << "byte " << at << " bit " << bit;  // e.g. gzip's time
        }
      }
    }
  }
}

TEST(ByteStream, GivesWhatLiesBeforeTheDamage) {
  const std::string text = SampleText(2'000'000);
  for (std::string packed : {Gzip(text), Zstd(text)}) {
    const size_t middle = packed.size() / 2;
    for (size_t i = 0; i < 64; ++i) packed[middle + i] = '\xff';
    const Reading reading = ReadAll(packed);
    EXPECT_NE(reading.damage.find("damaged"), std::string::npos) << reading.damage;
    const auto [mine, its] =
        std::mismatch(text.begin(), text.end(), reading.bytes.begin(), reading.bytes.end());
    EXPECT_GT(mine - text.begin(), 500'000);
  }
}

TEST(ByteStream, SurvivesRandomBytesBehindAMagic) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = i % 2 == 0 ? "\x1f\x8b\x08\0\0\0\0\0\0\3"s : "\x28\xb5\x2f\xfd"s;
    const size_t size = random() % 300;
    for (size_t k = 0; k < size; ++k) bytes += static_cast<char>(random());
    (void)ReadAll(bytes, 1 + random() % 100);
  }
}

// --- Hostile ---

int64_t PeakBytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

// Reads to the end without keeping anything.
std::pair<uint64_t, std::string> Drain(std::string_view packed) {
  auto opened = Decompress(MemoryStream(packed));
  EXPECT_TRUE(opened);
  std::string buffer(size_t{1} << 20, '\0');
  uint64_t bytes = 0;
  while (const size_t got = *opened->bytes->Read(buffer)) bytes += got;
  return {bytes, opened->bytes->damage()};
}

TEST(ByteStream, StopsBombs) {
  const std::string zeros(size_t{300} << 20, '\0');
  std::string members;
  const std::string member = Gzip(std::string_view(zeros).substr(0, size_t{8} << 20), 9);
  for (int i = 0; i < 40; ++i) members += member;
  for (const std::string& packed : {members, Gzip(zeros, 9), Zstd(zeros)}) {
    const int64_t before = PeakBytes();
    const auto [bytes, damage] = Drain(packed);
    EXPECT_NE(damage.find("expands to more than 400 times"), std::string::npos) << damage;
    EXPECT_GT(bytes, kFreeExpansion);
    EXPECT_LE(bytes, kFreeExpansion + (size_t{2} << 20));
    EXPECT_LT(PeakBytes() - before, int64_t{64} << 20);
  }
}

TEST(ByteStream, TakesZerosThatAreNoBomb) {
  const std::string zeros(size_t{200} << 20, '\0');
  const auto [bytes, damage] = Drain(Zstd(zeros));
  EXPECT_EQ(bytes, zeros.size());
  EXPECT_EQ(damage, "");
}

TEST(ByteStream, RefusesAZstdWindowThatIsTooLarge) {
  // A frame that asks for a window of 2 GiB, with one empty block.
  const Reading reading = ReadAll("\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"s);
  EXPECT_EQ(reading.bytes, "");
  EXPECT_NE(reading.damage.find("too much memory"), std::string::npos) << reading.damage;
}

}  // namespace
}  // namespace telltale
