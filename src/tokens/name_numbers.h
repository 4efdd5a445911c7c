#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace telltale::tokens {

// Which numbers of a name are replaced.
enum class Numbers : uint8_t {
  kAddresses,   // addresses alone
  kSizes,       // of kernels: all but those of types, dimensions and versions
  kOwnWords,    // of operators: those that are words of their own, and long ones
  kCounts,      // of ranges: also what is counted ("layer12") and everything in () and []
  kPathOfFile,  // long ones and hashes
};

// Appends the text with '#' for each number, address and hash that is to be replaced; none behind
// another '#'.
void AppendNumbersReplaced(std::string_view text, Numbers numbers, std::string& out);

}  // namespace telltale::tokens
