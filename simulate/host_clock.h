#pragma once

// The clocks of simulated hosts: off by a constant, and by a part of the time that has passed.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace telltale::simulate {

struct HostClock {
  int64_t reference_ns = 0;  // true time at which the clock is off by offset_ns
  int64_t offset_ns = 0;
  double drift_ppm = 0;

  int64_t OffsetAt(int64_t true_ns) const {
    return offset_ns + std::llround(static_cast<double>(true_ns - reference_ns) * drift_ppm / 1e6);
  }
  // What the clock shows at a true time.
  int64_t Local(int64_t true_ns) const { return true_ns + OffsetAt(true_ns); }
};

struct InferenceHost {
  std::string name;
  std::string machine_id;  // 32 hexadecimal digits
  HostClock clock;
  uint32_t api_pid = 0;
  uint32_t core_pid = 0;
  std::vector<uint32_t> worker_pids;  // by GPU
};

}  // namespace telltale::simulate
