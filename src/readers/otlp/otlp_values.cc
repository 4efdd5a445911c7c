#include "readers/otlp/otlp_values.h"

#include <algorithm>

#include "base/text.h"

namespace telltale::otlp {
namespace {

namespace dom = simdjson::dom;

char Lower(char character) {
  return character >= 'A' && character <= 'Z' ? static_cast<char>(character + ('a' - 'A'))
                                              : character;
}

int HexDigit(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  const char lower = Lower(character);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

int Base64Digit(char character) {
  if (character >= 'A' && character <= 'Z') return character - 'A';
  if (character >= 'a' && character <= 'z') return character - 'a' + 26;
  if (character >= '0' && character <= '9') return character - '0' + 52;
  if (character == '+' || character == '-') return 62;
  return character == '/' || character == '_' ? 63 : -1;
}

bool ReadHex(std::string_view text, unsigned char* bytes) {
  for (size_t i = 0; i < text.size(); i += 2) {
    const int high = HexDigit(text[i]);
    const int low = HexDigit(text[i + 1]);
    if (high < 0 || low < 0) return false;
    bytes[i / 2] = static_cast<unsigned char>(high * 16 + low);
  }
  return true;
}

bool ReadBase64(std::string_view text, unsigned char* bytes, size_t count) {
  uint32_t bits = 0;
  int held = 0;
  size_t at = 0;
  const size_t digits = (count * 8 + 5) / 6;
  for (size_t i = 0; i < text.size(); ++i) {
    const int digit = Base64Digit(text[i]);
    if (i >= digits ? text[i] != '=' : digit < 0) return false;
    if (i >= digits) continue;
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[at++] = static_cast<unsigned char>((bits >> held) & 0xff);
  }
  return at == count;
}

// The number of a value of an enumeration: bare, as text, or by its name in `names`.
template <size_t kCount>
size_t NumberOfEnum(const dom::element& value, std::string_view prefix,
                    const std::array<std::string_view, kCount>& names) {
  if (const auto number = ReadInteger(value)) {
    return *number > 0 && *number < static_cast<int64_t>(kCount) ? static_cast<size_t>(*number) : 0;
  }
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS || !text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  for (size_t i = 1; i < kCount; ++i) {
    if (std::equal(text.begin(), text.end(), names[i].begin(), names[i].end(),
                   [](char a, char b) { return Lower(a) == Lower(b); })) {
      return i;
    }
  }
  return 0;
}

}  // namespace

FoldedKey::FoldedKey(std::string_view key) {
  for (const char character : key) {
    if (character == '_') continue;
    if (size_ == text_.size()) {
      size_ = 0;
      return;
    }
    text_[size_++] = Lower(character);
  }
}

template <size_t kBytes>
std::optional<Id<kBytes>> ReadId(std::string_view text) {
  Id<kBytes> id{};
  const bool is_id = text.size() == 2 * kBytes ? ReadHex(text, id.data())
                                               : text.size() == (kBytes + 2) / 3 * 4 &&
                                                     ReadBase64(text, id.data(), kBytes);
  if (!is_id || id == Id<kBytes>{}) return std::nullopt;
  return id;
}
template std::optional<Id<8>> ReadId(std::string_view text);
template std::optional<Id<16>> ReadId(std::string_view text);

std::string HexText(const unsigned char* bytes, size_t count) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 0xf];
  }
  return text;
}

std::optional<int64_t> ReadInteger(const dom::element& value) {
  int64_t number = 0;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return NumberOf<int64_t>(text);
}

std::string_view SpanKind(const dom::element& value) {
  constexpr std::array<std::string_view, 6> kNames = {"",       "internal", "server",
                                                      "client", "producer", "consumer"};
  return kNames[NumberOfEnum(value, "SPAN_KIND_", kNames)];
}

std::string_view StatusCode(const dom::element& value) {
  constexpr std::array<std::string_view, 3> kNames = {"", "ok", "error"};
  return kNames[NumberOfEnum(value, "STATUS_CODE_", kNames)];
}

std::string_view Severity(const dom::element& value) {
  constexpr std::array<std::string_view, 6> kNames = {"TRACE", "DEBUG", "INFO",
                                                      "WARN",  "ERROR", "FATAL"};
  constexpr int64_t kNumbersEach = 4;
  if (const auto number = ReadInteger(value)) {
    if (*number < 1 || *number > kNumbersEach * static_cast<int64_t>(kNames.size())) return {};
    return kNames[static_cast<size_t>((*number - 1) / kNumbersEach)];
  }
  // SEVERITY_NUMBER_INFO, SEVERITY_NUMBER_INFO2 …
  constexpr std::string_view kPrefix = "SEVERITY_NUMBER_";
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS || !text.starts_with(kPrefix)) return {};
  text.remove_prefix(kPrefix.size());
  for (const std::string_view name : kNames) {
    if (text.starts_with(name) && text.size() <= name.size() + 1) return name;
  }
  return {};
}

void ReadAttributes(const dom::element& list,
                    std::initializer_list<std::pair<std::string_view, Attribute*>> wanted) {
  dom::array items;
  if (list.get_array().get(items) != simdjson::SUCCESS) return;
  for (const dom::element item : items) {
    std::string_view key;
    dom::object value;
    if (item["key"].get_string().get(key) != simdjson::SUCCESS) continue;
    const auto found = std::find_if(wanted.begin(), wanted.end(),
                                    [&](const auto& pair) { return pair.first == key; });
    if (found == wanted.end() || !found->second->text.empty() || found->second->integer) continue;
    if (item["value"].get_object().get(value) != simdjson::SUCCESS) continue;
    for (const dom::key_value_pair pair : value) {
      const FoldedKey type(pair.key);
      const bool is_text = type == "stringvalue";
      if (!is_text && !(type == "intvalue")) continue;
      std::string_view text;
      if (is_text && pair.value.get_string().get(text) == simdjson::SUCCESS) {
        found->second->text = text;
      }
      found->second->integer = ReadInteger(pair.value);
    }
  }
}

}  // namespace telltale::otlp
