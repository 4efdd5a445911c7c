// XXH3's inner loop once more, compiled for AVX2 (CMakeLists.txt gives this file -mavx2); called
// only where the processor has it. The state's layout is that of the library (same header).

#if defined(__x86_64__)

#pragma GCC diagnostic ignored "-Wunused-function"
#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2
#include <xxhash.h>

#include <cstddef>

namespace telltale {

void Xxh3UpdateAvx2(void* state, const void* bytes, size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

}  // namespace telltale

#endif
