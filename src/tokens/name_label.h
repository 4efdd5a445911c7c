#pragma once

// What structural tokens are learned from instead of exact names: layers, shapes and runs differ in
// them although the work is the same. The exact name stays in the stream of values.

#include <cstddef>
#include <string>
#include <string_view>

#include "readers/trace/trace_data.h"

namespace telltale::tokens {

// Longer labels are cut to this many bytes, the last of which tell what was cut apart.
constexpr size_t kLongestLabel = 512;

// What is alike in names that differ in template arguments, parameters, sizes, addresses, hashes
// and layer numbers; each of these numbers is a '#'. Digits that tell functions apart stay: of
// types (bf16), dimensions (conv2d), versions (_v2) and, outside of kernels, of words
// (AddBackward0).
//   runtime, driver  as written, but for addresses
//   kernel           the function's path without its return type, template arguments, parameters
//                    and sizes; text that is not a C++ name has only its numbers replaced
//   python           file names keep their digits; line numbers, addresses and instances do not
//   all others       numbers that are words of their own, and what is counted ("layer12") go
// Takes any bytes, in linear time. The label of a label is itself; only the empty name's is empty.
std::string LabelOfName(trace::EventKind kind, std::string_view name);

}  // namespace telltale::tokens
