#pragma once

#include <string>
#include <string_view>

namespace telltale::tokens {

// The path of the function that a name mangled by the Itanium C++ ABI stands for, without template
// arguments and parameters: "_ZN5aiter4normIDF16bLi256EEEvPT_" -> "aiter::norm". Empty if it is not
// such a name, or not one of a kernel (most operators, substitutions in the path).
// A demangler would expand what is left out here, which a short hostile name makes exponentially
// long; this takes linear time and little stack.
std::string PathOfMangledName(std::string_view name);

}  // namespace telltale::tokens
