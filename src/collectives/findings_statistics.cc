#include "collectives/findings_statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace telltale::collectives {

double QuantileOf(std::vector<double>& values, double q) {
  if (values.empty()) return 0;
  const auto at = static_cast<std::ptrdiff_t>(q * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + at, values.end());
  return values[static_cast<size_t>(at)];
}

double SpreadAround(std::span<const double> values, double center) {
  std::vector<double> away;
  away.reserve(values.size());
  for (const double value : values) away.push_back(std::abs(value - center));
  constexpr double kNormal = 1.4826;  // standard deviation / median absolute deviation
  return kNormal * MedianOf(away);
}

double LowMode(std::vector<double> values, double width) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  // Two values may be lower by chance.
  double center =
      values[std::max(values.size() / 10, std::min<size_t>(2, (values.size() - 1) / 2))];
  constexpr int kMostRounds = 20;
  for (int round = 0; round < kMostRounds; ++round) {
    const auto low = std::lower_bound(values.begin(), values.end(), center - width);
    const auto high = std::upper_bound(values.begin(), values.end(), center + width);
    if (low == high) break;
    const double next = *(low + (high - low) / 2);
    if (next == center) break;
    center = next;
  }
  return center;
}

Window BestWindow(std::span<const double> values) {
  Window best;
  double sum = 0;
  size_t first = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    if (sum <= 0) {
      sum = 0;
      first = i;
    }
    sum += values[i];
    if (sum > best.sum) best = {first, i, sum};
  }
  return best;
}

double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

double LogNormalTail(double z) {
  if (z <= 0) return std::log(0.5);
  constexpr double kLogRootTwoPi = 0.9189385332046727;
  // Mills' ratio where erfc would be 0.
  if (z > 30) return -0.5 * z * z - std::log(z) - kLogRootTwoPi;
  return std::log(0.5 * std::erfc(z / std::sqrt(2.0)));
}

double DiscoveryThreshold(std::vector<double> log_p, double tests, double rate) {
  std::sort(log_p.begin(), log_p.end());
  double threshold = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < log_p.size(); ++i) {
    if (log_p[i] <= std::log(static_cast<double>(i + 1) * rate / tests)) threshold = log_p[i];
  }
  return threshold;
}

}  // namespace telltale::collectives
