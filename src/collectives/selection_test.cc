#include "collectives/selection.h"

#include <gtest/gtest.h>

namespace telltale::collectives {
namespace {

TEST(Selection, SizesAreBinary) {
  EXPECT_EQ(BytesOf("0"), 0U);
  EXPECT_EQ(BytesOf("4096"), 4096U);
  EXPECT_EQ(BytesOf("64K"), 65536U);
  EXPECT_EQ(BytesOf("64kib"), 65536U);
  EXPECT_EQ(BytesOf("2MB"), uint64_t{2} << 20);
  EXPECT_EQ(BytesOf("1G"), uint64_t{1} << 30);
  EXPECT_EQ(BytesOf("3T"), uint64_t{3} << 40);
  EXPECT_EQ(BytesOf("7B"), 7U);
  EXPECT_EQ(BytesOf("18446744073709551615"), 18446744073709551615U);
  for (const char* text :
       {"", "K", "1X", "1 K", "-1", "1.5M", "1KK", "18446744073709551616", "16777216T", "1MiBs"}) {
    EXPECT_EQ(BytesOf(text), std::nullopt) << text;
  }
}

TEST(Selection, FiltersAreDeclaredOnce) {
  for (const Filter& filter : Filters()) {
    EXPECT_TRUE(std::string(filter.option).starts_with("--"));
    EXPECT_GT(std::string(filter.help).size(), 0U);
  }
}

}  // namespace
}  // namespace telltale::collectives
