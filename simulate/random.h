#pragma once

// Random numbers as a function of (seed, what they are for): the same event gets the same number
// whatever order events are computed in, on any number of threads.

#include <array>
#include <cstdint>

namespace telltale::simulate {

// A finaliser of 64 bits (splitmix64, Steele et al. 2014).
constexpr uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

template <typename... Keys>
constexpr uint64_t RandomBits(uint64_t seed, Keys... keys) {
  uint64_t bits = Mix(seed);
  ((bits = Mix(bits ^ static_cast<uint64_t>(keys))), ...);
  return bits;
}

// A standard normal number of 1024 levels, up to about 3.3 standard deviations.
double NormalFromBits(uint64_t bits);

// exp(sigma * normal), by its series: sigma is some percent.
inline double LognormalFromBits(uint64_t bits, double sigma) {
  const double x = sigma * NormalFromBits(bits);
  return 1 + x * (1 + x * (0.5 + x / 6));
}

// 0 <= result < bound.
constexpr uint64_t BelowFromBits(uint64_t bits, uint64_t bound) { return (bits >> 11) % bound; }

}  // namespace telltale::simulate
