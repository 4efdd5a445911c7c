#include "tokens/grammar.h"

#include <random>

#include <gtest/gtest.h>

namespace telltale::tokens {
namespace {

TEST(SubtreeTable, EqualTreesHaveOneNumber) {
  SubtreeTable table(3);
  const uint32_t leaf = table.Add(0, {});
  const uint32_t other_leaf = table.Add(1, {});
  EXPECT_NE(leaf, other_leaf);
  EXPECT_EQ(table.Add(0, {}), leaf);
  const std::vector<uint32_t> children = {leaf, other_leaf, leaf};
  const uint32_t tree = table.Add(2, children);
  EXPECT_EQ(table.Add(2, children), tree);
  EXPECT_NE(table.Add(2, std::vector{leaf, leaf, other_leaf}), tree) << "order counts";
  EXPECT_NE(table.Add(1, children), tree) << "so does the label";
  EXPECT_EQ(table.Label(tree), 2U);
  EXPECT_EQ(table.Nodes(tree), 4U);
  EXPECT_TRUE(std::ranges::equal(table.Children(tree), children));
  EXPECT_TRUE(table.Children(leaf).empty());
  const uint32_t above = table.Add(0, std::vector{tree, tree});
  EXPECT_EQ(table.Nodes(above), 9U);
  EXPECT_EQ(table.size(), 6U);
}

TEST(SubtreeTable, FindsWhatWasAddedOnly) {
  SubtreeTable table(2);
  const uint32_t leaf = table.Add(0, {});
  const uint32_t tree = table.Add(1, std::vector{leaf, leaf});
  // Children lead on from the label's state, the last one first.
  const uint32_t once = table.Next(table.Start(1), leaf);
  ASSERT_NE(once, kNone);
  EXPECT_EQ(table.TreeOf(once), kNone) << "a beginning is no tree";
  EXPECT_EQ(table.TreeOf(table.Next(once, leaf)), tree);
  EXPECT_EQ(table.Next(table.Start(1), tree), kNone);
  EXPECT_EQ(table.Start(2), kNone) << "a label that the table was not made for";
  EXPECT_EQ(table.Start(kNone), kNone);
}

TEST(SubtreeTable, HoldsManyTrees) {
  SubtreeTable table(1);
  std::vector<uint32_t> chain = {table.Add(0, {})};
  for (uint32_t i = 0; i < 20'000; ++i) chain.push_back(table.Add(0, std::vector{chain.back()}));
  EXPECT_EQ(table.size(), chain.size());
  EXPECT_EQ(table.Nodes(chain.back()), chain.size());
  EXPECT_EQ(table.Add(0, std::vector{chain[77]}), chain[78]);
}

// Leaves a, b, c and d, of which all but d are tokens; "a b" is one, and x(a a).
class GrammarParse : public testing::Test {
 protected:
  static constexpr uint32_t kA = kFallbacks, kB = kA + 1, kC = kA + 2, kAb = kA + 3, kX = kA + 4;

  GrammarParse() {
    SubtreeTable table(5);
    for (uint32_t label = 0; label < 4; ++label) leaf_.push_back(table.Add(label, {}));
    x_ = table.Add(4, std::vector{leaf_[0], leaf_[0]});
    y_ = table.Add(4, std::vector{leaf_[3]});
    std::vector<TokenShape> shapes(kFallbacks);
    for (uint32_t label = 0; label < 3; ++label) {
      shapes.push_back({TokenKind::kLabel, label, {}});
    }
    shapes.push_back({TokenKind::kSiblings, kNone, {leaf_[0], leaf_[1]}});
    shapes.push_back({TokenKind::kSubtree, kNone, {x_}});
    grammar_.emplace(std::move(table), std::move(shapes), 5);
  }

  // "token x times, ..." of letters for leaves, x and y.
  std::string Parsed(const std::string& letters, const std::vector<Places>& places = {},
                     uint32_t below = kNone) {
    std::vector<uint32_t> trees;
    for (const char c : letters) {
      trees.push_back(c == 'x' ? x_ : c == 'y' ? y_ : c == '?' ? kNone : leaf_[c - 'a']);
    }
    Grammar::Scratch scratch;
    std::vector<Piece> pieces;
    grammar_->Parse(trees, places, below, scratch, pieces);
    std::string text;
    uint32_t next = 0;
    for (const Piece& piece : pieces) {
      EXPECT_EQ(piece.first, next);
      next += piece.items;
      const std::string token = piece.token == kNone ? letters.substr(piece.first, piece.items)
                                : piece.token == kAb ? "ab"
                                : piece.token == kX
                                    ? "X"
                                    : std::string(1, static_cast<char>('A' + piece.token - kA));
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", token,
                          piece.times > 1 ? fmt::format("*{}", piece.times) : "");
    }
    EXPECT_EQ(next, letters.size());
    return text;
  }

  std::vector<uint32_t> leaf_;
  uint32_t x_ = 0, y_ = 0;
  std::optional<Grammar> grammar_;
};

TEST_F(GrammarParse, TakesTheLeastSymbols) {
  EXPECT_EQ(Parsed(""), "");
  EXPECT_EQ(Parsed("a"), "A");
  EXPECT_EQ(Parsed("ab"), "ab");
  EXPECT_EQ(Parsed("ba"), "B A");
  EXPECT_EQ(Parsed("cabc"), "C ab C");
  EXPECT_EQ(Parsed("xc"), "X C");
  EXPECT_EQ(Parsed("aab"), "A ab");
}

TEST_F(GrammarParse, PutsRepeatsTogether) {
  // A number is a symbol too: two may stand beside each other as well as "2 times".
  EXPECT_EQ(Parsed("ccc"), "C*3");
  EXPECT_EQ(Parsed("xxxx"), "X*4");
  EXPECT_EQ(Parsed("ababab"), "ab*3");
  EXPECT_EQ(Parsed("cabababc"), "C ab*3 C");
  EXPECT_EQ(Parsed("abababa"), "ab*3 A");
  EXPECT_EQ(Parsed("ccccababab"), "C*4 ab*3");
}

TEST_F(GrammarParse, WritesTheUnknownOneByOne) {
  EXPECT_EQ(Parsed("d"), "d");
  EXPECT_EQ(Parsed("dd"), "d d");
  EXPECT_EQ(Parsed("y"), "y");
  EXPECT_EQ(Parsed("yyx"), "y y X");
  EXPECT_EQ(Parsed("a?b"), "A ? B");
  EXPECT_EQ(Parsed("??"), "? ?");
  EXPECT_EQ(grammar_->CostOfTree(leaf_[0]), 1U);
  EXPECT_EQ(grammar_->CostOfTree(leaf_[3]), 2U) << "with its label";
  EXPECT_EQ(grammar_->CostOfTree(x_), 1U);
  EXPECT_EQ(grammar_->CostOfTree(y_), 4U);
}

TEST_F(GrammarParse, TakesOnlyTokensBelow) {
  EXPECT_EQ(Parsed("ab", {}, kAb), "A B");
  EXPECT_EQ(Parsed("ab", {}, kX), "ab");
  EXPECT_EQ(Parsed("x", {}, kX), "x");
  EXPECT_EQ(Parsed("xa", {}, kX), "x A");
  EXPECT_EQ(Parsed("abab", {}, kB), "A b A b");
}

TEST_F(GrammarParse, JoinsOnlyWhatLiesInOnePlace) {
  const Places one = {0, kNone, kNone}, other = {1, kNone, kNone}, stream = {kNone, 5, kNone};
  EXPECT_EQ(Parsed("ab", {one, one}), "ab");
  EXPECT_EQ(Parsed("ab", {one, other}), "A B");
  EXPECT_EQ(Parsed("ab", {one, stream}), "ab");
  EXPECT_EQ(Parsed("ab", {{0, 4, kNone}, stream}), "A B");
  EXPECT_EQ(Parsed("ab", {{0, kNone, 1}, {0, kNone, 2}}), "A B");
  EXPECT_EQ(Parsed("ab", {{0, kNone, 1}, one}), "ab");
  // Repeats lie in the same place, each of them.
  EXPECT_EQ(Parsed("cccccc", {one, one, one, other, other, other}), "C*3 C*3");
  EXPECT_EQ(Parsed("ababababab", {one, one, one, one, one, one, other, other, one, one}),
            "ab*3 ab ab");
}

TEST_F(GrammarParse, CoversAnyListAtNoMoreThanOneByOne) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string letters;
    for (size_t k = random() % 20; k > 0; --k) letters += "abcdxy?"[random() % 7];
    std::vector<Places> places;
    for (size_t k = 0; k < letters.size(); ++k) {
      places.push_back({static_cast<uint32_t>(random() % 2), kNone, kNone});
    }
    const std::string parsed = Parsed(letters, random() % 2 == 0 ? places : std::vector<Places>());
    std::string said;
    for (size_t at = 0; at < parsed.size();) {
      const size_t end = std::min(parsed.find(' ', at), parsed.size());
      std::string piece = parsed.substr(at, end - at);
      const size_t star = piece.find('*');
      const int times = star == piece.npos ? 1 : std::stoi(piece.substr(star + 1));
      for (int k = 0; k < times; ++k) said += piece.substr(0, star);
      at = end + 1;
    }
    for (char& c : said) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(said, letters) << parsed;
  }
}

TEST_F(GrammarParse, DefinesTokensByThoseBelow) {
  SubtreeTable table(2);
  const uint32_t a = table.Add(0, {});
  const uint32_t inner = table.Add(1, std::vector{a, a, a, a});
  const uint32_t outer = table.Add(1, std::vector{inner, inner, inner, a});
  std::vector<TokenShape> shapes(kFallbacks);
  shapes.push_back({TokenKind::kLabel, 0, {}});
  shapes.push_back({TokenKind::kSubtree, kNone, {inner}});
  shapes.push_back({TokenKind::kSubtree, kNone, {outer}});
  const Grammar grammar(std::move(table), shapes, 2);
  const std::vector<Item> items = grammar.Define(shapes.back(), kFallbacks + 2);
  ASSERT_EQ(items.size(), 3U);
  EXPECT_EQ(items[0], (Item{kNone, 1, 1, 2, kNone}));
  EXPECT_EQ(items[1], (Item{kFallbacks + 1, kNone, 3, 0, kNone}));
  EXPECT_EQ(items[2], (Item{kFallbacks, kNone, 1, 0, kNone}));
}

}  // namespace
}  // namespace telltale::tokens
