#include "base/xxh3_update.h"

#include <xxhash.h>

namespace telltale {

#if defined(__x86_64__)
// Defined in xxh3_avx2.cc, which is compiled for AVX2.
void Xxh3UpdateAvx2(void* state, const void* bytes, size_t size);
#endif

struct Xxh3::State {
  XXH3_state_t* handle = XXH3_createState();
  ~State() { XXH3_freeState(handle); }
};

Xxh3::Xxh3() : state_(std::make_unique<State>()) { XXH3_128bits_reset(state_->handle); }
Xxh3::~Xxh3() = default;

void Xxh3::Add(const void* bytes, size_t size) {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return Xxh3UpdateAvx2(state_->handle, bytes, size);
#endif
  XXH3_128bits_update(state_->handle, bytes, size);
}

Xxh3::Digest Xxh3::Finish() {
  const XXH128_hash_t digest = XXH3_128bits_digest(state_->handle);
  XXH3_128bits_reset(state_->handle);
  return {digest.low64, digest.high64};
}

}  // namespace telltale
