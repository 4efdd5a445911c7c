#include "collectives/lateness_loops.h"

namespace telltale::collectives {

void FoldTimesAvx2(const uint32_t* times, size_t count, uint32_t* longest, uint32_t* shortest,
                   uint32_t* ranks);
Lateness LatenessOfAvx2(const uint32_t* times, size_t count, const uint32_t* longest,
                        const uint32_t* shortest, uint32_t most);

void FoldTimesAvx2(const uint32_t* times, size_t count, uint32_t* longest, uint32_t* shortest,
                   uint32_t* ranks) {
  FoldTimesLoop(times, count, longest, shortest, ranks);
}

Lateness LatenessOfAvx2(const uint32_t* times, size_t count, const uint32_t* longest,
                        const uint32_t* shortest, uint32_t most) {
  return LatenessOfLoop(times, count, longest, shortest, most);
}

}  // namespace telltale::collectives
