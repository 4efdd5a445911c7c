#include "readers/otlp/recent_ids.h"

#include <cstdint>
#include <cstring>
#include <random>

#include <xxhash.h>

namespace telltale::otlp {

// With a seed that nobody can know: ids from outside could else be chosen to fall together.
size_t RecentIds::Hash::operator()(const Key& key) const {
  static const uint64_t seed = (uint64_t{std::random_device()()} << 32) | std::random_device()();
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

bool RecentIds::Add(const Id<16>& trace, const Id<8>& span) {
  Key key;
  std::memcpy(key.data(), trace.data(), trace.size());
  std::memcpy(key.data() + trace.size(), span.data(), span.size());
  if (before_.contains(key) || !current_.insert(key).second) return false;
  if (current_.size() == kMost) {
    before_ = std::move(current_);
    current_.clear();
  }
  return true;
}

}  // namespace telltale::otlp
