#pragma once

// Values of rows, where NULL is none.

#include <cstdint>
#include <optional>

#include "store/database.h"

namespace telltale::evidence {

inline std::optional<int64_t> IntegerOf(const Cell& cell) {
  if (const auto* const value = std::get_if<int64_t>(&cell)) return *value;
  if (const auto* const value = std::get_if<uint64_t>(&cell)) return static_cast<int64_t>(*value);
  return std::nullopt;
}

}  // namespace telltale::evidence
