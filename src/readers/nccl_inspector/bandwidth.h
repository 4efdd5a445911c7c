#pragma once

// The plugin's bandwidth formula, in the plugin's order of operations, and the value that the
// store's views give back. A record whose written bandwidths are exactly these need not store them.
// Source: NCCL v2.28.3 to v2.30.7, plugins/profiler/inspector (computation of algobw and busbw).

#include <cstdint>
#include <string_view>

namespace telltale::nccl_inspector {

struct BandwidthFormula {
  double traffic_bytes = 0;
  double bus_factor = 0;
};

// AllReduce: traffic is the message, factor 2(n-1)/n; ReduceScatter, AllGather, AllGatherV: n
// messages, (n-1)/n; Broadcast, Reduce, Send, Recv, SendRecv: the message, 1; anything else has no
// bandwidth.
BandwidthFormula FormulaFor(std::string_view operation, uint64_t message_bytes, int64_t n_ranks);

// round(x, 6) of DuckDB: to the nearest multiple of 1e-6, halves away from zero.
double RoundToMicro(double value);

// GB/s (1e9) before rounding.
struct Bandwidths {
  double algorithm = 0;
  double bus = 0;
};

// `traffic_gb` is traffic_bytes / 1e9. A time of 0 gives 0, for the bus too, whose factor may be
// infinite.
inline Bandwidths BandwidthsOf(double traffic_gb, double bus_factor, uint64_t exec_time_us) {
  if (exec_time_us == 0) return {};
  const double algorithm = traffic_gb / (static_cast<double>(exec_time_us) / 1e6);
  return {algorithm, algorithm * bus_factor};
}

// The nearest integer of a non-negative value below 2^52, halves up; exact.
inline uint64_t NearestInteger(double value) {
  const auto whole = static_cast<uint64_t>(value);
  return whole + (value - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

}  // namespace telltale::nccl_inspector
