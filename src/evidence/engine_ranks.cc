#include "evidence/engine_ranks.h"

#include <algorithm>
#include <optional>

namespace telltale::evidence {
namespace {

bool AreSame(const EngineStep& a, const EngineStep& b) {
  return a.batch.context_requests == b.batch.context_requests &&
         a.batch.generation_requests == b.batch.generation_requests &&
         a.batch.context_tokens == b.batch.context_tokens;
}

bool AreSame(const StepsOfProcess& a, const StepsOfProcess& b, std::ptrdiff_t shift) {
  const auto size_a = static_cast<std::ptrdiff_t>(a.steps.size());
  const auto size_b = static_cast<std::ptrdiff_t>(b.steps.size());
  const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -shift);
  const std::ptrdiff_t end = std::min(size_b, size_a - shift);
  if (end <= begin) return false;
  return std::equal(b.steps.begin() + begin, b.steps.begin() + end, a.steps.begin() + begin + shift,
                    [](const EngineStep& x, const EngineStep& y) { return AreSame(x, y); });
}

// Only shifts that bring steps of about the same time together; none where several would do, as
// other engines or long runs of equal steps may be.
std::optional<std::ptrdiff_t> ShiftOf(const StepsOfProcess& a, const StepsOfProcess& b,
                                      const HostTimes& times) {
  // Launches of ranks on several hosts are not in step to the microsecond.
  constexpr int64_t kLaunches = 5'000'000;
  if (!a.steps.front().batch.Requests() || !b.steps.front().batch.Requests()) return std::nullopt;
  const auto are_at_once = [&](const EngineStep& x, const EngineStep& y) {
    const ConvertedTime time = times.Convert(y.start_ns, b.host, a.host);
    const int64_t apart_ns =
        std::max(x.start_ns, time.time_ns) - std::min(x.start_ns, time.time_ns);
    return apart_ns <= time.error_ns + kLaunches;
  };
  if (a.steps.size() == b.steps.size() && are_at_once(a.steps.front(), b.steps.front()) &&
      AreSame(a, b, 0)) {
    return 0;
  }
  std::optional<std::ptrdiff_t> found;
  bool is_only = true;
  const auto consider = [&](std::ptrdiff_t shift, const EngineStep& x, const EngineStep& y) {
    if (!is_only || !are_at_once(x, y) || !AreSame(a, b, shift)) return;
    is_only = !found;
    found = shift;
  };
  for (size_t i = 0; i < a.steps.size(); ++i) {
    consider(static_cast<std::ptrdiff_t>(i), a.steps[i], b.steps.front());
  }
  for (size_t i = 1; i < b.steps.size(); ++i) {
    consider(-static_cast<std::ptrdiff_t>(i), a.steps.front(), b.steps[i]);
  }
  return is_only ? found : std::nullopt;
}

}  // namespace

std::vector<std::vector<RankOfEngine>> FindEngines(const std::vector<StepsOfProcess>& processes,
                                                   const HostTimes& times) {
  std::vector<std::vector<RankOfEngine>> engines;
  for (size_t i = 0; i < processes.size(); ++i) {
    bool is_known = false;
    for (std::vector<RankOfEngine>& ranks : engines) {
      const auto shift = ShiftOf(processes[ranks.front().process], processes[i], times);
      if (!shift) continue;
      ranks.push_back({i, *shift});
      is_known = true;
      break;
    }
    if (!is_known) engines.push_back({{i, 0}});
  }
  return engines;
}

}  // namespace telltale::evidence
