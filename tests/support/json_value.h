#pragma once

// A small strict JSON reader for tests, so that what the readers give can be held against a reading
// of the same bytes that shares no code with them. Numbers keep their text.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::test {

struct JsonMember;

struct JsonValue {
  enum Type { kNull, kBool, kNumber, kString, kArray, kObject };
  Type type = kNull;
  std::string text;  // of a number as written, of a string decoded, "true" or "false"
  std::vector<JsonValue> items;
  std::vector<JsonMember> members;

  // The member of that name; nullptr if there is none.
  const JsonValue* Find(std::string_view name) const;
  // The text of the member of that name, which must be there.
  const std::string& operator[](std::string_view name) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

// Nothing when `text` is not exactly one JSON value.
std::optional<JsonValue> ParseJson(std::string_view text);

}  // namespace telltale::test
