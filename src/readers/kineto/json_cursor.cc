#include "readers/kineto/json_cursor.h"

#include <cstdint>

namespace telltale::kineto {
namespace {

void AppendUtf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// Four hexadecimal digits at `at`; false if there are none.
bool Hex4(std::string_view raw, size_t at, uint32_t& code) {
  if (at + 4 > raw.size()) return false;
  code = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = raw[i];
    uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint32_t>(c - 'A' + 10);
    } else {
      return false;
    }
    code = code * 16 + digit;
  }
  return true;
}

}  // namespace

bool JsonCursor::String(std::string_view& raw) {
  if (!Take('"')) return false;
  const char* const begin = at_;
  while (true) {
    const void* quote = std::memchr(at_, '"', static_cast<size_t>(end_ - at_));
    if (quote == nullptr) return false;
    at_ = static_cast<const char*>(quote);
    const char* slash = at_;
    while (slash != begin && slash[-1] == '\\') --slash;
    ++at_;
    if ((at_ - 1 - slash) % 2 == 0) break;
  }
  raw = std::string_view(begin, static_cast<size_t>(at_ - 1 - begin));
  return true;
}

bool JsonCursor::SkipValue() {
  std::string_view ignored;
  const char first = Peek();
  if (first != '{' && first != '[') return Scalar(ignored);
  size_t depth = 0;
  while (at_ != end_) {
    const char c = *at_;
    if (c == '"') {
      if (!String(ignored)) return false;
      continue;
    }
    ++at_;
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) return true;
    }
  }
  return false;
}

std::string Unescaped(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    const char c = raw[++i];
    uint32_t code = 0;
    switch (c) {
      case 'b':
        text += '\b';
        break;
      case 'f':
        text += '\f';
        break;
      case 'n':
        text += '\n';
        break;
      case 'r':
        text += '\r';
        break;
      case 't':
        text += '\t';
        break;
      case 'u':
        if (!Hex4(raw, i + 1, code)) {
          text += "\\u";
          break;
        }
        i += 4;
        if (uint32_t low = 0; code >= 0xd800 && code < 0xdc00 && i + 2 < raw.size() &&
                              raw[i + 1] == '\\' && raw[i + 2] == 'u' && Hex4(raw, i + 3, low) &&
                              low >= 0xdc00 && low < 0xe000) {
          code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
        if (code >= 0xd800 && code < 0xe000) code = 0xfffd;
        AppendUtf8(text, code);
        break;
      case '"':
      case '\\':
      case '/':
        text += c;
        break;
      default:  // a path of Windows that was not escaped
        text += '\\';
        text += c;
    }
  }
  return text;
}

}  // namespace telltale::kineto
