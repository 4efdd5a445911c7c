#pragma once

// Times of a Chrome trace: microseconds in decimal text, as nanoseconds without going through a
// double (which has a step of 0.25 us at the size of an absolute time).

#include <cstdint>
#include <optional>
#include <string_view>

namespace telltale::kineto {

// "1682725898236567", "4458676522690.655", "-1.5", "1.7e15"; digits behind the nanoseconds are
// rounded. Nothing for other text, and for times beyond 64 bits.
std::optional<int64_t> NanosecondsOf(std::string_view microseconds);

}  // namespace telltale::kineto
