#include "evidence/watchdog.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace telltale::evidence {
namespace {

// Ranks below the others in a number that all have; empty where all are level.
std::vector<int64_t> Behind(const std::map<int64_t, WatchdogStatus>& by_rank,
                            std::optional<int64_t> WatchdogStatus::*number) {
  int64_t least = 0;
  int64_t most = 0;
  bool is_first = true;
  for (const auto& [rank, status] : by_rank) {
    if (!(status.*number)) return {};
    const int64_t value = *(status.*number);
    least = is_first ? value : std::min(least, value);
    most = is_first ? value : std::max(most, value);
    is_first = false;
  }
  std::vector<int64_t> ranks;
  if (least == most) return ranks;
  for (const auto& [rank, status] : by_rank) {
    if (*(status.*number) == least) ranks.push_back(rank);
  }
  return ranks;
}

std::string Listed(const std::vector<int64_t>& ranks) {
  std::string text;
  for (const int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return (ranks.size() == 1 ? "rank " : "ranks ") + text;
}

}  // namespace

Laggards FindLaggards(const std::vector<WatchdogStatus>& statuses,
                      const std::vector<int64_t>& ranks) {
  std::map<int64_t, WatchdogStatus> by_rank;  // the last that each wrote
  for (const WatchdogStatus& status : statuses) {
    if (status.rank >= 0) by_rank[status.rank] = status;
  }
  if (by_rank.empty()) return {};
  std::vector<int64_t> silent;
  for (const int64_t rank : ranks) {
    if (!by_rank.contains(rank)) silent.push_back(rank);
  }
  if (auto behind = Behind(by_rank, &WatchdogStatus::last_enqueued); !behind.empty()) {
    std::string reason = Listed(behind) + " enqueued less than the others";
    return {std::move(behind), std::move(reason)};
  }
  if (auto behind = Behind(by_rank, &WatchdogStatus::last_completed); !behind.empty()) {
    std::string reason = Listed(behind) + " completed less than the others";
    return {std::move(behind), std::move(reason)};
  }
  if (!silent.empty()) {
    std::string reason = Listed(silent) + " wrote no status; those that did are level";
    return {std::move(silent), std::move(reason)};
  }
  if (by_rank.size() == 1) {
    return {{},
            fmt::format("only rank {} wrote a status: who lags behind is not in these logs",
                        by_rank.begin()->first)};
  }
  return {{}, "all ranks that wrote a status are level: one that did not may lag behind"};
}

}  // namespace telltale::evidence
