#include "readers/kineto/event_fields.h"

#include <optional>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace telltale::kineto {
namespace {

// All that was read, as text; nothing where the element was refused.
std::optional<std::string> Shown(EventFieldReader& reader, std::string_view element) {
  EventFields fields;
  if (!reader.Read(element, fields)) return {};
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", fields.phase,
                     fields.category_name, fields.category != nullptr ? fields.category->name : "-",
                     fields.name, fields.pid, fields.tid, fields.time, fields.duration, fields.id,
                     fields.correlation, fields.external_id, fields.group_name, fields.grid[0],
                     fields.block[2], fields.has_grid);
}

TEST(EventFields, AreReadByTheShapeOfEarlierEvents) {
  EventFieldReader reader;
  const auto event = [](const char* name, const char* correlation) {
    return fmt::format(
        R"({{"ph": "X", "cat": "kernel", "name": "{}", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2,
             "args": {{"grid": [1, 2, 3], "correlation": {}, "more": [{{}}]}}}})",
        name, correlation);
  };
  EXPECT_EQ(Shown(reader, event("a", "1")), "X|kernel|kernel|a|0|7|1.5|2||1|||1|0|true");
  EXPECT_EQ(Shown(reader, event("b\\\" c", "\"2\"")),
            "X|kernel|kernel|b\\\" c|0|7|1.5|2||2|||1|0|true");
  // Nested where a text was: left out, as if it were the first event.
  EXPECT_EQ(Shown(reader, event("d", "[3]")), "X|kernel|kernel|d|0|7|1.5|2|||||1|0|true");
  EXPECT_EQ(Shown(reader, event("e", "")), std::nullopt);
  EXPECT_EQ(Shown(reader, event("f", "4") + "x"), std::nullopt);
  EXPECT_EQ(Shown(reader, event("g", "5")), "X|kernel|kernel|g|0|7|1.5|2||5|||1|0|true");
}

// Whatever came before, an event reads as it does on its own.
TEST(EventFields, DoNotDependOnWhatCameBefore) {
  std::mt19937 random(11);
  const auto one_of = [&](std::initializer_list<const char*> texts) {
    return std::string(texts.begin()[random() % texts.size()]);
  };
  EventFieldReader reader;
  for (int round = 0; round < 20'000; ++round) {
    const auto value = [&] {
      return one_of({"1", "12.5", "\"x\"", "\"y\\\"z\"", "{}", "[1,2,3]", "[]", "null", "-1", "",
                     " 7", "NaN", "\"", "{\"a\":1}"});
    };
    const auto space = [&] { return one_of({"", "", "", " ", "\n"}); };
    std::string element = "{";
    const auto count = random() % 5;
    for (size_t i = 0; i <= count; ++i) {
      element +=
          space() + "\"" + one_of({"ph", "cat", "name", "ts", "args", "id", "other"}) + "\":";
      element += space();
      if (random() % 3 == 0) {
        element += "{\"" + one_of({"grid", "block", "correlation", "External id", "else"}) +
                   "\":" + value() + "}";
      } else {
        element += one_of({"\"X\"", "\"kernel\"", "\"C\"", "5"});
        if (random() % 8 == 0) element += value();
      }
      element += one_of({",", ",", ",", "", ",,"});
    }
    element += "}";
    EventFieldReader fresh;
    ASSERT_EQ(Shown(reader, element), Shown(fresh, element)) << element;
  }
}

}  // namespace
}  // namespace telltale::kineto
