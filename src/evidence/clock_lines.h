#pragma once

// The lines y(x) = a + b·x that pass under some points and over others, with
// |b| limited: what two clocks can be to each other. The set is a convex
// polygon in (a, b). It is held as two convex hulls (of the points above and of
// those below; any other point follows from them) and the range of slopes that
// are possible. Points are integers and hulls are exact. Immutable once made,
// so safe to share between threads.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace telltale::evidence {

// |x| and |y| at most 2^61, so that differences fit 64 bits and their products
// 128.
struct ClockPoint {
  int64_t x = 0;
  int64_t y = 0;
  uint32_t operation = 0;  // on which it rests
};

// The lower hull of points: of them, those that some line has to fear first
// from below.
class Envelope {
 public:
  Envelope() = default;
  // Any order, duplicates allowed. O(n) where they come by x, else O(n log n).
  explicit Envelope(std::vector<ClockPoint> points);

  bool empty() const { return hull_.empty(); }
  const std::vector<ClockPoint>& points() const { return hull_; }
  // The point that a rising line of this slope touches first. Not of an empty
  // one. O(log n).
  const ClockPoint& FirstTouched(long double slope) const;
  // The greatest y at x of a line under all points with a slope in the range;
  // infinite if empty.
  long double HighestLine(long double x, long double least_slope, long double most_slope) const;

 private:
  std::vector<ClockPoint> hull_;
};

class ClockLines {
 public:
  // No line at all.
  ClockLines() = default;
  ClockLines(std::vector<ClockPoint> above, std::vector<ClockPoint> below, double most_slope);

  // Whether there is a line. It may miss a point by half a unit, less than the
  // last digit.
  bool exists() const { return exists_; }
  // Where there is none: the operations, at most four, that exclude each other.
  const std::vector<uint32_t>& conflict() const { return conflict_; }

  // The extremes at x over all lines, widened by the half unit; infinite where
  // no point bounds them. Convex and concave in x, and neither is steeper than
  // the steepest line. Only where a line exists. O(log n).
  long double Upper(long double x) const;
  long double Lower(long double x) const;
  // The x at which x + Upper(x), or x + Lower(x), is sum. Slopes are far below
  // 1, so there is one.
  long double WhereUpperSumsTo(long double sum) const;
  long double WhereLowerSumsTo(long double sum) const;

  // The hulls; y of the points below is negated in the second.
  const Envelope& above() const { return above_; }
  const Envelope& negated_below() const { return negated_below_; }

 private:
  // How far apart the hulls are for lines of a slope, and how that grows with
  // the slope.
  struct Room {
    long double width = 0;
    int sign_of_growth = 0;
  };
  Room RoomAt(long double slope) const;
  long double EdgeOfSlopes(long double inside, long double outside) const;
  void FindSlopes(long double most_slope);

  Envelope above_, negated_below_;
  bool exists_ = false;
  long double least_slope_ = 0, most_slope_ = 0;
  std::vector<uint32_t> conflict_;
};

}  // namespace telltale::evidence
