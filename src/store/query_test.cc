#include "store/query.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "store/embedded_queries.h"

namespace telltale {
namespace {

TEST(Query, FindsTextByName) {
  const auto text = QueryText("collectives/summary");
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("-- Question: "));
  for (const std::string name :
       {"", "nosuch", "collectives", "collectives/", "collectives/summary.sql"}) {
    const auto missing = QueryText(name);
    ASSERT_FALSE(missing) << name;
    EXPECT_EQ(missing.error().message, "there is no query " + name);
  }
}

TEST(Query, HeadsComeSortedAndBelowThePrefixOnly) {
  const std::vector<QueryHead> heads = QueryHeads("collectives/");
  ASSERT_GE(heads.size(), 2U);
  EXPECT_TRUE(std::is_sorted(heads.begin(), heads.end(),
                             [](const auto& a, const auto& b) { return a.name < b.name; }));
  for (const QueryHead& head : heads) EXPECT_TRUE(head.name.starts_with("collectives/"));
  EXPECT_TRUE(QueryHeads("nosuch/").empty());
  EXPECT_EQ(QueryHeads("").size(), EmbeddedQueries().size());
}

// Help and documentation are made from the heads: each has what they need.
TEST(Query, EveryQuestionHasAWholeHead) {
  const std::array no_questions = {"schema/", "selection/", "slots/", "rollups/"};
  for (const QueryHead& head : QueryHeads("")) {
    if (std::any_of(no_questions.begin(), no_questions.end(),
                    [&](const char* folder) { return head.name.starts_with(folder); })) {
      continue;
    }
    EXPECT_TRUE(head.question.ends_with("?")) << head.name;
    EXPECT_EQ(head.text.find("--"), std::string::npos) << head.name;
    EXPECT_NE(head.text.find("\nColumns:\n"), std::string::npos) << head.name;
    const std::string text = *QueryText(head.name);
    for (int i = 1; text.find("$" + std::to_string(i)) != std::string::npos; ++i) {
      EXPECT_NE(head.text.find("\n  $" + std::to_string(i) + " "), std::string::npos)
          << head.name << ": $" << i << " is not described";
    }
  }
}

}  // namespace
}  // namespace telltale
