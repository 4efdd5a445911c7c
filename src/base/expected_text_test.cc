#include "base/expected_text.h"

#include <gtest/gtest.h>

#include <string>

namespace telltale {
namespace {

std::string TextOfSize(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('!' + i * 7 % 90);
  return text;
}

bool BeginsWith(const ExpectedText& expected, std::string text) {
  text.append(ExpectedText::kPadding, 'x');
  return ExpectedText::IsNone(expected.DifferenceTo(text.data()));
}

TEST(ExpectedText, WhatIsBehindDoesNotMatter) {
  for (size_t size = 0; size <= 300; ++size) {
    const std::string text = TextOfSize(size);
    const ExpectedText expected(text);
    EXPECT_EQ(expected.size(), size);
    EXPECT_TRUE(BeginsWith(expected, text)) << size;
    EXPECT_TRUE(BeginsWith(expected, text + '\0')) << size;
    EXPECT_TRUE(BeginsWith(expected, text + "\xff more")) << size;
  }
}

TEST(ExpectedText, EveryBitMatters) {
  for (const size_t size : {1, 15, 16, 17, 31, 63, 64, 65, 127, 128, 129, 200}) {
    const std::string text = TextOfSize(size);
    const ExpectedText expected(text);
    for (size_t i = 0; i < 8 * size; ++i) {
      std::string other = text;
      other[i / 8] = static_cast<char>(other[i / 8] ^ (1 << i % 8));
      EXPECT_FALSE(BeginsWith(expected, other)) << size << " bit " << i;
    }
  }
}

TEST(ExpectedText, Is) {
  const std::string text = TextOfSize(100);
  const std::string padded = text + std::string(ExpectedText::kPadding, 'x');
  const ExpectedText expected(text);
  const std::string_view view = padded;
  EXPECT_TRUE(expected.Is(view.substr(0, 100)));
  EXPECT_FALSE(expected.Is(view.substr(0, 99)));
  EXPECT_FALSE(expected.Is(view.substr(0, 101)));
  EXPECT_FALSE(expected.Is(view.substr(1, 100)));
  EXPECT_TRUE(ExpectedText().Is(view.substr(0, 0)));
}

}  // namespace
}  // namespace telltale
