#include "base/chunked_vector.h"

#include <numeric>

#include <gtest/gtest.h>

namespace telltale {
namespace {

using Numbers = ChunkedVector<size_t>;
constexpr size_t kChunk = Numbers::kChunkRows;

Numbers UpTo(size_t count) {
  Numbers numbers;
  for (size_t i = 0; i < count; ++i) numbers.push_back(i);
  return numbers;
}

TEST(ChunkedVector, HoldsWhatIsPutIn) {
  for (const size_t count : {size_t{0}, size_t{1}, kChunk - 1, kChunk, kChunk + 1, 3 * kChunk}) {
    const Numbers numbers = UpTo(count);
    EXPECT_EQ(numbers.size(), count);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), size_t{0}),
              count * (count + 1) / 2 - count);
  }
}

TEST(ChunkedVector, Shrinks) {
  for (const size_t size : {size_t{0}, size_t{1}, kChunk, kChunk + 1, 2 * kChunk}) {
    Numbers numbers = UpTo(2 * kChunk);
    numbers.Truncate(size);
    EXPECT_EQ(numbers.size(), size);
    numbers.push_back(7);
    EXPECT_EQ(numbers.back(), 7U);
    EXPECT_EQ(numbers[size], 7U);
  }
  Numbers numbers = UpTo(2 * kChunk);
  EXPECT_EQ(EraseIf(numbers, [](size_t number) { return number % 2 == 0; }), kChunk);
  EXPECT_EQ(numbers[kChunk - 1], 2 * kChunk - 1);
}

TEST(ChunkedVector, TakesFullChunks) {
  Numbers left = UpTo(kChunk);
  Numbers right = UpTo(2 * kChunk + 3);
  left.TakeFullChunks(right);
  EXPECT_EQ(left.size(), 3 * kChunk);
  EXPECT_EQ(left[kChunk + 5], 5U);
  EXPECT_EQ(right.size(), 3U);
  EXPECT_EQ(right[0], 2 * kChunk);
}

}  // namespace
}  // namespace telltale
