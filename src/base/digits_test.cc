#include "base/digits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>

namespace telltale {
namespace {

// With room behind it, as windows have.
std::string Padded(std::string text) { return std::move(text.append(64, '\0')); }

TEST(Digits, LeadingDigits) {
  const char followers[] = {'\0', ' ',    '/',    ':',    'a',    '"',
                            '}',  '\x7f', '\x80', '\xb0', '\xb9', '\xff'};
  for (int digits = 0; digits <= 8; ++digits) {
    for (const char follower : followers) {
      for (const char behind : {'0', '9', '\0', '\xff'}) {
        std::string text(8, behind);
        for (int i = 0; i < digits; ++i)
          text[static_cast<size_t>(i)] = static_cast<char>('0' + (i * 7) % 10);
        if (digits < 8) text[static_cast<size_t>(digits)] = follower;
        ASSERT_EQ(LeadingDigits(LoadEight(text.data())), digits) << follower << behind;
      }
    }
  }
}

TEST(Digits, IntegersAsStrtoullReadsThem) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100000; ++i) {
    std::string digits(1 + random() % 20, '0');
    for (char& c : digits) c = static_cast<char>('0' + random() % 10);
    const std::string text = Padded(digits + ",}\"x."[random() % 5]);
    const char* at = text.data();
    uint64_t value = 0;
    const bool good = ReadInteger(at, value);
    const bool expected = digits.size() <= 16 && (digits.size() == 1 || digits[0] != '0');
    ASSERT_EQ(good, expected) << digits;
    if (!good) continue;
    ASSERT_EQ(value, std::strtoull(digits.c_str(), nullptr, 10)) << digits;
    ASSERT_EQ(static_cast<size_t>(at - text.data()), digits.size()) << digits;
  }
}

TEST(Digits, NoInteger) {
  for (const char* wrong :
       {"", "-1", "+1", " 1", "x", "00", "01", "0123456789", "12345678901234567"}) {
    const std::string text = Padded(wrong);
    const char* at = text.data();
    uint64_t value = 0;
    EXPECT_FALSE(ReadInteger(at, value)) << wrong;
  }
}

TEST(Digits, Millionths) {
  const auto read = [](const std::string& number) {
    const std::string text = Padded(number + ",");
    const char* at = text.data();
    uint64_t value = 0;
    if (!ReadMillionths(at, value)) return int64_t{-1};
    EXPECT_EQ(static_cast<size_t>(at - text.data()), number.size()) << number;
    return static_cast<int64_t>(value);
  };
  EXPECT_EQ(read("0.000000"), 0);
  EXPECT_EQ(read("0.000001"), 1);
  EXPECT_EQ(read("12.345678"), 12345678);
  EXPECT_EQ(read("999999999.999999"), 999999999999999);
  for (const char* wrong : {"1000000000.000000", "1.00000", "1.0000000", "-1.000000", "1", "1.",
                            ".5", "01.000000", "1,000000", "nan", "1e5"}) {
    EXPECT_EQ(read(wrong), -1) << wrong;
  }
}

}  // namespace
}  // namespace telltale
