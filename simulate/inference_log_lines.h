#pragma once

// Log lines of one host in any order, sorted by time at the end.

#include <cstdint>
#include <string>
#include <vector>

#include "simulate/host_clock.h"

namespace telltale::simulate {

class LogLines {
 public:
  explicit LogLines(const HostClock& clock) : clock_(clock) {}

  // The time on the host's clock as strftime writes it, UTC.
  std::string Time(int64_t true_ns, const char* format) const;
  void Add(int64_t true_ns, std::string line) { lines_.push_back({true_ns, std::move(line)}); }
  // Lines of equal times stay in the order of their adding.
  std::string Text();

 private:
  struct Line {
    int64_t at_ns = 0;
    std::string text;
  };

  HostClock clock_;
  std::vector<Line> lines_;
};

}  // namespace telltale::simulate
