#pragma once

// Times of one host as another host's clock shows them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evidence/clock_model.h"

namespace telltale::evidence {

// Where nothing is known of two hosts' clocks: what time servers keep hosts within, with much to
// spare.
constexpr int64_t kUnknownClockError = 1'000'000'000;

struct ConvertedTime {
  int64_t time_ns = 0;
  int64_t error_ns = 0;  // right to within this
};

class HostTimes {
 public:
  HostTimes() = default;
  explicit HostTimes(std::vector<HostClock> clocks) : clocks_(std::move(clocks)) {}

  const std::vector<HostClock>& clocks() const { return clocks_; }

  // Outside of what the clocks' evidence covers, the error grows as clocks may drift. Where nothing
  // is known, the time is as it is, and the error kUnknownClockError.
  ConvertedTime Convert(int64_t time_ns, const std::string& from, const std::string& to) const;

 private:
  const HostClock* ClockOf(const std::string& host) const;
  std::vector<HostClock> clocks_;
};

}  // namespace telltale::evidence
