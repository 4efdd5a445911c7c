#pragma once

// Numbers for people.

#include <cstdint>
#include <string>

namespace telltale {

// "1.2 GB", "480 bytes" (decimal units).
std::string BytesText(double bytes);
// "6.2 M", "12,288".
std::string CountText(uint64_t count);

}  // namespace telltale
