#include "collectives/key_range.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace telltale::collectives {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr uint32_t kLastKey = std::numeric_limits<uint32_t>::max();

TEST(KeyRange, HoldsTheKeysWhoseValuesLieInTheRange) {
  const std::vector<uint32_t> keys = {0, 1, 2, 99, 100, 101, kLastKey - 1, kLastKey};
  const std::vector<int64_t> offsets = {0, 1, 1795953925017576, -5, kMost - (int64_t{1} << 32)};
  for (const int64_t offset : offsets) {
    for (const int64_t begin :
         {kLeast, offset - 1, offset, offset + 1, offset + 100, offset + kLastKey, kMost}) {
      for (const int64_t end :
           {kLeast, offset, offset + 2, offset + 101, offset + kLastKey + 1, kMost}) {
        const KeyRange range(begin, end, offset);
        size_t inside = 0;
        for (const uint32_t key : keys) {
          const int64_t value = key + offset;
          const bool holds = value >= begin && value < end;
          EXPECT_EQ(range.Holds(key), holds)
              << key << " + " << offset << " in " << begin << " … " << end;
          inside += holds ? 1 : 0;
        }
        EXPECT_EQ(range.CountInside(keys.data(), keys.size()), inside);
      }
    }
  }
}

TEST(KeyRange, ARunEndsBeforeTheFirstKeyOutside) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<uint32_t> keys(1 + random() % 50);
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random() % 20);
    keys[0] = 10;
    const KeyRange range(1005, 1005 + static_cast<int64_t>(6 + random() % 14), 1000);
    size_t expected = 1;
    while (expected < keys.size() && range.Holds(keys[expected])) ++expected;
    EXPECT_EQ(range.EndOfRun(keys.data(), 0, keys.size()), expected);
  }
}

}  // namespace
}  // namespace telltale::collectives
