#include "tests/support/json_value.h"

#include <cstdint>
#include <stdexcept>

namespace telltale::test {
namespace {

// Throws `Invalid`, which ParseJson catches.
struct Invalid {};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  JsonValue Document() {
    JsonValue value = Value();
    Space();
    if (at_ != text_.size()) throw Invalid();
    return value;
  }

 private:
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  char Next() {
    if (at_ >= text_.size()) throw Invalid();
    return text_[at_++];
  }
  void Expect(std::string_view literal) {
    if (!text_.substr(at_).starts_with(literal)) throw Invalid();
    at_ += literal.size();
  }
  bool Take(char c) {
    if (Peek() != c) return false;
    ++at_;
    return true;
  }
  void Space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }

  JsonValue Value() {
    Space();
    JsonValue value;
    switch (Peek()) {
      case '{':
        return Object();
      case '[':
        return Array();
      case '"':
        value.type = JsonValue::kString;
        value.text = String();
        return value;
      case 't':
      case 'f':
        value.type = JsonValue::kBool;
        value.text = Peek() == 't' ? "true" : "false";
        Expect(value.text);
        return value;
      case 'n':
        Expect("null");
        return value;
      default:
        value.type = JsonValue::kNumber;
        value.text = Number();
        return value;
    }
  }

  JsonValue Object() {
    JsonValue value;
    value.type = JsonValue::kObject;
    Expect("{");
    Space();
    if (Take('}')) return value;
    do {
      Space();
      std::string name = String();
      Space();
      Expect(":");
      value.members.push_back({std::move(name), Value()});
      Space();
    } while (Take(','));
    Expect("}");
    return value;
  }

  JsonValue Array() {
    JsonValue value;
    value.type = JsonValue::kArray;
    Expect("[");
    Space();
    if (Take(']')) return value;
    do {
      value.items.push_back(Value());
      Space();
    } while (Take(','));
    Expect("]");
    return value;
  }

  uint32_t Hex4() {
    uint32_t code = 0;
    for (int i = 0; i < 4; ++i) {
      const size_t digit =
          std::string_view("0123456789abcdef").find(static_cast<char>(Next() | 0x20));
      if (digit == std::string_view::npos) throw Invalid();
      code = code * 16 + static_cast<uint32_t>(digit);
    }
    return code;
  }

  static void AddUtf8(uint32_t code, std::string& out) {
    const auto add = [&](uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
      add(0xC0 | code >> 6);
    } else {
      if (code < 0x10000) {
        add(0xE0 | code >> 12);
      } else {
        add(0xF0 | code >> 18);
        add(0x80 | (code >> 12 & 0x3F));
      }
      add(0x80 | (code >> 6 & 0x3F));
    }
    add(0x80 | (code & 0x3F));
  }

  std::string String() {
    std::string out;
    Expect("\"");
    while (true) {
      const char c = Next();
      if (c == '"') return out;
      if (static_cast<unsigned char>(c) < 0x20) throw Invalid();
      if (c != '\\') {
        out += c;
        continue;
      }
      const char escape = Next();
      if (escape == 'u') {
        uint32_t code = Hex4();
        if (code >= 0xD800 && code < 0xDC00) {
          Expect("\\u");
          code = 0x10000 + ((code - 0xD800) << 10) + (Hex4() - 0xDC00);
        }
        AddUtf8(code, out);
        continue;
      }
      const size_t known = std::string_view("\"\\/bfnrt").find(escape);
      if (known == std::string_view::npos) throw Invalid();
      out += "\"\\/\b\f\n\r\t"[known];
    }
  }

  std::string Number() {
    const size_t start = at_;
    const auto digits = [&] {
      const size_t first = at_;
      while (Peek() >= '0' && Peek() <= '9') ++at_;
      if (at_ == first) throw Invalid();
      return at_ - first;
    };
    Take('-');
    const bool zero = Peek() == '0';
    if (digits() > 1 && zero) throw Invalid();
    if (Take('.')) digits();
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (!Take('+')) Take('-');
      digits();
    }
    return std::string(text_.substr(start, at_ - start));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view name) const {
  for (const auto& [key, value] : members) {
    if (key == name) return &value;
  }
  return nullptr;
}

const std::string& JsonValue::operator[](std::string_view name) const {
  const JsonValue* const value = Find(name);
  if (value == nullptr) throw std::out_of_range(std::string(name));
  return value->text;
}

std::optional<JsonValue> ParseJson(std::string_view text) {
  try {
    return Reader(text).Document();
  } catch (const Invalid&) {
    return std::nullopt;
  }
}

}  // namespace telltale::test
