#include "readers/log/template_merge.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "readers/log/template_text.h"

namespace telltale::log {
namespace {

std::vector<std::string> Merged(std::vector<std::string> texts) {
  return MergeTemplates(texts).texts;
}

using Texts = std::vector<std::string>;

TEST(TemplateMerge, TwoWordsAreTwoStatements) {
  const Texts texts = {"Connected all rings", "Connected all trees"};
  EXPECT_EQ(Merged(texts), texts);
}

TEST(TemplateMerge, SeveralWordsAreValues) {
  EXPECT_EQ(Merged({"signal <*> sent to process alice", "signal <*> sent to process bob",
                    "signal <*> sent to process carol"}),
            Texts{"signal <*> sent to process <*>"});
}

TEST(TemplateMerge, WhatLooksLikeAValueIsOne) {
  EXPECT_EQ(Merged({"pid=<*>, name=python<*>, lost", "pid='<*>', name=smi, lost"}),
            Texts{"pid=<*>, name=<*>, lost"});
  EXPECT_EQ(Merged({"Loading model gpt<*>", "Loading model acme/tiny-<*>b"}),
            Texts{"Loading model <*>"});
  EXPECT_EQ(Merged({"memory in use: <*>GiB(<*>%)", "memory in use: <*>MiB(<*>%)"}),
            Texts{"memory in use: <*>(<*>%)"});
}

TEST(TemplateMerge, FieldsThatAreNotAlwaysThere) {
  EXPECT_EQ(Merged({"Engine <*>: Running: <*> reqs, Waiting: <*> reqs, usage: <*>%",
                    "Engine <*>: Running: <*> reqs, Waiting: <*> reqs, Preemptions: <*>, "
                    "usage: <*>%",
                    "Engine <*>: Running: <*> reqs, Waiting: <*> reqs, usage: <*>%, more: <*>%"}),
            Texts{"Engine <*>: Running: <*> reqs, Waiting: <*> reqs,<*> usage: <*>%<*>"});
}

TEST(TemplateMerge, ErrorTexts) {
  EXPECT_EQ(Merged({"Call to bind failed : Address already in use",
                    "Call to bind failed : No space left on device"}),
            Texts{"Call to bind failed : <*>"});
}

TEST(TemplateMerge, GroupsDoNotDependOnTheOrder) {
  Texts texts = {"a <*>",
                 "Loading model x/y now",
                 "Loading model x_z now",
                 "Connected all rings",
                 "Connected all trees",
                 "pid=<*>, lost",
                 "pid=none, lost",
                 "a <*>",
                 "",
                 "<*>"};
  const MergedTemplates expected = MergeTemplates(texts);
  std::vector<std::pair<std::string, uint32_t>> by_text;
  for (size_t i = 0; i < texts.size(); ++i) by_text.emplace_back(texts[i], expected.groups[i]);
  std::sort(texts.begin(), texts.end());
  std::sort(by_text.begin(), by_text.end());
  do {
    const MergedTemplates merged = MergeTemplates(texts);
    ASSERT_EQ(merged.texts, expected.texts);
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto place = std::lower_bound(by_text.begin(), by_text.end(),
                                          std::pair<std::string, uint32_t>(texts[i], 0));
      ASSERT_EQ(merged.groups[i], place->second);
    }
  } while (std::next_permutation(texts.begin() + 4, texts.end()));
}

TEST(TemplateMerge, NothingGivesNothing) {
  EXPECT_TRUE(MergeTemplates({}).texts.empty());
  EXPECT_TRUE(MergeTemplates({}).groups.empty());
}

TEST(TemplateMerge, ManyLongTextsEnd) {
  Texts texts;
  for (int i = 0; i < 3000; ++i) {
    std::string text = "Some, words, that begin: ";
    for (int j = 0; j < 200 + i % 50; ++j) {
      text += static_cast<char>('g' + (i * 7 + j * j) % 19);
      text += j % 3 == 0 ? ", " : " ";
    }
    texts.push_back(text);
  }
  EXPECT_EQ(MergeTemplates(texts).groups.size(), texts.size());
}

TEST(TemplateParameters, InOrder) {
  using Parameters = std::vector<std::string_view>;
  EXPECT_EQ(TemplateParameters("step: <*> loss: <*>", "step:  1  loss: -2.5"),
            (Parameters{"1", "-2.5"}));
  EXPECT_EQ(TemplateParameters("pid=<*>, name=<*>,", "pid=7, name=a b,"), (Parameters{"7", "a b"}));
  EXPECT_EQ(TemplateParameters("reqs,<*> usage: <*>%<*>", "reqs, usage: 3%"),
            (Parameters{"", "3", ""}));
  EXPECT_EQ(TemplateParameters("reqs,<*> usage: <*>%", "reqs,  lost: 4,\tusage: 3%"),
            (Parameters{"  lost: 4,", "3"}));
  EXPECT_EQ(TemplateParameters("<*>", "  any thing "), (Parameters{"any thing"}));
  EXPECT_EQ(TemplateParameters("a <*> b", "a b"), Parameters{});
  EXPECT_EQ(TemplateParameters("a <*>", "b 3"), Parameters{});
  EXPECT_EQ(TemplateParameters("plain", "plain"), Parameters{});
  EXPECT_TRUE(FitsTemplate("plain", " plain "));
  EXPECT_FALSE(FitsTemplate("a<*>a", "a"));
}

TEST(TemplateParameters, LinearInTheWorstCase) {
  const std::string text =
      "<*>" + std::string(4000, 'a') + "b<*>" + std::string(4000, 'a') + "c<*>x";
  EXPECT_FALSE(FitsTemplate(text, std::string(4 << 20, 'a')));
}

}  // namespace
}  // namespace telltale::log
