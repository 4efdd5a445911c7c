#pragma once

// Which spans a file has given already. An exporter that tries again writes a batch twice, soon
// after: of a long file only the last million spans or two are remembered.

#include <array>
#include <cstddef>
#include <unordered_set>

#include "readers/otlp/otlp_values.h"

namespace telltale::otlp {

class RecentIds {
 public:
  // Whether it is new.
  bool Add(const Id<16>& trace, const Id<8>& span);

 private:
  static constexpr size_t kMost = size_t{1} << 20;
  using Key = std::array<unsigned char, 24>;
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  std::unordered_set<Key, Hash> current_, before_;
};

}  // namespace telltale::otlp
