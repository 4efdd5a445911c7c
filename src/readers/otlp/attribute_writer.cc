#include <cmath>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/text.h"
#include "readers/otlp/otlp_values.h"

namespace telltale::otlp {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMostDepth = 16;
constexpr size_t kMostPathBytes = 1024;
// Of one record; what comes after is dropped.
constexpr size_t kMostTextBytes = size_t{1} << 20;

// Headers come as http.request.header.<name>, with dashes or underscores.
bool IsPrivate(std::string_view path) {
  std::string folded(path);
  for (char& character : folded) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character + 32);
    if (character == '-') character = '_';
  }
  for (const std::string_view mark :
       {"process.command", "process.environment", "authorization", "cookie", "api_key", "apikey",
        "password", "secret", "credential"}) {
    if (folded.find(mark) != std::string::npos) return true;
  }
  return false;
}

// JSON knows no NaN and no infinity; the format writes them as these texts.
std::string RealText(double real) {
  if (std::isnan(real)) return "\"NaN\"";
  if (std::isinf(real)) return real > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return fmt::format("{}", real);
}

std::optional<double> ReadReal(const dom::element& value) {
  double real = 0;
  if (value.get_double().get(real) == simdjson::SUCCESS) return real;
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) return std::nullopt;
  return NumberOf<double>(text);
}

// The list of an arrayValue or kvlistValue.
dom::element ListOf(const dom::element& value) {
  dom::element list;
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return value;
  return object["values"].get(list) == simdjson::SUCCESS ? list : value;
}

std::optional<dom::element> NestedList(const dom::element& value) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  for (const dom::key_value_pair pair : object) {
    if (FoldedKey(pair.key) == "kvlistvalue") return ListOf(pair.value);
  }
  return std::nullopt;
}

}  // namespace

void AttributeWriter::Add(const dom::element& list) {
  path_.clear();
  AddList(list, kMostDepth);
}

void AttributeWriter::AddText(std::string_view key, std::string_view text) {
  BeginItem();
  AppendJsonString(text_, key);
  text_ += ':';
  AppendJsonString(text_, text);
}

std::string AttributeWriter::Take() {
  if (!text_.empty()) text_ += '}';
  std::string text = std::move(text_);
  text_.clear();
  return text;
}

std::string AttributeWriter::ValueText(const dom::element& value, bool is_bare) {
  dom::object object;
  if (is_bare && value.get_object().get(object) == simdjson::SUCCESS) {
    for (const dom::key_value_pair pair : object) {
      std::string_view text;
      if (FoldedKey(pair.key) == "stringvalue" &&
          pair.value.get_string().get(text) == simdjson::SUCCESS) {
        return std::string(text);
      }
    }
  }
  path_.clear();
  std::string text;
  if (!WriteValue(value, kMostDepth, text)) ++counts_.invalid;
  return text == "null" ? "" : text;
}

void AttributeWriter::BeginItem() { text_ += text_.empty() ? '{' : ','; }

void AttributeWriter::AddList(const dom::element& list, size_t depth) {
  dom::array items;
  if (list.is_null()) return;
  if (list.get_array().get(items) != simdjson::SUCCESS) {
    ++counts_.invalid;
    return;
  }
  const size_t above = path_.size();
  for (const dom::element item : items) {
    std::string_view key;
    dom::element value;
    if (item["key"].get_string().get(key) != simdjson::SUCCESS) {
      ++counts_.invalid;
      continue;
    }
    if (item["value"].get(value) != simdjson::SUCCESS) continue;  // the format's null
    if (path_.size() + key.size() >= kMostPathBytes || text_.size() >= kMostTextBytes) {
      ++counts_.dropped;
      continue;
    }
    if (above > 0) path_ += '.';
    path_ += key;
    AddItem(path_, value, depth);
    path_.resize(above);
  }
}

void AttributeWriter::AddItem(std::string_view key, const dom::element& value, size_t depth) {
  if (IsPrivate(key)) {
    ++counts_.left_out;
    return;
  }
  if (const auto list = NestedList(value)) {
    if (depth == 0) {
      ++counts_.dropped;
      return;
    }
    return AddList(*list, depth - 1);
  }
  const size_t before = text_.size();
  BeginItem();
  AppendJsonString(text_, key);
  text_ += ':';
  if (WriteValue(value, depth, text_)) return;
  text_.resize(before);
  ++counts_.invalid;
}

bool AttributeWriter::WriteValue(const dom::element& value, size_t depth, std::string& out) {
  dom::object object;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  for (const dom::key_value_pair pair : object) {
    const FoldedKey type(pair.key);
    std::string_view text;
    bool flag = false;
    if (type == "stringvalue" || type == "bytesvalue") {
      if (pair.value.get_string().get(text) != simdjson::SUCCESS) return false;
      AppendJsonString(out, text);
      return true;
    }
    if (type == "intvalue") {
      const auto integer = ReadInteger(pair.value);
      if (integer) out += fmt::format("{}", *integer);
      return integer.has_value();
    }
    if (type == "doublevalue") {
      const auto real = ReadReal(pair.value);
      if (real) out += RealText(*real);
      return real.has_value();
    }
    if (type == "boolvalue") {
      if (pair.value.get_bool().get(flag) != simdjson::SUCCESS) return false;
      out += flag ? "true" : "false";
      return true;
    }
    if (type == "arrayvalue") {
      WriteArray(ListOf(pair.value), depth, out);
      return true;
    }
    if (type == "kvlistvalue") {
      WriteObject(ListOf(pair.value), depth, out);
      return true;
    }
  }
  if (object.begin() != object.end()) return false;
  out += "null";
  return true;
}

void AttributeWriter::WriteArray(const dom::element& value, size_t depth, std::string& out) {
  out += '[';
  dom::array items;
  if (depth == 0) ++counts_.dropped;
  if (depth > 0 && value.get_array().get(items) == simdjson::SUCCESS) {
    bool is_first = true;
    for (const dom::element item : items) {
      if (!is_first) out += ',';
      is_first = false;
      if (WriteValue(item, depth - 1, out)) continue;
      out += "null";
      ++counts_.invalid;
    }
  }
  out += ']';
}

void AttributeWriter::WriteObject(const dom::element& list, size_t depth, std::string& out) {
  out += '{';
  dom::array items;
  if (depth == 0) ++counts_.dropped;
  if (depth > 0 && list.get_array().get(items) == simdjson::SUCCESS) {
    bool is_first = true;
    for (const dom::element item : items) {
      std::string_view key;
      dom::element value;
      if (item["key"].get_string().get(key) != simdjson::SUCCESS ||
          item["value"].get(value) != simdjson::SUCCESS) {
        ++counts_.invalid;
        continue;
      }
      const size_t above = path_.size();
      if (above + key.size() < kMostPathBytes) (path_ += '.') += key;
      if (IsPrivate(path_) || IsPrivate(key)) {
        path_.resize(above);
        ++counts_.left_out;
        continue;
      }
      const size_t before = out.size();
      if (!is_first) out += ',';
      AppendJsonString(out, key);
      out += ':';
      const bool is_written = WriteValue(value, depth - 1, out);
      path_.resize(above);
      if (is_written) {
        is_first = false;
        continue;
      }
      out.resize(before);
      ++counts_.invalid;
    }
  }
  out += '}';
}

}  // namespace telltale::otlp
