#include "readers/kineto/trace_splitter.h"

#include <random>

#include <gtest/gtest.h>

namespace telltale::kineto {
namespace {

struct Split {
  std::vector<std::string> events;
  std::string members;
  uint64_t broken = 0;
  uint64_t first_broken = 0;
  bool cut = false, cut_event = false, found = false;
};

Split SplitText(const std::string& text, size_t window_bytes = 1 << 20) {
  const auto stream = MemoryStream(text);
  TraceSplitter splitter(*stream, window_bytes);
  Split split;
  EventWindow window;
  while (true) {
    const auto more = splitter.Next(window);
    EXPECT_TRUE(more);
    if (!more || !*more) break;
    EXPECT_EQ(window.first_position, split.events.size());
    for (const ElementBounds& element : window.elements) {
      split.events.emplace_back(window.bytes.data() + element.begin, element.end - element.begin);
    }
  }
  split.members = splitter.Members();
  split.broken = splitter.broken_events();
  split.first_broken = splitter.first_broken_position();
  split.cut = splitter.cut();
  split.cut_event = splitter.cut_event();
  split.found = splitter.found_events();
  return split;
}

using Strings = std::vector<std::string>;

TEST(TraceSplitter, TakesMembersAndEventsApart) {
  const Split split = SplitText(
      R"( {"a": [1, {"traceEvents": []}], "traceEvents": [ {"ph":"X"} , {"ph":"i","x":"]}"} ], "b":"c"} )");
  EXPECT_EQ(split.events, (Strings{R"({"ph":"X"})", R"({"ph":"i","x":"]}"})"}));
  EXPECT_EQ(split.members, R"({"a": [1, {"traceEvents": []}],"b":"c"})");
  EXPECT_FALSE(split.cut);
  EXPECT_EQ(split.broken, 0U);
}

TEST(TraceSplitter, TakesABareArray) {
  const Split split = SplitText("[{\"ph\":\"X\"},\n{\"ph\":\"M\"}]");
  EXPECT_EQ(split.events.size(), 2U);
  EXPECT_FALSE(split.cut);
}

TEST(TraceSplitter, TakesTrailingCommasAndEmptyArrays) {
  EXPECT_EQ(SplitText(R"({"traceEvents":[{"ph":"X"},]})").events.size(), 1U);
  EXPECT_EQ(SplitText(R"({"traceEvents":[]})").events.size(), 0U);
  EXPECT_TRUE(SplitText(R"({"traceEvents":[]})").found);
  EXPECT_FALSE(SplitText(R"({"a":1})").found);
  EXPECT_FALSE(SplitText("").found);
}

// Brackets that are missing at the end of one event cost that event.
TEST(TraceSplitter, GoesOnBehindMissingBrackets) {
  for (const char* broken :
       {R"({"ph":"X","v":2)", R"({"ph":"X","args":{"v":2)", R"({"ph":"X","args":[2})"}) {
    const Split split = SplitText(std::string(R"({"traceEvents":[{"ph":"X","v":1},)") + broken +
                                  R"(,{"ph":"X","v":3},{"ph":"X","v":4}],"b":2})");
    EXPECT_EQ(split.events,
              (Strings{R"({"ph":"X","v":1})", R"({"ph":"X","v":3})", R"({"ph":"X","v":4})"}))
        << broken;
    EXPECT_EQ(split.broken, 1U) << broken;
    EXPECT_FALSE(split.cut) << broken;
    EXPECT_EQ(split.members, R"({"b":2})") << broken;
  }
  // Deeper than brackets are told apart.
  const std::string deep =
      R"({"ph":"X","v":)" + std::string(200, '[') + std::string(200, ']') + "}";
  EXPECT_EQ(SplitText("[" + deep + "," + deep + "]").events, (Strings{deep, deep}));
}

TEST(TraceSplitter, SaysWhatIsCut) {
  const std::string text = R"({"a":1,"traceEvents":[{"ph":"X","v":1},{"ph":"X","v":2}],"b":2})";
  for (size_t size = 0; size < text.size(); ++size) {
    const Split split = SplitText(text.substr(0, size));
    const size_t first_end = text.find("1}") + 2;
    const size_t second_end = text.find("2}]") + 2;
    EXPECT_EQ(split.events.size(), (size >= first_end ? 1U : 0U) + (size >= second_end ? 1U : 0U));
    EXPECT_EQ(split.broken, 0U) << size;
    if (size > 2 && split.found) {
      EXPECT_TRUE(split.cut) << size;
    }
    const bool within =
        (size > 22 && size < first_end) || (size > first_end + 1 && size < second_end);
    EXPECT_EQ(split.cut_event, within) << size;
  }
}

// A quotation mark too many costs the event in which it is, in windows of any size, in files that
// are longer than events may be and in others.
TEST(TraceSplitter, GoesOnBehindABrokenEvent) {
  for (const int count : {2'000, 150'000}) {
    std::string text = R"({"traceEvents":[)";
    for (int i = 0; i < count; ++i) {
      text += i == 100 ? R"({"ph":"X","name":"C:"users"},)"
                       : R"({"ph":"X","name":"aten::mul","dur":1},)";
      text += "\n";
    }
    text += R"({"ph":"X"}]})";
    for (const size_t window : {size_t{4096}, size_t{1} << 20, text.size() + 1}) {
      const Split split = SplitText(text, window);
      EXPECT_EQ(split.events.size(), static_cast<size_t>(count)) << window;
      EXPECT_EQ(split.broken, 1U) << window;
      EXPECT_EQ(split.events.back(), R"({"ph":"X"})");
      EXPECT_EQ(split.first_broken, 100U) << window;
      EXPECT_FALSE(split.cut) << window;
    }
  }
}

// Events go on with the next that begins as the first one does.
TEST(TraceSplitter, GoesOnWhateverKeyEventsBeginWith) {
  for (const char* broken :
       {R"({"name":"b)", R"({"name":b","ph":"X"})", R"({"name":"b","ph":"X")"}) {
    const Split split = SplitText(std::string(R"([{"name":"a","ph":"X"},)") + broken +
                                  R"(,{"name":"c","ph":"X"},{"name":"d","ph":"X"}])");
    EXPECT_EQ(split.events, (Strings{R"({"name":"a","ph":"X"})", R"({"name":"c","ph":"X"})",
                                     R"({"name":"d","ph":"X"})"}))
        << broken;
    EXPECT_EQ(split.broken, 1U) << broken;
    EXPECT_FALSE(split.cut) << broken;
  }
}

// A bracket too many between two events costs neither, nor what stands behind the array.
TEST(TraceSplitter, GoesOnBehindABracketTooMany) {
  for (const char* between : {"],", "]", " ] ,\n", "},", "}],", "]},", "]],"}) {
    for (const bool in_object : {true, false}) {
      const std::string text = std::string(in_object ? R"({"traceEvents":)" : "") +
                               R"([{"ph":"X","v":1},{"ph":"X","v":2})" + between +
                               R"({ "ph":"X","v":3},{"ph":"X","v":4}])" +
                               (in_object ? R"(,"b":2})" : "");
      for (const size_t window : {size_t{1}, size_t{50}, text.size() + 1}) {
        const Split split = SplitText(text, window);
        EXPECT_EQ(split.events.size(), 4U) << text << window;
        EXPECT_GE(split.broken, 1U) << text << window;
        EXPECT_EQ(split.first_broken, 2U) << text << window;
        EXPECT_EQ(split.members, in_object ? R"({"b":2})" : "{}") << text << window;
        EXPECT_FALSE(split.cut) << text << window;
      }
    }
  }
}

// What has no end and holds no event is passed over up to the next one.
TEST(TraceSplitter, GoesOnBehindLongJunk) {
  const std::string junk(size_t{9} << 20, 'x');
  const std::string text =
      R"({"traceEvents":[{"ph":"X","v":1},{"name":")" + junk + R"(,{ "ph":"X","v":2},{"ph":"i"}]})";
  for (const size_t window : {size_t{64} << 10, size_t{1} << 20, text.size() + 1}) {
    const Split split = SplitText(text, window);
    EXPECT_EQ(split.events,
              (Strings{R"({"ph":"X","v":1})", R"({ "ph":"X","v":2})", R"({"ph":"i"})"}))
        << window;
    EXPECT_EQ(split.broken, 1U) << window;
  }
}

// An event that is too long to be one begins like any other, and is not met again.
TEST(TraceSplitter, EndsBehindAnEventThatIsTooLong) {
  const std::string text(size_t{33} << 20, 'x');
  const std::string good = R"({"ph":"X","v":1})";
  for (const bool is_whole : {true, false}) {
    const std::string too_long = R"({"ph":"X","name":")" + text + (is_whole ? R"("})" : "");
    for (const size_t window : {size_t{64} << 10, size_t{1} << 20}) {
      const Split last = SplitText("[" + good + "," + too_long + "]", window);
      EXPECT_EQ(last.events, Strings{good}) << window;
      EXPECT_EQ(last.broken, 1U) << window;
      const Split first = SplitText("[" + too_long + "," + good + "]", window);
      EXPECT_EQ(first.events, Strings{good}) << window;
      EXPECT_EQ(first.broken, 1U) << window;
    }
  }
}

TEST(TraceSplitter, WindowsDoNotMatter) {
  std::mt19937 random(3);
  for (int round = 0; round < 40; ++round) {
    std::string text = R"({"schemaVersion":1,"traceEvents":[)";
    Strings events;
    for (size_t i = 0; i < 1 + random() % 30; ++i) {
      std::string event = R"({"ph":"X","name":")";
      for (size_t k = 0; k < random() % 90; ++k) {
        constexpr std::string_view kBytes = R"(ab{}[],: \")";
        const char c = kBytes[random() % kBytes.size()];
        if (c == '"' || c == '\\') event += '\\';
        event += c;
      }
      event += R"(","args":{"x":[[1,2],{}]}})";
      events.push_back(event);
      text += (i > 0 ? ", " : " ") + event;
    }
    text += R"(],"end":"]"})";
    for (const size_t window : {1, 7, 64, 100, 4096}) {
      const Split split = SplitText(text, window);
      EXPECT_EQ(split.events, events);
      EXPECT_EQ(split.members, R"({"schemaVersion":1,"end":"]"})");
      EXPECT_FALSE(split.cut);
    }
  }
}

}  // namespace
}  // namespace telltale::kineto
