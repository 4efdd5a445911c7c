#include "tokens/vocabulary.h"

#include <chrono>

#include <gtest/gtest.h>

#include "tests/support/random_trees.h"
#include "tokens/learn.h"

namespace telltale::tokens {
namespace {

constexpr uint32_t kA = kFallbacks, kB = kA + 1, kAb = kA + 2;

// Labels a and b as tokens, "a b" as one, and a(a b a a).
Vocabulary Small() {
  Vocabulary vocabulary;
  vocabulary.steps = 3;
  vocabulary.nodes = 40;
  vocabulary.labels = {{EventKind::kOperator, ParentBasis::kNesting, Place::kThread, "a"},
                       {EventKind::kKernel, ParentBasis::kCorrelation, Place::kStream, "b"}};
  vocabulary.tokens.resize(kFallbacks);
  vocabulary.tokens.push_back({TokenKind::kLabel, {{kNone, 0, 1, 0, 0}}});
  vocabulary.tokens.push_back({TokenKind::kLabel, {{kNone, 1, 1, 0, 1}}});
  vocabulary.tokens.push_back({TokenKind::kSiblings, {{kA}, {kB}}});
  vocabulary.tokens.push_back(
      {TokenKind::kSubtree, {{kNone, 0, 1, 2, 2}, {kAb}, {kA, kNone, 2, 0, kNone}}});
  vocabulary.slots = {{5, 1, "a1"}, {-1, 0, ""}, {9, -9, "a2"}};
  return vocabulary;
}

// What is wrong with it, as a file or as a grammar.
std::string FaultOf(const Vocabulary& vocabulary) {
  auto read = ParseVocabulary(VocabularyText(vocabulary));
  if (!read) return read.error().message;
  const auto codec = Codec::Make(std::move(*read));
  return codec ? "" : codec.error().message;
}

std::string TextFault(const std::string& text) {
  const auto vocabulary = ParseVocabulary(text);
  return vocabulary ? "" : vocabulary.error().message;
}

std::string WithReplaced(std::string text, std::string_view from, std::string_view to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

testing::AssertionResult Tells(const std::string& message, const std::string& what) {
  if (message.find(what) != message.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << message << "\" does not tell of " << what;
}

TEST(Vocabulary, IsReadAsItWasWritten) {
  const Vocabulary vocabulary = Small();
  const auto read = ParseVocabulary(VocabularyText(vocabulary));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->labels, vocabulary.labels);
  EXPECT_EQ(read->tokens, vocabulary.tokens);
  EXPECT_EQ(read->slots, vocabulary.slots);
  EXPECT_EQ(read->steps, 3U);
  EXPECT_EQ(read->nodes, 40U);
  EXPECT_EQ(DigestOf(*read), DigestOf(vocabulary));
  EXPECT_EQ(DigestOf(vocabulary).size(), 32U);
  EXPECT_EQ(VocabularyText(*read), VocabularyText(vocabulary));
  EXPECT_EQ(vocabulary.DictionarySymbols(), 2U + 4U) << "a number of times is a symbol too";
}

TEST(Vocabulary, ExpandsItsTokens) {
  const auto codec = Codec::Make(Small());
  ASSERT_TRUE(codec) << codec.error().message;
  const Expansion& expansion = codec->grammar().ExpansionOf(kAb + 1);
  EXPECT_EQ(expansion.label, (std::vector<uint32_t>{0, 0, 1, 0, 0}));
  EXPECT_EQ(expansion.parent, (std::vector<uint32_t>{kNone, 0, 0, 0, 0}));
  EXPECT_EQ(expansion.slot, (std::vector<uint32_t>{2, 0, 1, 0, 0}));
  EXPECT_EQ(codec->grammar().ExpansionOf(kAb).parent, (std::vector<uint32_t>{kNone, kNone}));
  EXPECT_EQ(codec->grammar().expanded_events(), 1U + 1U + 2U + 5U);
  EXPECT_TRUE(codec->HoldsThread(kAb));
  EXPECT_TRUE(codec->HoldsStream(kAb));
  EXPECT_FALSE(codec->HoldsStream(kA));
  EXPECT_EQ(codec->SlotOfLabel(1), 1U);
  EXPECT_EQ(codec->SlotOfLabel(2), kNone);
}

TEST(Vocabulary, OtherFilesAreNone) {
  const std::string text = VocabularyText(Small());
  for (const std::string other : {"", "{", "vocabulary", "\xff\xfe"}) {
    EXPECT_TRUE(Tells(TextFault(other), "not valid JSON")) << other;
  }
  EXPECT_TRUE(Tells(TextFault(text.substr(0, text.size() / 2)), "not valid JSON"));
  EXPECT_TRUE(Tells(TextFault(text + text), "not valid JSON"));
  for (const std::string other :
       {"{}", "[]", "7", "null", R"({"schema":7})", R"({"schema":"telltale/chain/1"})"}) {
    EXPECT_TRUE(Tells(TextFault(other), "tokens train")) << other;
  }
  EXPECT_TRUE(Tells(TextFault(WithReplaced(text, "vocabulary/1", "vocabulary/2")),
                    "telltale/vocabulary/2"));
}

TEST(Vocabulary, AChangedOneIsNotTaken) {
  const std::string text = VocabularyText(Small());
  const std::vector<std::pair<std::string, std::string>> changes = {
      {R"("text":"a")", R"("text":"c")"},
      {R"("times":2)", R"("times":3)"},
      {R"("duration_ns":5)", R"("duration_ns":6)"},
      {R"("gap_ns":-9)", R"("gap_ns":9)"},
      {R"("name":"a2")", R"("name":"a3")"},
      {R"("steps":3)", R"("steps":4)"},
      {R"("kernel")", R"("memcpy")"},
      {R"("nesting")", R"("none")"}};
  for (const auto& [from, to] : changes) {
    EXPECT_TRUE(Tells(TextFault(WithReplaced(text, from, to)), "changed")) << from;
  }
  EXPECT_TRUE(
      Tells(TextFault(WithReplaced(text, DigestOf(Small()), std::string(32, '0'))), "changed"));
  EXPECT_EQ(TextFault(WithReplaced(text, "\n", " \n\n ")), "") << "space between means nothing";
}

TEST(Vocabulary, MissingAndWrongMembersAreNamed) {
  const std::string text = VocabularyText(Small());
  for (const std::string name :
       {"learned_from", "steps", "events", "labels", "tokens", "kind", "basis", "place", "text",
        "items", "label", "children", "duration_ns", "gap_ns", "digest"}) {
    const std::string key = "\"" + name + "\":";
    EXPECT_TRUE(Tells(TextFault(WithReplaced(text, key, "\"x\":")), name));
  }
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {R"("kind":"operator")", R"("kind":"operation")"},
      {R"("place":"thread")", R"("place":4)"},
      {R"("label":0)", R"("label":-1)"},
      {R"("label":0)", R"("label":4294967295)"},
      {R"("token":13)", R"("token":4294967295)"},
      {R"("token":13)", R"("token":"13")"},
      {R"("times":2)", R"("times":4294967296)"},
      {R"("duration_ns":5)", R"("duration_ns":9223372036854775808)"},
      {R"("name":"a1")", R"("name":1)"},
      {R"("items":[)", R"("items":7,"x":[)"}};
  for (const auto& [from, to] : wrong) {
    EXPECT_TRUE(Tells(TextFault(WithReplaced(text, from, to)), "makes no sense")) << to;
  }
}

TEST(Vocabulary, DefinitionsMustMakeSense) {
  const auto changed = [](auto change) {
    Vocabulary vocabulary = Small();
    change(vocabulary);
    return FaultOf(vocabulary);
  };
  EXPECT_EQ(FaultOf(Small()), "");
  const auto item = [](Vocabulary& vocabulary, size_t number) -> Item& {
    return vocabulary.tokens[kAb + 1].items[number];
  };
  for (const uint32_t upward : {kAb + 1, kAb + 2, 0U, kFallbacks - 1}) {
    EXPECT_TRUE(Tells(changed([&](Vocabulary& v) { item(v, 1).token = upward; }), "refers to"));
  }
  Vocabulary never = Small();  // a file says only times above 1
  item(never, 2).times = 0;
  EXPECT_FALSE(Codec::Make(std::move(never)));
  EXPECT_TRUE(Tells(changed([&](Vocabulary& v) { item(v, 0).label = 2; }), "no label 2"));
  EXPECT_TRUE(Tells(changed([&](Vocabulary& v) { item(v, 0).children = 3; }), "missing"));
  EXPECT_NE(changed([&](Vocabulary& v) { item(v, 0).children = 1; }), "") << "two on top";
  EXPECT_NE(changed([&](Vocabulary& v) { item(v, 0).times = 2; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kAb].kind = TokenKind::kSubtree; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kAb + 1].kind = TokenKind::kSiblings; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kAb + 1].kind = TokenKind::kLabel; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kA].kind = TokenKind::kFallback; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[0].kind = TokenKind::kSiblings; }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kA].items.clear(); }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens[kAb].items.clear(); }), "");
  EXPECT_NE(changed([](Vocabulary& v) { v.tokens.resize(kFallbacks - 1); }), "");
  EXPECT_TRUE(Tells(changed([](Vocabulary& v) { v.labels[1] = v.labels[0]; }), "twice"));
  EXPECT_TRUE(Tells(changed([](Vocabulary& v) { v.tokens[kAb].items[0].times = 1000; }),
                    "too many siblings"));
  EXPECT_EQ(changed([](Vocabulary& v) { v.tokens.resize(kFallbacks); }), "");
}

// A subtree is several events: one event is what its label's token is for, and where names are
// expected counts on it.
TEST(Vocabulary, ASubtreeOfOneEventIsNone) {
  Vocabulary vocabulary = Small();
  vocabulary.tokens.push_back({TokenKind::kSubtree, {{kNone, 0, 1, 0, 3}}});
  vocabulary.slots.push_back({});
  EXPECT_NE(FaultOf(vocabulary), "");
}

TEST(Vocabulary, TokensThatDoubleAreRefusedSoon) {
  Vocabulary vocabulary = Small();
  for (uint32_t i = 0; i < 64; ++i) {
    const auto slot = static_cast<uint32_t>(vocabulary.slots.size());
    const auto before = static_cast<uint32_t>(vocabulary.tokens.size() - 1);
    vocabulary.slots.push_back({});
    vocabulary.tokens.push_back(
        {TokenKind::kSubtree, {{kNone, 0, 1, 1, slot}, {before, kNone, 2, 0, kNone}}});
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(Tells(FaultOf(vocabulary), "events"));
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 10.0);
}

// Some hundred bytes that say "a b" so often: reading them takes no more than linear time.
TEST(Vocabulary, LongRepeatsAreReadSoon) {
  Vocabulary vocabulary = Small();
  Item& repeated = vocabulary.tokens[kAb + 1].items[1];
  repeated.times = 200'000;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(FaultOf(vocabulary), "");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  EXPECT_LT(taken.count(), 10.0);
}

TEST(Vocabulary, ANumberThatIsTooLargeIsRefusedAtOnce) {
  for (const size_t number : {0, 1, 2}) {
    Vocabulary vocabulary = Small();
    Item& item = vocabulary.tokens[kAb + 1].items[number];
    item.times = kNone - 1;
    EXPECT_NE(FaultOf(vocabulary), "");
  }
  Vocabulary vocabulary = Small();
  vocabulary.tokens[kAb + 1].items[0].children = kNone - 1;
  EXPECT_NE(FaultOf(vocabulary), "");
}

TEST(Vocabulary, AnyDamageIsAnErrorOrTheSame) {
  const auto learned = LearnVocabulary(test::RandomTrees(3, 10), {60, 1});
  ASSERT_TRUE(learned);
  const std::string text = VocabularyText(learned->vocabulary());
  for (size_t i = 0; i < text.size(); i += 1 + text.size() / 500) {
    EXPECT_NE(TextFault(text.substr(0, i)), "") << i;
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const auto read = ParseVocabulary(damaged);
    EXPECT_TRUE(!read || DigestOf(*read) == learned->digest()) << i;
  }
}

}  // namespace
}  // namespace telltale::tokens
