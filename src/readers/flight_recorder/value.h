#pragma once

// What a dump holds before we know what it means: the values of a pickle or of JSON. Values belong
// to their tree; the same one may be in several places, and a hostile pickle may put one into
// itself, so nothing may go down without a bound.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace telltale::flight_recorder {

struct Value {
  enum class Kind { kNone, kBool, kInteger, kReal, kText, kList, kDict };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // of kBool: 0 or 1
  double real = 0;
  std::string text;
  std::vector<const Value*> items;  // of kDict: keys and values in turn

  // The value of a key, or null.
  const Value* Find(std::string_view key) const;
  std::optional<int64_t> Integer() const;
  std::string_view Text() const;  // empty where it is none
  // As JSON, for lists of sizes and types; null where it is deeper or longer than those are.
  std::optional<std::string> ShortText() const;
};

class ValueTree {
 public:
  // Null where there are too many.
  Value* Add(Value::Kind kind);
  const Value* root = nullptr;
  std::string damage;  // why the text ends before its time; empty if it does not

 private:
  static constexpr size_t kMostValues = size_t{1} << 23;
  std::deque<Value> values_;
};

}  // namespace telltale::flight_recorder
