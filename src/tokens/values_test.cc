#include "tokens/values.h"

#include <limits>

#include <gtest/gtest.h>

#include "tokens/call_trees.h"
#include "tokens/counted_names.h"

namespace telltale::tokens {
namespace {

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

TEST(Values, NumbersComeBack) {
  std::vector<uint64_t> numbers = {0, 1, 127, 128, 16'383, 16'384, ~uint64_t{0}};
  for (unsigned bit = 0; bit < 64; ++bit) numbers.push_back(uint64_t{1} << bit);
  std::string bytes;
  for (const uint64_t number : numbers) AppendNumber(bytes, number);
  NumberReader reader(bytes);
  for (const uint64_t number : numbers) EXPECT_EQ(reader.Next(), number);
  EXPECT_TRUE(reader.ok());
  EXPECT_TRUE(reader.AtEnd());
  std::string longest;
  AppendNumber(longest, ~uint64_t{0});
  EXPECT_EQ(longest.size(), kLongestNumber);
}

TEST(Values, SignedNumbersComeBack) {
  const std::vector<int64_t> numbers = {0, -1, 1, kLeast, kLeast + 1, kMost, kMost - 1, -64, 63};
  std::string bytes;
  for (const int64_t number : numbers) AppendNumber(bytes, ZigZag(number));
  NumberReader reader(bytes);
  for (const int64_t number : numbers) EXPECT_EQ(reader.NextSigned(), number);
  EXPECT_EQ(ZigZag(-1), 1U);
  EXPECT_EQ(ZigZag(1), 2U);
  for (const int64_t a : numbers) {
    for (const int64_t b : numbers) EXPECT_EQ(Plus(Minus(a, b), b), a);
  }
}

TEST(Values, ReadingBehindTheEndIsNoted) {
  NumberReader empty;
  EXPECT_TRUE(empty.ok());
  EXPECT_TRUE(empty.AtEnd());
  EXPECT_EQ(empty.Next(), 0U);
  EXPECT_FALSE(empty.ok());

  NumberReader cut_off("\x05\x80");
  EXPECT_EQ(cut_off.Next(), 5U);
  EXPECT_EQ(cut_off.Next(), 0U);
  EXPECT_FALSE(cut_off.ok());
  EXPECT_TRUE(cut_off.AtEnd());

  const std::string endless = std::string(10, '\x80') + "\x01\x01";
  NumberReader reader(endless);  // no number has so many bytes
  EXPECT_EQ(reader.Next(), 0U);
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Next(), 0U) << "and nothing is read behind it";
}

TEST(Values, BytesAreThereOrNot) {
  NumberReader reader("abc");
  EXPECT_EQ(reader.Bytes(2), "ab");
  EXPECT_EQ(reader.left(), 1U);
  EXPECT_EQ(reader.Bytes(std::numeric_limits<size_t>::max()), "");
  EXPECT_FALSE(reader.ok());
  EXPECT_EQ(reader.Bytes(1), "") << "nothing is read after a failure";
}

TEST(CountedNames, GoOnByTheirLastNumber) {
  const std::vector<std::string> names = {"Linear_4", "Linear_8", "Linear_12", "Linear_5",
                                          "Other_8"};
  const CountedNames counted(names);
  EXPECT_EQ(counted.Distance(0, 1), 4);
  EXPECT_EQ(counted.Distance(1, 0), -4);
  EXPECT_EQ(counted.Further(1, 4), 2U);
  EXPECT_EQ(counted.Further(2, 4), kNone);
  EXPECT_EQ(counted.Further(0, 1), 3U);
  EXPECT_EQ(counted.Further(3, 0), 3U);
  EXPECT_EQ(counted.Distance(1, 4), 0) << "another stem";
}

TEST(CountedNames, OnlyTheLastNumberCounts) {
  const CountedNames counted({"block 1 layer 2 end", "block 1 layer 3 end", "block 2 layer 3 end"});
  EXPECT_EQ(counted.Further(0, 1), 1U);
  EXPECT_EQ(counted.Further(1, 1), kNone);
  EXPECT_EQ(counted.Distance(0, 2), 0);
}

TEST(CountedNames, ZerosInFrontCountToo) {
  const CountedNames counted({"s07", "s08", "s8", "s9", "s010", "s0", "s1"});
  EXPECT_EQ(counted.Further(0, 1), 1U);
  EXPECT_EQ(counted.Further(1, 1), kNone) << "neither s9 nor s010 has two digits with a zero";
  EXPECT_EQ(counted.Further(2, 1), 3U);
  EXPECT_EQ(counted.Further(5, 1), 6U) << "a zero by itself is a number like others";
  EXPECT_EQ(counted.Distance(0, 2), 0);
}

TEST(CountedNames, TakeAnyNames) {
  const std::string digits(18, '9');
  const std::vector<std::string> names = {
      "",  "a",         "7", digits, "9" + digits, "a\n0\nb", "a0b", std::string("\xff") + "1",
      "7", "1" + digits};
  const CountedNames counted(names);
  for (uint32_t one = 0; one < names.size(); ++one) {
    for (uint32_t other = 0; other < names.size(); ++other) {
      const int64_t distance = counted.Distance(one, other);
      if (distance == 0) continue;
      EXPECT_EQ(names[counted.Further(one, distance)], names[other]);
    }
    EXPECT_EQ(counted.Further(one, kMost / 4), kNone);
  }
  EXPECT_EQ(counted.Further(8, 0), 2U) << "of equal names, the first";
  EXPECT_EQ(counted.Distance(2, 8), 0);
}

}  // namespace
}  // namespace telltale::tokens
