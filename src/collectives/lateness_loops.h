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

template <typename Sum>
inline Lateness LatenessSummedIn(const uint32_t* times, size_t count, const uint32_t* longest,
                                 const uint32_t* shortest) {
  uint32_t operations = 0;
  uint32_t latest = 0;
  uint32_t most = 0;
  Sum sum = 0;
  Sum longest_sum = 0;
  for (size_t i = 0; i < count; ++i) {
    // All bits or none, as a compiler makes no wide instructions of conditions on conditions.
    const uint32_t counts = (times[i] != 0 ? ~0U : 0U) & (longest[i] != 0 ? ~0U : 0U);
    const uint32_t lateness = (longest[i] - times[i]) & counts;
    operations += counts & 1U;
    sum += lateness;
    longest_sum += longest[i] & counts;
    most = most > lateness ? most : lateness;
    latest += (times[i] == shortest[i] ? 1U : 0U) & (lateness != 0 ? 1U : 0U);
  }
  return {operations, sum, most, longest_sum, latest};
}

inline Lateness LatenessOfLoop(const uint32_t* times, size_t count, const uint32_t* longest,
                               const uint32_t* shortest, uint32_t most) {
  // Sums of 32 bits take half the time.
  return uint64_t{most} * count <= ~uint32_t{0}
             ? LatenessSummedIn<uint32_t>(times, count, longest, shortest)
             : LatenessSummedIn<uint64_t>(times, count, longest, shortest);
}

}  // namespace
}  // namespace telltale::collectives
