#include "evidence/clock_lines.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace telltale::evidence {
namespace {

__extension__ typedef __int128 Wide;

constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
constexpr long double kTolerance = 0.5L;

// Bisections end earlier, once no number lies between.
constexpr int kMostHalvings = 256;

bool ByPlace(const ClockPoint& a, const ClockPoint& b) {
  return std::tie(a.x, a.y) < std::tie(b.x, b.y);
}

// Whether b lies on or over the line from a to c.
bool IsCovered(const ClockPoint& a, const ClockPoint& b, const ClockPoint& c) {
  return Wide{b.y - a.y} * (c.x - a.x) >= Wide{c.y - a.y} * (b.x - a.x);
}

long double SlopeOf(const ClockPoint& a, const ClockPoint& b) {
  return static_cast<long double>(b.y - a.y) / static_cast<long double>(b.x - a.x);
}

}  // namespace

Envelope::Envelope(std::vector<ClockPoint> points) {
  if (!std::is_sorted(points.begin(), points.end(), ByPlace)) {
    std::sort(points.begin(), points.end(), ByPlace);
  }
  for (const ClockPoint& point : points) {
    if (!hull_.empty() && hull_.back().x == point.x) continue;  // the first is the lowest
    while (hull_.size() >= 2 && IsCovered(hull_[hull_.size() - 2], hull_.back(), point)) {
      hull_.pop_back();
    }
    hull_.push_back(point);
  }
}

const ClockPoint& Envelope::FirstTouched(long double slope) const {
  size_t low = 0;
  size_t high = hull_.size() - 1;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (SlopeOf(hull_[middle], hull_[middle + 1]) < slope) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return hull_[low];
}

long double Envelope::HighestLine(long double x, long double least_slope,
                                  long double most_slope) const {
  if (hull_.empty()) return kInfinity;
  const auto right = std::partition_point(hull_.begin(), hull_.end(), [&](const ClockPoint& point) {
    return static_cast<long double>(point.x) < x;
  });
  // Beyond the hull the steepest line is the highest.
  long double slope = right == hull_.begin() ? least_slope : most_slope;
  if (right != hull_.begin() && right != hull_.end()) {
    slope = std::clamp(SlopeOf(*(right - 1), *right), least_slope, most_slope);
  }
  const ClockPoint& touched = FirstTouched(slope);
  return static_cast<long double>(touched.y) + slope * (x - static_cast<long double>(touched.x));
}

ClockLines::ClockLines(std::vector<ClockPoint> above, std::vector<ClockPoint> below,
                       double most_slope)
    : above_(std::move(above)) {
  for (ClockPoint& point : below) point.y = -point.y;
  negated_below_ = Envelope(std::move(below));
  FindSlopes(most_slope);
}

ClockLines::Room ClockLines::RoomAt(long double slope) const {
  const ClockPoint& top = above_.FirstTouched(slope);
  const ClockPoint& bottom = negated_below_.FirstTouched(-slope);
  const auto apart = static_cast<long double>(bottom.x - top.x);
  return {static_cast<long double>(top.y) + static_cast<long double>(bottom.y) + slope * apart,
          apart > 0 ? 1 : (apart < 0 ? -1 : 0)};
}

// Between a possible slope and one that is not, the first that is not.
long double ClockLines::EdgeOfSlopes(long double inside, long double outside) const {
  if (RoomAt(outside).width >= -kTolerance) return outside;
  for (int i = 0; i < kMostHalvings; ++i) {
    const long double middle = (inside + outside) / 2;
    if (middle == inside || middle == outside) break;
    (RoomAt(middle).width >= -kTolerance ? inside : outside) = middle;
  }
  return outside;
}

// The room is concave in the slope, so its maximum is found by halving.
void ClockLines::FindSlopes(long double most_slope) {
  least_slope_ = -most_slope;
  most_slope_ = most_slope;
  if (above_.empty() || negated_below_.empty()) {
    exists_ = true;
    return;
  }
  long double low = -most_slope;
  long double high = most_slope;
  for (int i = 0; i < kMostHalvings; ++i) {
    const long double middle = (low + high) / 2;
    const Room room = RoomAt(middle);
    if (room.width >= -kTolerance) {
      exists_ = true;
      least_slope_ = EdgeOfSlopes(middle, -most_slope);
      most_slope_ = EdgeOfSlopes(middle, most_slope);
      return;
    }
    if (room.sign_of_growth == 0) low = high = middle;
    if (middle == low || middle == high) break;
    (room.sign_of_growth > 0 ? low : high) = middle;
  }
  for (const long double slope : {low, high}) {
    conflict_.push_back(above_.FirstTouched(slope).operation);
    conflict_.push_back(negated_below_.FirstTouched(-slope).operation);
  }
  std::sort(conflict_.begin(), conflict_.end());
  conflict_.erase(std::unique(conflict_.begin(), conflict_.end()), conflict_.end());
}

long double ClockLines::Upper(long double x) const {
  return above_.HighestLine(x, least_slope_, most_slope_) + kTolerance;
}

long double ClockLines::Lower(long double x) const {
  return -negated_below_.HighestLine(x, -most_slope_, -least_slope_) - kTolerance;
}

// Each step brings x nearer by the factor of the steepest slope.
long double ClockLines::WhereUpperSumsTo(long double sum) const {
  long double x = sum - Upper(sum);
  for (int i = 0; i < kMostHalvings; ++i) {
    const long double next = sum - Upper(x);
    if (!(next - x > 0.001L || x - next > 0.001L)) return next;
    x = next;
  }
  return x;
}

long double ClockLines::WhereLowerSumsTo(long double sum) const {
  long double x = sum - Lower(sum);
  for (int i = 0; i < kMostHalvings; ++i) {
    const long double next = sum - Lower(x);
    if (!(next - x > 0.001L || x - next > 0.001L)) return next;
    x = next;
  }
  return x;
}

}  // namespace telltale::evidence
