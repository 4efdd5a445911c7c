#pragma once

// A value of an SQLite table, and the row that a scan is at, whoever has read it.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace telltale::nsight {

struct SqliteValue {
  enum class Kind : uint8_t { kNull, kInteger, kReal, kText };  // bytes (a BLOB) are text here
  Kind kind = Kind::kNull;
  int64_t integer = 0;    // of an integer; of a real number, what is before its point
  std::string_view text;  // of a text, until the next row
};

// Columns are those asked for, by their place; one that the table lacks reads as NULL.
class SqliteRow {
 public:
  explicit SqliteRow(std::span<const SqliteValue> values) : values_(values) {}
  bool IsNull(size_t column) const { return Of(column).kind == SqliteValue::Kind::kNull; }
  bool IsInteger(size_t column) const { return Of(column).kind == SqliteValue::Kind::kInteger; }
  bool IsNumber(size_t column) const {
    return IsInteger(column) || Of(column).kind == SqliteValue::Kind::kReal;
  }
  // What is not a number reads as `if_not`.
  int64_t Integer(size_t column, int64_t if_not = 0) const {
    return IsNumber(column) ? Of(column).integer : if_not;
  }
  // 0 for what is not a number of this type.
  template <typename Unsigned>
  Unsigned AsUnsigned(size_t column) const {
    const int64_t value = Integer(column);
    return std::in_range<Unsigned>(value) ? static_cast<Unsigned>(value) : 0;
  }
  // Of a number its digits; good until the next row, and the next call for a number.
  std::string_view Text(size_t column) const {
    const SqliteValue& value = Of(column);
    if (value.kind == SqliteValue::Kind::kText) return value.text;
    if (value.kind == SqliteValue::Kind::kNull) return {};
    digits_ = std::to_string(value.integer);
    return digits_;
  }

 private:
  const SqliteValue& Of(size_t column) const { return values_[column]; }
  std::span<const SqliteValue> values_;
  mutable std::string digits_;
};

}  // namespace telltale::nsight
