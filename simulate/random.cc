#include "simulate/random.h"

#include <cmath>

namespace telltale::simulate {
namespace {

constexpr size_t kLevels = 1024;

// The standard normal quantile of `probability`, by bisection of its distribution function.
double NormalQuantile(double probability) {
  double low = -8;
  double high = 8;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < probability ? low : high) = middle;
  }
  return low;
}

std::array<double, kLevels> MakeQuantiles() {
  std::array<double, kLevels> quantiles{};
  for (size_t i = 0; i < kLevels; ++i) {
    quantiles[i] = NormalQuantile((static_cast<double>(i) + 0.5) / kLevels);
  }
  return quantiles;
}

}  // namespace

double NormalFromBits(uint64_t bits) {
  static const std::array<double, kLevels> quantiles = MakeQuantiles();
  return quantiles[bits % kLevels];
}

}  // namespace telltale::simulate
