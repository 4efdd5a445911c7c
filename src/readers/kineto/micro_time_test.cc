#include "readers/kineto/micro_time.h"

#include <string>

#include <gtest/gtest.h>

namespace telltale::kineto {
namespace {

TEST(MicroTime, IsExactToTheNanosecond) {
  EXPECT_EQ(NanosecondsOf("1682725898236567"), 1682725898236567000);
  EXPECT_EQ(NanosecondsOf("4458676522690.655"), 4458676522690655);
  EXPECT_EQ(NanosecondsOf("1712195495406752.8"), 1712195495406752800);
  EXPECT_EQ(NanosecondsOf("0"), 0);
  EXPECT_EQ(NanosecondsOf("68.0"), 68000);
  EXPECT_EQ(NanosecondsOf("0.001"), 1);
  EXPECT_EQ(NanosecondsOf("-1.5"), -1500);
}

TEST(MicroTime, ReadsExponentsAndRounds) {
  EXPECT_EQ(NanosecondsOf("1.5e3"), 1500000);
  EXPECT_EQ(NanosecondsOf("1712195495406752.8E0"), 1712195495406752800);
  EXPECT_EQ(NanosecondsOf("25e-4"), 3);
  EXPECT_EQ(NanosecondsOf("0.00049"), 0);
  EXPECT_EQ(NanosecondsOf("0.0005"), 1);
  EXPECT_EQ(NanosecondsOf("1.0004999999999999999999999"), 1000);
  EXPECT_EQ(NanosecondsOf("0e99999"), 0);
}

// Eight digits at a time, against one by one.
TEST(MicroTime, AnyNumberOfDigits) {
  const std::string all = "1234567890123456";
  for (size_t digits = 1; digits <= all.size(); ++digits) {
    const std::string whole = all.substr(0, digits);
    const int64_t micro = std::stoll(whole);
    EXPECT_EQ(NanosecondsOf(whole + ".907"), micro * 1000 + 907) << whole;
    EXPECT_EQ(NanosecondsOf(whole + ".9"), micro * 1000 + 900) << whole;
    for (size_t wrong = 0; wrong < digits; ++wrong) {
      for (const char c : {'x', '/', ':', '.', '-', ' ', '\xb9'}) {
        std::string text = whole + ".907";
        text[wrong] = c;
        if (wrong == 0 && c == '-' && digits > 1) continue;
        EXPECT_FALSE(NanosecondsOf(text)) << text;
      }
    }
    EXPECT_FALSE(NanosecondsOf(whole + ".9x7")) << whole;
  }
}

TEST(MicroTime, RefusesWhatIsNoTime) {
  for (const char* text : {"", "-", "NaN", "inf", "1.2.3", "12x", "0x10", "1e", "1e999", " 1",
                           "9223372036854775.808", "99999999999999999999999"}) {
    EXPECT_FALSE(NanosecondsOf(text)) << text;
  }
  EXPECT_EQ(NanosecondsOf("9223372036854775.807"), INT64_MAX);
}

}  // namespace
}  // namespace telltale::kineto
