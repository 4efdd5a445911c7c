#include "base/fingerprint.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <random>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace telltale {
namespace {

std::string RandomBytes(size_t size, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

std::string Of(std::string_view bytes, size_t chunk = SIZE_MAX) {
  Fingerprint fingerprint;
  while (!bytes.empty()) {
    const size_t take = std::min(chunk, bytes.size());
    fingerprint.Add(std::span(bytes.data(), take));
    bytes.remove_prefix(take);
  }
  return fingerprint.Finish();
}

TEST(Fingerprint, Is32HexadecimalDigits) {
  EXPECT_EQ(Of("").size(), 32U);
  EXPECT_EQ(Of("").find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(Of("a"), Of("a"));
  EXPECT_NE(Of("a"), Of("b"));
  EXPECT_NE(Of(""), Of(std::string_view("\0", 1)));
}

TEST(Fingerprint, DoesNotDependOnChunks) {
  const std::string bytes = RandomBytes(2 * Fingerprint::kBlockBytes + 12345, 1);
  const std::string whole = Of(bytes);
  for (const size_t chunk :
       {size_t{63}, size_t{1000}, size_t{65536}, size_t{Fingerprint::kBlockBytes} - 1,
        size_t{Fingerprint::kBlockBytes}, size_t{Fingerprint::kBlockBytes} + 1}) {
    EXPECT_EQ(Of(bytes, chunk), whole) << chunk;
  }
  const std::string_view small = std::string_view(bytes).substr(0, 3000);
  for (const size_t chunk : {1, 2, 3, 16, 17, 240, 241, 256, 1024}) {
    EXPECT_EQ(Of(small, chunk), Of(small)) << chunk;
  }
}

TEST(Fingerprint, EveryByteAndTheSizeCount) {
  std::string bytes = RandomBytes(Fingerprint::kBlockBytes + 100, 2);
  const std::string whole = Of(bytes);
  for (const size_t at : {size_t{0}, size_t{Fingerprint::kBlockBytes} - 1,
                          size_t{Fingerprint::kBlockBytes}, bytes.size() - 1}) {
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    EXPECT_NE(Of(bytes), whole) << at;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
  }
  // Zeros differ by their number only.
  const std::string zeros(2 * Fingerprint::kBlockBytes + 2, '\0');
  std::set<std::string> seen;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{2}, size_t{Fingerprint::kBlockBytes} - 1,
                            size_t{Fingerprint::kBlockBytes}, size_t{Fingerprint::kBlockBytes} + 1,
                            2 * size_t{Fingerprint::kBlockBytes}, zeros.size()}) {
    EXPECT_TRUE(seen.insert(Of(std::string_view(zeros).substr(0, size))).second) << size;
  }
  // Equal blocks in another order are another file.
  const std::string a = RandomBytes(Fingerprint::kBlockBytes, 3);
  const std::string b = RandomBytes(Fingerprint::kBlockBytes, 4);
  EXPECT_NE(Of(a + b), Of(b + a));
}

TEST(Fingerprint, OfAFilesBeginningIsThatOfTheShorterFile) {
  std::string path = testing::TempDir() + "telltale-fingerprint-XXXXXX";
  const int descriptor = mkstemp(path.data());
  ASSERT_GE(descriptor, 0);
  close(descriptor);
  const std::string bytes = RandomBytes(2 * Fingerprint::kBlockBytes + 777, 5);
  std::ofstream(path, std::ios::binary) << bytes;
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1} << 20, size_t{Fingerprint::kBlockBytes},
                            size_t{Fingerprint::kBlockBytes} + 1, bytes.size()}) {
    EXPECT_EQ(*FingerprintOfFile(path, size), Of(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_EQ(*FingerprintOfFile(path), Of(bytes));
  EXPECT_EQ(*FingerprintOfFile(path, bytes.size() + 1), Of(bytes));
  unlink(path.c_str());
  EXPECT_EQ(FingerprintOfFile(path).error().message, path + ": open: No such file or directory");
}

}  // namespace
}  // namespace telltale
