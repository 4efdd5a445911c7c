#pragma once

// Which processes are ranks of one engine: their steps have the same batches at the same time.

#include <cstddef>
#include <vector>

#include "evidence/engine_steps.h"
#include "evidence/host_times.h"

namespace telltale::evidence {

// A rank of an engine. Its step i is step i + shift of the engine's first rank: profiles of hosts
// may begin at different steps.
struct RankOfEngine {
  size_t process = 0;
  std::ptrdiff_t shift = 0;
};

std::vector<std::vector<RankOfEngine>> FindEngines(const std::vector<StepsOfProcess>& processes,
                                                   const HostTimes& times);

}  // namespace telltale::evidence
