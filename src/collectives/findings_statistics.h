#pragma once

// The few robust statistics that the search for culprits needs.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace telltale::collectives {

// Reorders `values`; 0 for none. `q` from 0 to 1.
double QuantileOf(std::vector<double>& values, double q);
inline double MedianOf(std::vector<double>& values) { return QuantileOf(values, 0.5); }

// Of the values around `center`, as a standard deviation of normal data would be.
double SpreadAround(std::span<const double> values, double center);

// Where the lowest cluster of the values lies, even if most of them lie higher: what is normal when
// faults only ever add. `width` is how far values of one cluster lie from its middle at most.
double LowMode(std::vector<double> values, double width);

// The range [first, last] with the largest sum, and that sum; 0 where no value is positive.
struct Window {
  size_t first = 0;
  size_t last = 0;
  double sum = 0;
};
Window BestWindow(std::span<const double> values);

// log of n over k.
double LogChoose(double n, double k);

// log of the probability that a standard normal number is above z.
double LogNormalTail(double z);

// Benjamini and Hochberg, 1995: the largest log p that counts as a discovery among `tests` tests of
// which the smallest are given, at false discovery rate `rate`; -infinity for none.
double DiscoveryThreshold(std::vector<double> log_p, double tests, double rate);

}  // namespace telltale::collectives
