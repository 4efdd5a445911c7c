#pragma once

// Who holds a process group up, from what the watchdogs of its ranks wrote when they gave up. The
// ranks that write wait: the one that lags has enqueued or completed less, or writes nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace telltale::evidence {

struct WatchdogStatus {
  int64_t rank = -1;
  std::optional<int64_t> sequence, last_enqueued, last_completed;
};

struct Laggards {
  std::vector<int64_t> ranks;  // empty where it cannot be told
  std::string reason;
};

// One group. `ranks`: those of it whose logs are there.
Laggards FindLaggards(const std::vector<WatchdogStatus>& statuses,
                      const std::vector<int64_t>& ranks);

}  // namespace telltale::evidence
