#include "base/text.h"

#include <gtest/gtest.h>

namespace telltale {
namespace {

TEST(Text, WritesBytesWithTheirUnit) {
  EXPECT_EQ(TimeText(1779258665050097785), "2026-05-20 06:31:05.050097");
  EXPECT_EQ(TimeText(-1), "1969-12-31 23:59:59.999999");
  EXPECT_EQ(BytesText(0), "0 bytes");
  EXPECT_EQ(BytesText(480), "480 bytes");
  EXPECT_EQ(BytesText(999), "999 bytes");
  EXPECT_EQ(BytesText(1000), "1.0 kB");
  EXPECT_EQ(BytesText(9949), "9.9 kB");
  EXPECT_EQ(BytesText(9960), "10 kB");
  EXPECT_EQ(BytesText(999'499), "999 kB");
  EXPECT_EQ(BytesText(999'500), "1.0 MB");
  EXPECT_EQ(BytesText(1.2e9), "1.2 GB");
  EXPECT_EQ(BytesText(17.66e9), "18 GB");
  EXPECT_EQ(BytesText(3e12), "3.0 TB");
  EXPECT_EQ(BytesText(4e15), "4.0 PB");
  EXPECT_EQ(BytesText(18.4e18), "18400.0 PB");
}

TEST(Text, WritesNumbersOfBytesThatAreNotWhole) {
  EXPECT_EQ(BytesText(999.4), "999 bytes");
  EXPECT_EQ(BytesText(999.7), "1.0 kB");
}

TEST(Text, WritesCounts) {
  EXPECT_EQ(CountText(0), "0");
  EXPECT_EQ(CountText(999), "999");
  EXPECT_EQ(CountText(1000), "1,000");
  EXPECT_EQ(CountText(12'288), "12,288");
  EXPECT_EQ(CountText(999'999), "999,999");
  EXPECT_EQ(CountText(6'200'000), "6.2 M");
  EXPECT_EQ(CountText(37'500'000), "37.5 M");
}

}  // namespace
}  // namespace telltale
