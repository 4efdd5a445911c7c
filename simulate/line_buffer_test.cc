#include "simulate/line_buffer.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "simulate/random.h"

namespace telltale::simulate {
namespace {

std::string SixDecimals(double value) {
  char text[kMaxSixDecimals];
  return {text, PutSixDecimals(text, value)};
}

std::string Printf(double value) {
  char text[kMaxSixDecimals];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, "%f", value))};
}

TEST(LineBuffer, SixDecimalsEqualPrintfForAllMagnitudes) {
  for (uint64_t i = 0; i < 100'000; ++i) {
    const double value = std::bit_cast<double>(RandomBits(1, i));
    if (!std::isfinite(value)) continue;
    ASSERT_EQ(SixDecimals(value), Printf(value)) << std::hexfloat << value;
  }
}

TEST(LineBuffer, SixDecimalsEqualPrintfForBandwidths) {
  for (uint64_t i = 0; i < 400'000; ++i) {
    const auto bytes = static_cast<double>(RandomBits(2, i) >> (20 + i % 40));
    const auto microseconds = static_cast<double>(1 + RandomBits(3, i) % 5'000'000);
    const double value = bytes / 1e9 / (microseconds / 1e6);
    ASSERT_EQ(SixDecimals(value), Printf(value)) << std::hexfloat << value;
  }
}

TEST(LineBuffer, SixDecimalsRoundTiesToEven) {
  // Odd multiples of 2^-7 have seven decimals, the last of them a 5.
  for (int i = 1; i < 100'000; i += 2) {
    const double value = i / 128.0;
    ASSERT_EQ(SixDecimals(value), Printf(value)) << value;
  }
  EXPECT_EQ(SixDecimals(1 / 128.0), "0.007812");
  EXPECT_EQ(SixDecimals(3 / 128.0), "0.023438");
}

TEST(LineBuffer, SixDecimalsAtTheEdges) {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0,
                             -0.0,
                             -1.5,
                             0.0000005,
                             0.00000049999999999999998,
                             0.9999995,
                             0.99999949999999995,
                             1.0,
                             4503599627370496.5,
                             9007199254740993.0,
                             0x1p43,
                             0x1p44,
                             0x1p62,
                             0x1p63,
                             0x1p64,
                             1e300,
                             Limits::max(),
                             Limits::min(),
                             Limits::denorm_min(),
                             0x1p-40,
                             0x1p-60,
                             0x1p-80,
                             0x1p-100,
                             18446744073709550616.0 / 1e9 / 56e-6}) {
    EXPECT_EQ(SixDecimals(value), Printf(value)) << std::hexfloat << value;
  }
}

TEST(LineBuffer, UnsignedEqualsPrintf) {
  for (uint64_t i = 0; i < 20'000; ++i) {
    const uint64_t value = RandomBits(4, i) >> (i % 64);
    char text[20];
    ASSERT_EQ(std::string(text, PutUnsigned(text, value)), std::to_string(value));
  }
  char text[20];
  EXPECT_EQ(std::string(text, PutUnsigned(text, 0)), "0");
  EXPECT_EQ(std::string(text, PutUnsigned(text, ~uint64_t{0})), "18446744073709551615");
}

TEST(LineBuffer, GrowsAndKeepsItsText) {
  LineBuffer buffer;
  std::string expected;
  for (int i = 0; i < 1000; ++i) {
    buffer.Commit(PutText(buffer.Reserve(7), "piece, "));
    expected += "piece, ";
  }
  EXPECT_EQ(buffer.text(), expected);
  buffer.Clear();
  EXPECT_EQ(buffer.text(), "");
}

}  // namespace
}  // namespace telltale::simulate
