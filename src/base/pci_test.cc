#include "base/pci.h"

#include <gtest/gtest.h>

namespace telltale {
namespace {

TEST(PciBusId, EveryWayOfWritingBecomesOne) {
  EXPECT_EQ(NormalPciBusId("00000008:06:00.0"), "0008:06:00.0");  // DCGM
  EXPECT_EQ(NormalPciBusId("0008:06:00"), "0008:06:00.0");        // Xid
  EXPECT_EQ(NormalPciBusId("0000:9b:00"), "0000:9b:00.0");
  EXPECT_EQ(NormalPciBusId("00000000:9B:00.0"), "0000:9b:00.0");
  EXPECT_EQ(NormalPciBusId("9b:00.0"), "0000:9b:00.0");
  EXPECT_EQ(NormalPciBusId("0000:00:1f.7"), "0000:00:1f.7");
  EXPECT_EQ(NormalPciBusId("0001ABCD:06:00.0"), "0001abcd:06:00.0");
  EXPECT_EQ(NormalPciBusId("8:6:0.0"), "0008:06:00.0");
}

TEST(PciBusId, OtherTextIsNone) {
  for (const char* text :
       {"", ":", "::", "0000", "0000:9b", "0000:9b:", "0000:9b:00.", "0000:9b:00.8", "0000:9b:20.0",
        "0000:9b:00.0 ", " 0000:9b:00.0", "000000000:9b:00.0", "0000:19b:00.0", "0000:9g:00.0",
        "0000:-b:00.0", "0000:9b:00.0.0", "0000:9b:00:0", "0x00:9b:00.0", "GPU-1:2:3"}) {
    EXPECT_EQ(NormalPciBusId(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace telltale
