#pragma once

// The values of OpenTelemetry's JSON (OTLP 1.x, and the names of 0.x): keys in two spellings, ids,
// times, names of enumerations, and attributes, which become one flat JSON object.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <simdjson.h>

namespace telltale::otlp {

// A key without underscores and in lower case: traceId and trace_id are one. A key longer than any
// that the format has is equal to none.
class FoldedKey {
 public:
  explicit FoldedKey(std::string_view key);
  bool operator==(std::string_view folded) const {
    return std::string_view(text_.data(), size_) == folded;
  }

 private:
  std::array<char, 32> text_{};
  size_t size_ = 0;
};

// The bytes of an id of `kBytes`, written as hexadecimal digits or in base64. Nothing where it is
// neither, or all zeros, which is what the format calls an invalid id.
template <size_t kBytes>
using Id = std::array<unsigned char, kBytes>;
template <size_t kBytes>
std::optional<Id<kBytes>> ReadId(std::string_view text);
extern template std::optional<Id<8>> ReadId(std::string_view text);
extern template std::optional<Id<16>> ReadId(std::string_view text);
std::string HexText(const unsigned char* bytes, size_t count);

// A whole number, bare or as text, never by way of a real number.
std::optional<int64_t> ReadInteger(const simdjson::dom::element& value);

// server, client …, or empty: unspecified or unknown. From its number or its name.
std::string_view SpanKind(const simdjson::dom::element& value);
// ok, error, or empty: unset or unknown.
std::string_view StatusCode(const simdjson::dom::element& value);
// TRACE, DEBUG, INFO, WARN, ERROR, FATAL, or empty.
std::string_view Severity(const simdjson::dom::element& value);

// Attributes as one JSON object: what is nested has the keys on the way joined by dots. Command
// lines, environments, and whatever may hold credentials (authorization, cookies, keys, passwords)
// are not copied.
class AttributeWriter {
 public:
  // A list of {"key": …, "value": {"stringValue": …}}.
  void Add(const simdjson::dom::element& list);
  // A text that the format keeps elsewhere.
  void AddText(std::string_view key, std::string_view text);
  // The object, empty where there is nothing in it; begins anew.
  std::string Take();

  struct Counts {
    uint64_t left_out = 0;  // private ones
    uint64_t dropped = 0;   // nested deeper, with longer keys or more than is kept
    uint64_t invalid = 0;   // without a key, or of no known type
  };
  // Since they were last taken.
  Counts TakeCounts() { return std::exchange(counts_, {}); }
  // A value as JSON; a text bare, if `is_bare`. For bodies of log records.
  std::string ValueText(const simdjson::dom::element& value, bool is_bare);

 private:
  void AddList(const simdjson::dom::element& list, size_t depth);
  void AddItem(std::string_view key, const simdjson::dom::element& value, size_t depth);
  void BeginItem();
  bool WriteValue(const simdjson::dom::element& value, size_t depth, std::string& out);
  void WriteArray(const simdjson::dom::element& value, size_t depth, std::string& out);
  void WriteObject(const simdjson::dom::element& list, size_t depth, std::string& out);

  std::string text_;
  std::string path_;  // keys on the way, joined
  Counts counts_;
};

// The value of an attribute of that key, or null. The first where there are several.
struct Attribute {
  std::string_view text;
  std::optional<int64_t> integer;
};
void ReadAttributes(const simdjson::dom::element& list,
                    std::initializer_list<std::pair<std::string_view, Attribute*>> wanted);

}  // namespace telltale::otlp
