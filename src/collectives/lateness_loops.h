#pragma once

// The loops behind lateness.h, compiled once for each kind of processor: no library code in them.

#include <cstddef>
#include <cstdint>

#include "collectives/lateness.h"

namespace telltale::collectives {
namespace {

inline void FoldTimesLoop(const uint32_t* times, size_t count, uint32_t* longest,
                          uint32_t* shortest, uint32_t* ranks) {
  for (size_t i = 0; i < count; ++i) {
    longest[i] = longest[i] > times[i] ? longest[i] : times[i];
    // A time of 0 is none: it becomes the largest.
    const uint32_t before = shortest[i] - 1;
    const uint32_t time = times[i] - 1;
    shortest[i] = (before < time ? before : time) + 1;
    ranks[i] += times[i] != 0 ? 1 : 0;
  }
}

inline Lateness LatenessOfLoop(const uint32_t* times, size_t count, const uint32_t* longest,
                               const uint32_t* shortest) {
  uint32_t operations = 0;
  uint32_t latest = 0;
  uint32_t most = 0;
  uint64_t sum = 0;
  uint64_t longest_sum = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool counts = times[i] != 0 && longest[i] != 0;
    const uint32_t lateness = counts ? longest[i] - times[i] : 0;
    operations += counts ? 1 : 0;
    sum += lateness;
    longest_sum += counts ? longest[i] : 0;
    most = most > lateness ? most : lateness;
    latest += counts && times[i] == shortest[i] && lateness > 0 ? 1 : 0;
  }
  return {operations, sum, most, longest_sum, latest};
}

}  // namespace
}  // namespace telltale::collectives
