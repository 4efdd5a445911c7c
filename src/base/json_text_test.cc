#include "base/json_text.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace telltale {
namespace {

using std::string_literals::operator""s;

TEST(JsonText, QuotesAndEscapes) {
  EXPECT_EQ(JsonString(""), R"("")");
  EXPECT_EQ(JsonString("rank 3"), R"("rank 3")");
  EXPECT_EQ(JsonString("a\"b\\c/d"), R"("a\"b\\c/d")");
  EXPECT_EQ(JsonString("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(JsonString("\x01\x1f\x7f\0"s), R"("\u0001\u001f\u007f\u0000")");
}

TEST(JsonText, KeepsValidUtf8) {
  // Two, three and four bytes, with the first and last character of each length.
  for (const std::string& text :
       {"\xC2\x80"s, "\xDF\xBF"s, "\xE0\xA0\x80"s, "\xED\x9F\xBF"s, "\xEE\x80\x80"s,
        "\xEF\xBF\xBF"s, "\xF0\x90\x80\x80"s, "\xF4\x8F\xBF\xBF"s}) {
    EXPECT_EQ(JsonString(text), "\"" + text + "\"");
  }
}

TEST(JsonText, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(JsonString("a\x80z"), R"("a\ufffdz")");
  EXPECT_EQ(JsonString("\xC0\xAF"), R"("\ufffd\ufffd")");            // Overlong.
  EXPECT_EQ(JsonString("\xED\xA0\x80"), R"("\ufffd\ufffd\ufffd")");  // A surrogate.
  EXPECT_EQ(JsonString("\xF4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(JsonString("\xE2\x82"), R"("\ufffd")");  // Cut off.
  EXPECT_EQ(JsonString("\xE2\x82z"), R"("\ufffdz")");
  EXPECT_EQ(JsonString("\xF0\x9F\x98\xC3\xA9"), "\"\\ufffd\xC3\xA9\"");
}

TEST(JsonText, AppendsToWhatIsThere) {
  std::string out = "{";
  AppendJsonString(out, "host");
  EXPECT_EQ(out, R"({"host")");
}

}  // namespace
}  // namespace telltale
