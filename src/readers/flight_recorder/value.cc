#include "readers/flight_recorder/value.h"

#include <fmt/format.h>

namespace telltale::flight_recorder {
namespace {

constexpr size_t kMostDepth = 8;
constexpr size_t kMostText = 4096;

bool Write(const Value& value, size_t depth, std::string& out) {
  if (out.size() > kMostText) return false;
  switch (value.kind) {
    case Value::Kind::kNone:
      out += "null";
      return true;
    case Value::Kind::kBool:
      out += value.integer != 0 ? "true" : "false";
      return true;
    case Value::Kind::kInteger:
      out += fmt::format("{}", value.integer);
      return true;
    case Value::Kind::kReal:
      out += fmt::format("{}", value.real);
      return true;
    case Value::Kind::kText:
      // Names of types; what would have to be escaped is none.
      if (value.text.find_first_of("\"\\\n\r\t") != std::string::npos) return false;
      out += '"' + value.text + '"';
      return true;
    case Value::Kind::kList:
      break;
    case Value::Kind::kDict:
      return false;
  }
  if (depth == 0) return false;
  out += '[';
  for (size_t i = 0; i < value.items.size(); ++i) {
    if (i > 0) out += ',';
    if (!Write(*value.items[i], depth - 1, out)) return false;
  }
  out += ']';
  return true;
}

}  // namespace

const Value* Value::Find(std::string_view key) const {
  if (kind != Kind::kDict) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i]->kind == Kind::kText && items[i]->text == key) return items[i + 1];
  }
  return nullptr;
}

std::optional<int64_t> Value::Integer() const {
  if (kind != Kind::kInteger) return std::nullopt;
  return integer;
}

std::string_view Value::Text() const { return kind == Kind::kText ? text : std::string_view(); }

std::optional<std::string> Value::ShortText() const {
  std::string out;
  if (!Write(*this, kMostDepth, out) || out.size() > kMostText) return std::nullopt;
  return out;
}

Value* ValueTree::Add(Value::Kind kind) {
  if (values_.size() >= kMostValues) return nullptr;
  values_.emplace_back().kind = kind;
  return &values_.back();
}

}  // namespace telltale::flight_recorder
