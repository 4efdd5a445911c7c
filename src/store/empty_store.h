#pragma once

// A store without rows, made when the program is built (cmake/empty_store.cc): to write it out
// takes a tenth of the time that its schema takes to run.

#include <cstddef>
#include <span>

namespace telltale {

// The bytes of the DuckDB file, compressed with zstd, and how many they are without.
struct EmptyStore {
  std::span<const unsigned char> compressed;
  size_t size = 0;
};
EmptyStore EmbeddedEmptyStore();

}  // namespace telltale
