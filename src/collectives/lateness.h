#pragma once

// Lateness of a rank in a row of operations: the longest time that any rank took less its own.
// Times are execution times in microseconds; 0 is that of a rank without a record.

#include <cstddef>
#include <cstdint>

namespace telltale::collectives {

struct Lateness {
  uint64_t operations = 0;  // of which it and another rank have a record
  uint64_t sum_us = 0;
  uint64_t max_us = 0;
  uint64_t longest_sum_us = 0;  // of these operations' longest times
  uint64_t latest = 0;          // operations in which no rank was later and some rank waited
};

// Takes one rank's times into those of each operation. `longest` and `ranks` start as 0, `shortest`
// as the highest number.
void FoldTimes(const uint32_t* times, size_t count, uint32_t* longest, uint32_t* shortest,
               uint32_t* ranks);

// Operations with a `longest` of 0 do not count. `most`: no longest time is above it.
Lateness LatenessOf(const uint32_t* times, size_t count, const uint32_t* longest,
                    const uint32_t* shortest, uint32_t most);

}  // namespace telltale::collectives
