#include "readers/nccl_inspector/bandwidth.h"

#include <cmath>

namespace telltale::nccl_inspector {

BandwidthFormula FormulaFor(std::string_view operation, uint64_t message_bytes, int64_t n_ranks) {
  const auto message = static_cast<double>(message_bytes);
  const auto n = static_cast<double>(n_ranks);
  if (operation == "AllReduce") return {message, 2.0 * (n - 1) / n};
  if (operation == "ReduceScatter" || operation == "AllGather" || operation == "AllGatherV") {
    return {message * n, (n - 1) / n};
  }
  if (operation == "Broadcast" || operation == "Reduce" || operation == "Send" ||
      operation == "Recv" || operation == "SendRecv") {
    return {message, 1};
  }
  return {0, 0};
}

double RoundToMicro(double value) {
  const double rounded = std::round(value * 1e6) / 1e6;
  return std::isfinite(rounded) ? rounded : value;
}

}  // namespace telltale::nccl_inspector
