#include "collectives/lateness.h"

#include "collectives/lateness_loops.h"

namespace telltale::collectives {

#if defined(__x86_64__)
// Defined in lateness_avx2.cc, which is compiled for AVX2.
void FoldTimesAvx2(const uint32_t* times, size_t count, uint32_t* longest, uint32_t* shortest,
                   uint32_t* ranks);
Lateness LatenessOfAvx2(const uint32_t* times, size_t count, const uint32_t* longest,
                        const uint32_t* shortest, uint32_t most);

namespace {
bool HasAvx2() {
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  return has_avx2;
}
}  // namespace
#endif

void FoldTimes(const uint32_t* times, size_t count, uint32_t* longest, uint32_t* shortest,
               uint32_t* ranks) {
#if defined(__x86_64__)
  if (HasAvx2()) return FoldTimesAvx2(times, count, longest, shortest, ranks);
#endif
  FoldTimesLoop(times, count, longest, shortest, ranks);
}

Lateness LatenessOf(const uint32_t* times, size_t count, const uint32_t* longest,
                    const uint32_t* shortest, uint32_t most) {
#if defined(__x86_64__)
  if (HasAvx2()) return LatenessOfAvx2(times, count, longest, shortest, most);
#endif
  return LatenessOfLoop(times, count, longest, shortest, most);
}

}  // namespace telltale::collectives
