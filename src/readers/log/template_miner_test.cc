#include "readers/log/template_miner.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "readers/log/template_text.h"
#include "simulate/random.h"

namespace telltale::log {
namespace {

TEST(TemplateMiner, NumbersAreDenseAndLinesAreCounted) {
  TemplateMiner miner;
  EXPECT_EQ(miner.Add("step: 1 loss: 2.5"), 0u);
  EXPECT_EQ(miner.Add("Training completed"), 1u);
  EXPECT_EQ(miner.Add("step: 2  loss: 1,000.25"), 0u);
  EXPECT_EQ(miner.size(), 2u);
  EXPECT_EQ(miner.Text(0), "step: <*> loss: <*>");
  EXPECT_EQ(miner.lines(0), 2u);
  EXPECT_EQ(miner.lines(1), 1u);
}

TEST(TemplateMiner, MatchDoesNotLearn) {
  TemplateMiner miner;
  EXPECT_EQ(miner.Match("step: 1"), std::nullopt);
  EXPECT_EQ(miner.size(), 0u);
  miner.Add("step: 1");
  EXPECT_EQ(miner.Match("step: 2"), 0u);
  EXPECT_EQ(miner.Match("stop: 2"), std::nullopt);
  EXPECT_EQ(miner.lines(0), 1u);
}

// Two-letter words, so that nothing but the words tells the messages apart.
std::string Word(size_t number) {
  return {static_cast<char>('g' + number % 20), static_cast<char>('g' + number / 20 % 20),
          static_cast<char>('g' + number / 400 % 20)};
}

TEST(TemplateMiner, ManyFormsOfAGroupShareATemplate) {
  TemplateMiner miner;
  for (size_t i = 0; i < 1000; ++i) miner.Add("the name of user " + Word(i) + " was refused");
  EXPECT_EQ(miner.size(), kFormsOfGroup + 1);
  EXPECT_EQ(miner.Text(kFormsOfGroup), "the name of user <*> was refused");
  EXPECT_EQ(miner.lines(kFormsOfGroup), 1000 - kFormsOfGroup);
  EXPECT_EQ(miner.Match("the name of user zzz was refused"), kFormsOfGroup);
  EXPECT_EQ(miner.Match("the name of host zzz was refused"), std::nullopt);
}

TEST(TemplateMiner, IsBounded) {
  TemplateOptions options;
  options.max_templates = 10;
  TemplateMiner miner(options);
  for (size_t i = 0; i < 1000; ++i) EXPECT_LT(miner.Add(Word(i) + " " + Word(i + 1)), 10u);
  EXPECT_EQ(miner.size(), 10u);
  EXPECT_EQ(miner.Text(9), "<*>");
  EXPECT_EQ(miner.lines(9), 991u);
  EXPECT_EQ(miner.AddTemplate("another", 5), 9u);
  options.max_templates = 0;
  EXPECT_EQ(TemplateMiner(options).Add("a"), 0u);
}

TEST(TemplateMiner, TakesUpKeptTemplates) {
  TemplateMiner miner;
  EXPECT_EQ(miner.AddTemplate("All <*> connected", 7), 0u);
  EXPECT_EQ(miner.AddTemplate("Running: <*> reqs,<*> usage: <*>%", 3), 1u);
  EXPECT_EQ(miner.AddTemplate("<*> comm <*> Init", 1), 2u);
  EXPECT_EQ(miner.AddTemplate("All <*> connected", 3), 0u);
  EXPECT_EQ(miner.Add("All rings connected"), 0u);
  EXPECT_EQ(miner.Add("All rings now connected"), 3u);
  EXPECT_EQ(miner.Add("Running: 3 reqs, usage: 2%"), 1u);
  EXPECT_EQ(miner.Add("Running: 3 reqs, Preemptions: 4, usage: 2.5%"), 1u);
  EXPECT_EQ(miner.Match("ncclCommSplit comm 0x3 Init"), 2u);
  EXPECT_EQ(miner.lines(0), 11u);
  EXPECT_EQ(miner.lines(1), 5u);
}

TEST(TemplateMiner, TextsTakenUpAgainGiveTheSameTemplates) {
  TemplateMiner first, second;
  const std::vector<std::string> messages = {
      "a 1 b", "saving 'x' to /y", "list [1, 2]", "mfu: 5.09%", "it's -3", "a:b=c", "[1, 2) 3"};
  for (const std::string& message : messages) first.Add(message);
  for (uint32_t i = 0; i < first.size(); ++i) second.AddTemplate(first.Text(i), first.lines(i));
  ASSERT_EQ(second.size(), first.size());
  for (const std::string& message : messages) {
    EXPECT_EQ(second.Match(message), first.Match(message)) << message;
  }
}

TEST(TemplateMiner, ARandomMessageFitsItsTemplate) {
  TemplateMiner miner;
  constexpr std::string_view kPieces[] = {
      "a", "1", " ", " ", ",", "'",  "\"", "{",    "}",   "[", "]",  "(",  ":",  "=", "-",
      "+", ".", "/", "<", ">", "0x", "e",  "True", "<*>", "%", "  ", "\t", "\\", "_", "HTTP/1.1"};
  for (uint64_t i = 0; i < 30000; ++i) {
    std::string message;
    for (uint64_t j = 0; j < simulate::RandomBits(1, i) % 24; ++j) {
      message += kPieces[simulate::RandomBits(2, i, j) % std::size(kPieces)];
    }
    const uint32_t number = miner.Add(message);
    ASSERT_LT(number, miner.size());
    ASSERT_EQ(miner.Match(message), number);
    // Its own form stands for it, unless it literally has marks of its own.
    if (message.find("<*>") == message.npos) {
      ASSERT_TRUE(FitsTemplate(miner.Text(number), message)) << message << "\n"
                                                             << miner.Text(number);
    }
  }
}

TEST(TemplateMiner, RandomBytesAreHarmless) {
  TemplateMiner miner;
  for (uint64_t i = 0; i < 20000; ++i) {
    std::string message(simulate::RandomBits(3, i) % 64, ' ');
    for (size_t j = 0; j < message.size(); ++j) {
      message[j] = static_cast<char>(simulate::RandomBits(4, i, j));
    }
    const uint32_t number = miner.Add(message);
    ASSERT_LT(number, miner.size());
  }
  uint64_t lines = 0;
  for (uint32_t i = 0; i < miner.size(); ++i) lines += miner.lines(i);
  EXPECT_EQ(lines, 20000u);
}

}  // namespace
}  // namespace telltale::log
