#pragma once

// What operations say of the clocks of two hosts, X and Y: the lines y(x) =
// (what Y reads) - x, while X reads x. No record of an operation ends before
// the last has begun, so at the moment at which X reads start_x, Y reads end_y
// at most; and at that of end_x, start_y at least. Both are exact, whatever the
// drift, as x is a reading and not a true time. Pure functions, safe from
// several threads.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "evidence/clock_lines.h"

namespace telltale::evidence {

// Times in nanoseconds, by each host's own clock, since one base; at most 2^60
// from it.
struct PairOperation {
  int64_t start_x = 0;
  int64_t end_x = 0;
  int64_t start_y = 0;
  int64_t end_y = 0;
  bool bounds_above = true;  // whether start_x and end_y are known
  bool bounds_below = true;  // whether start_y and end_x are
  uint64_t operation = 0;    // the caller's number
  int64_t TimeX() const { return bounds_above ? start_x : end_x; }
};

// The same, with X and Y exchanged.
PairOperation Exchanged(const PairOperation& operation);

struct PairOptions {
  double most_drift = 500e-6;             // of one clock against the other
  double most_contradicting_part = 0.02;  // of operations that may be left out
  size_t most_segments = 4;               // parts of the time between which a clock was set anew
};

struct PairFit {
  ClockLines lines;
  std::vector<uint32_t> left_out;  // places of the operations that contradict the majority
  bool is_contradictory = false;   // too many of them; no lines then
};

// So many operations may contradict the others: none of fewer than ten.
size_t MostLeftOut(size_t operations, const PairOptions& options);

// Leaves out as few operations as it finds to suffice. Each conflict found (up
// to four operations) is left out whole, and what contradicts nothing in the
// end taken back: of n operations of which k must go, n - 4k are never touched.
// O(n log n); with contradictions O(n) more for each 128.
PairFit FitPair(std::span<const PairOperation> operations, const PairOptions& options);

// Operations that are left out crowd at the beginning or the end where a clock
// was set shortly after the one or before the other; random mistakes do not. A
// crowd is a quarter of the first or last operations, and two at least. Returns
// how many of them are in doubt: twice the crowd.
struct Crowds {
  size_t at_front = 0;
  size_t at_back = 0;
};
Crowds CrowdsAtEnds(std::span<const uint32_t> left_out, size_t operations);

// Parts of the operations between which a clock may have been set. They come in
// the order of TimeX(). What lies between two parts belongs to neither: the
// step is somewhere in it. From the front the longest parts that hold end as
// late as can be, from the back they begin as early; every division into as few
// parts has its borders between. Crowds at the ends are cut off. Empty: too
// many parts.
struct PairSegment {
  size_t first = 0;
  size_t last = 0;  // one past
};
std::vector<PairSegment> SplitPair(std::span<const PairOperation> operations,
                                   const PairOptions& options);

}  // namespace telltale::evidence
