#include "simulate/training_fault.h"

#include <gtest/gtest.h>

namespace telltale::simulate {
namespace {

TEST(TrainingFault, ReadsEveryKind) {
  const auto late = ParseFault("late-rank:rank=11,ms=3.5,from=0.3,to=0.5");
  ASSERT_TRUE(late) << late.error().message;
  EXPECT_EQ(late->kind, FaultKind::kLateRank);
  EXPECT_EQ(late->rank, 11U);
  EXPECT_EQ(late->milliseconds, 3.5);
  EXPECT_EQ(late->from, 0.3);
  EXPECT_EQ(late->to, 0.5);
  const auto link = ParseFault("slow-link:hosts=2-5,factor=4");
  ASSERT_TRUE(link) << link.error().message;
  EXPECT_EQ(link->host, 2U);
  EXPECT_EQ(link->other_host, 5U);
  EXPECT_EQ(link->to, 1.0);
  const auto named = ParseFault("slow-link:comm=DP Group 3,factor=4");
  ASSERT_TRUE(named) << named.error().message;
  EXPECT_EQ(named->communicator, "DP Group 3");
  EXPECT_TRUE(ParseFault("slow-host:host=3,factor=1.2"));
  EXPECT_TRUE(ParseFault("congestion:factor=1.5,from=0.25"));
  EXPECT_TRUE(ParseFault("clock-offset:host=2,ms=-250"));
  EXPECT_TRUE(ParseFault("missing-rank-file:rank=5"));
  EXPECT_TRUE(ParseFault("jitter:percent=20"));
  const auto ring = ParseFault("ring-loss");
  ASSERT_TRUE(ring) << ring.error().message;
  EXPECT_EQ(ring->ring_size, 16U);
}

TEST(TrainingFault, SaysWhatIsWrongAndWhatIsExpected) {
  const auto error = [](std::string_view text) {
    const auto fault = ParseFault(text);
    return fault ? std::string("none") : fault.error().message;
  };
  const auto holds = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
  };
  EXPECT_TRUE(holds(error("late"), "expected one of\n  late-rank:rank=11"));
  EXPECT_TRUE(holds(error(""), "expected one of"));
  EXPECT_TRUE(holds(error("late-rank:rank=11"), "ms= is missing"));
  EXPECT_TRUE(holds(error("late-rank:rank=-1,ms=3"), "a global rank counted from 0"));
  EXPECT_TRUE(holds(error("late-rank:rank=1,ms=-3"), "milliseconds"));
  EXPECT_TRUE(holds(error("late-rank:rank=1,ms=nan"), "milliseconds"));
  EXPECT_TRUE(holds(error("late-rank:rank=1,rank=2,ms=3"), "given twice"));
  EXPECT_TRUE(holds(error("late-rank:rank=1,ms=3,host=2"), "takes no key \"host\""));
  EXPECT_TRUE(holds(error("late-rank:rank=1,ms=3,from=0.5,to=0.5"), "not before"));
  EXPECT_TRUE(holds(error("late-rank:rank=1,ms=3,to=1.5"), "from 0 to 1"));
  EXPECT_TRUE(holds(error("slow-link:factor=2"), "one of the keys comm hosts"));
  EXPECT_TRUE(holds(error("slow-link:comm=X,hosts=1-2,factor=2"), "one of the keys comm hosts"));
  EXPECT_TRUE(holds(error("slow-link:hosts=1-1,factor=2"), "two different hosts"));
  EXPECT_TRUE(holds(error("slow-link:hosts=1,factor=2"), "two different hosts"));
  EXPECT_TRUE(holds(error("congestion:factor=0.5"), "from 1"));
  EXPECT_TRUE(holds(error("congestion:factor"), "from 1"));
  EXPECT_TRUE(holds(error("ring-loss:ring=0"), "at least 1"));
}

TEST(TrainingFault, HelpShowsAnExampleOfEveryKind) {
  for (const char* kind : {"late-rank", "slow-link", "slow-host", "congestion", "ring-loss",
                           "clock-offset", "missing-rank-file", "jitter"}) {
    EXPECT_NE(FaultHelp().find(kind), std::string::npos) << kind;
  }
}

}  // namespace
}  // namespace telltale::simulate
