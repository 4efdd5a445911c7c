#pragma once

// A LazyAppender for rows with texts of any length. DuckDB's appender keeps some two hundred
// thousand rows in memory before it hands them on, which bounds narrow rows only; this one counts
// their bytes too.

#include <initializer_list>
#include <memory>
#include <string>
#include <variant>

#include "store/bulk_insert.h"

namespace telltale {

class BoundedAppender {
 public:
  BoundedAppender(Connection& connection, const char* table)
      : connection_(connection), table_(table) {}

  Status Append(std::initializer_list<Cell> row) {
    if (appender_ == nullptr) appender_ = std::make_unique<LazyAppender>(connection_, table_);
    TELLTALE_TRY(appender_->Append(row));
    for (const Cell& cell : row) {
      const auto* const text = std::get_if<std::string>(&cell);
      bytes_ += text != nullptr ? text->size() : sizeof(int64_t);
    }
    return bytes_ < kMostBytes ? Status() : Close();
  }

  // Must be called last, as that of LazyAppender.
  Status Close() {
    bytes_ = 0;
    if (appender_ == nullptr) return {};
    const auto appender = std::move(appender_);
    return appender->Close();
  }

 private:
  static constexpr size_t kMostBytes = size_t{32} << 20;
  Connection& connection_;
  const char* table_;
  std::unique_ptr<LazyAppender> appender_;
  size_t bytes_ = 0;
};

}  // namespace telltale
